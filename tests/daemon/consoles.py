# SPDX-License-Identifier: Apache-2.0
"""gigastream console as a user starts it, and the browser that is installed."""

from __future__ import annotations

import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cli.command import COMMAND
from tests.live.namespace import need
from tests.waiting import PATIENCE_S

CHROMIUM = Path("/usr/bin/chromium")
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


@dataclass(frozen=True)
class Consoled:
    """`address` is what it has printed."""

    address: str
    process: subprocess.Popen[str]

    @property
    def root(self) -> str:
        """The address without the token."""
        return self.address.partition("/#")[0]

    @property
    def token(self) -> str:
        """The header by which the page shows it."""
        return f"Bearer {self.address.partition('#token=')[2]}"

    def asked(self, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
        """The status and the text of an answer."""
        request = urllib.request.Request(self.root + path, data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    @property
    def port(self) -> int:
        """Where it listens."""
        found = urlsplit(self.address).port
        assert found is not None
        return found


@contextmanager
def console(socket: Path, *words: str) -> Iterator[Consoled]:
    """A console on a free port, until the test has ended."""
    command = [*COMMAND, "console", "--socket", str(socket), "--listen", "127.0.0.1:0", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            told = process.stderr.readline()
            assert "the console is at " in told, told
            yield Consoled(told.split()[-1], process)
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a window; skips where there is none."""
    need(str(CHROMIUM))
    driver = pytest.importorskip("playwright.sync_api")
    with driver.sync_playwright() as started:
        chromium = started.chromium.launch(
            executable_path=str(CHROMIUM), args=list(_FLAGS), timeout=1000 * PATIENCE_S
        )
        try:
            yield chromium
        finally:
            chromium.close()
