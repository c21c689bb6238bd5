# SPDX-License-Identifier: Apache-2.0
"""gigastream serve: spools of this host, for readers on others."""

from __future__ import annotations

import argparse
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.cli.arguments import argument_type
from gigastream.cli.ending import stopped_by_signals
from gigastream.cli.errors import UsageError, complain, report
from gigastream.cli.stderr import say
from gigastream.settings import parse_bytes

if TYPE_CHECKING:
    from gigastream.serving.offered import OfferedSpool

_MEMORY_BYTES = 1 << 30
_EPILOG = """\
A spool is offered by the name of its folder: `gigastream spark --spool grpc+tls://HOST:PORT/NAME`
reads it. Readers show one of the tokens of --token-file, one a line; they may read, and commit what
they are done with. SIGTERM and Ctrl-C end it.

exit codes: 0 done, 1 it could not go on, 2 a spool, a file or the address is wrong."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Spools, where they are offered, and to whom."""
    parser.epilog = _EPILOG
    parser.add_argument("spools", nargs="+", metavar="SPOOL", help="a folder")
    parser.add_argument(
        "--listen",
        required=True,
        type=argument_type(parse_listen),
        metavar="HOST:PORT",
        help="the address that is served",
    )
    parser.add_argument(
        "--token-file", required=True, metavar="FILE", help="the tokens, which only you may read"
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="the certificate, with its chain (PEM)")
    parser.add_argument("--tls-key", metavar="FILE", help="its key, which only you may read (PEM)")
    parser.add_argument(
        "--insecure", action="store_true", help="without TLS: token and rows can be read on the way"
    )
    parser.add_argument(
        "--memory",
        type=argument_type(parse_bytes),
        default=_MEMORY_BYTES,
        metavar="SIZE",
        help="at which all clients are cut off (1GiB)",
    )


def parse_listen(text: str) -> tuple[str, int]:
    """Read `host:port`, `[::1]:port` too. ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"'{text}' is not HOST:PORT")
    return host, int(port)


def execute(arguments: argparse.Namespace) -> int:
    """Serve until a signal."""
    from gigastream.serving.guard import Guard
    from gigastream.spool.access import read_tokens

    certificate = _certificate(arguments)
    tokens = read_tokens(arguments.token_file)
    spools = _offered(arguments.spools)
    address = _free_address(*arguments.listen)
    guard = Guard(lambda: _serve(address, spools, tokens, certificate), arguments.memory, complain)
    with stopped_by_signals(guard):
        return guard.run()


def _certificate(arguments: argparse.Namespace) -> tuple[bytes, bytes] | None:
    from gigastream.spool.access import read_bytes, read_secret

    given = arguments.tls_cert, arguments.tls_key
    if arguments.insecure:
        if any(given):
            raise UsageError("--insecure is without a certificate", "leave one of them away")
        return None
    if not all(given):
        raise UsageError(
            "a certificate and its key are needed",
            "--tls-cert FILE --tls-key FILE (docs/operations.md makes them), or --insecure",
        )
    return read_bytes(arguments.tls_cert), read_secret(arguments.tls_key)


def _offered(paths: Sequence[str]) -> dict[str, OfferedSpool]:
    from gigastream.serving.offered import OfferedSpool
    from gigastream.spool.layout import is_name

    found: dict[str, OfferedSpool] = {}
    for path in paths:
        name = Path(os.path.abspath(path)).name
        if "://" in path or not is_name(name):
            raise UsageError(f"{path} is no folder of this host", "serve it where it is written")
        if name in found:
            raise UsageError(
                f"two spools are called {name}: {found[name].path} and {path}",
                "their folders' names are what readers ask for: rename one",
            )
        found[name] = OfferedSpool(path)
    return found


def _free_address(host: str, port: int) -> tuple[str, int]:
    """The address, with a port where 0 is given. Raises UsageError.

    gRPC would share a port that another server has.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host.strip("[]"), port))
            trial.listen()
        except OSError as error:
            raise UsageError(f"{host}:{port} cannot be listened on: {error.strerror}") from None
        return host, int(trial.getsockname()[1])


def _serve(
    address: tuple[str, int],
    spools: Mapping[str, OfferedSpool],
    tokens: Sequence[str],
    certificate: tuple[bytes, bytes] | None,
) -> int:
    """Serve for ever; return the exit code where that cannot be."""
    from urllib.parse import quote

    from gigastream.serving.server import SpoolServer

    location = f"{'grpc' if certificate is None else 'grpc+tls'}://{address[0]}:{address[1]}"
    try:
        server = SpoolServer(location, spools, tokens, certificate, complain)
    except Exception as error:
        return _explained(location, error)
    for name, spool in spools.items():
        say(f"{spool.path} is offered as {location}/{quote(name, safe='')}")
    with suppress(KeyboardInterrupt):
        server.serve()
    return 0


def _explained(location: str, error: Exception) -> int:
    text = str(error).split("\n")[0]
    return report(
        UsageError(f"{location} cannot be served: {text}", "is it the key of that certificate?")
    )
