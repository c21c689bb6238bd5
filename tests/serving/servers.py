# SPDX-License-Identifier: Apache-2.0
"""`gigastream serve` as a process, with a certificate and a token of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gigastream.spool import Access
from tests.cli.command import COMMAND
from tests.flows import ports
from tests.waiting import PATIENCE_S, wait_until

TOKEN = "0123456789abcdef-of-the-tests"
_CERTIFICATE = (
    *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
    *("-days", "2", "-subj", "/CN=localhost"),
)
LOCAL_NAMES = ("DNS:localhost", "IP:127.0.0.1")


@dataclass(frozen=True)
class Keys:
    """Files that a server and its readers have."""

    folder: Path

    @property
    def access(self) -> Access:
        """What a reader opens spools with."""
        return Access(str(self.token), str(self.certificate))

    @property
    def certificate(self) -> Path:
        return self.folder / "cert.pem"

    @property
    def key(self) -> Path:
        return self.folder / "key.pem"

    @property
    def token(self) -> Path:
        return self.folder / "token"


def secret(path: Path, text: str) -> Path:
    """A file that only we may read."""
    path.touch(0o600)
    path.write_text(text)
    return path


def make_keys(folder: Path, names: Sequence[str] = LOCAL_NAMES) -> Keys:
    """As docs/operations.md does."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate, and is not there")
    keys = Keys(folder)
    words = ("-addext", f"subjectAltName={','.join(names)}")
    files = ("-keyout", keys.key, "-out", keys.certificate)
    subprocess.run(["openssl", *_CERTIFICATE, *words, *files], check=True, capture_output=True)
    keys.key.chmod(0o600)
    secret(keys.token, f"{TOKEN}\n")
    return keys


def free_port() -> int:
    """A port for a server of the tests, which nobody else is given."""
    return ports.free_port(socket.AF_INET, "127.0.0.1", socket.SOCK_STREAM)


@dataclass
class Server:
    """One at one port, as often as it is begun."""

    keys: Keys
    roots: tuple[Path, ...]
    words: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    tls: tuple[str, ...] | None = None
    """Words of the command; None: the certificate and its key."""
    address: str = "127.0.0.1"
    before: tuple[str, ...] = ()
    """What stands before a command that is run where the server is: in a network namespace."""
    process: subprocess.Popen[bytes] | None = None

    def url(self, root: Path | None = None) -> str:
        """Where a spool is read."""
        return f"{self.location}/{(root or self.roots[0]).name}"

    @property
    def location(self) -> str:
        return f"grpc+tls://{self.address}:{self.port}"

    @property
    def log(self) -> Path:
        return self.keys.folder / f"server-{self.address}-{self.port}.log"

    def begin(self) -> None:
        """Start it, and wait until it says what it offers."""
        self.log.unlink(missing_ok=True)
        ours = ("--tls-cert", self.keys.certificate, "--tls-key", self.keys.key)
        tls = ours if self.tls is None else self.tls
        listen = ("--listen", f"{self.address}:{self.port}", "--token-file", self.keys.token)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*self.before, *COMMAND, "serve", *self.roots, *listen, *tls, *self.words],
                stderr=log,
            )
        wait_until(self._is_ready, f"a server: {self.said()}")

    def said(self) -> str:
        """Its stderr."""
        return self.log.read_text() if self.log.exists() else ""

    def _is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.said()
        return self.said().count("is offered as") >= len(self.roots)

    @property
    def is_running(self) -> bool:
        """Whether it has been begun, and has not ended."""
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """As a machine that goes down."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        wait_until(self._is_free, "its port to be free")

    def _is_free(self) -> bool:
        program = (
            "import socket, sys; s = socket.socket(); s.connect((sys.argv[1], int(sys.argv[2])))"
        )
        command = [*self.before, sys.executable, "-c", program, self.address, str(self.port)]
        return subprocess.run(command, capture_output=True, check=False).returncode != 0

    def end(self) -> None:
        """Leave nothing running."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> int:
        """Stop it in good order; return its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(PATIENCE_S)


@contextmanager
def serving(keys: Keys, *roots: Path, words: tuple[str, ...] = ()) -> Iterator[Server]:
    """A server of spools, which is gone afterwards."""
    server = Server(keys, roots, words)
    server.begin()
    try:
        yield server
    finally:
        server.end()


def environment_without_token() -> dict[str, str]:
    """The environment of a command that is to find a token in a file."""
    return {name: value for name, value in os.environ.items() if name != "GIGASTREAM_TOKEN"}
