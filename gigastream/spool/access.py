# SPDX-License-Identifier: Apache-2.0
"""What opens spools of other hosts: a token, and the certificates that are believed."""

from __future__ import annotations

import os
import re
import stat

from gigastream.late_dataclass import dataclass
from gigastream.spool.errors import SpoolReadError, errno_text

TOKEN_VARIABLE = "GIGASTREAM_TOKEN"
_MAX_BYTES = 1 << 16
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,512}")
_MAKE_ONE = "(umask 077; openssl rand -hex 32 > FILE) makes one"


@dataclass(frozen=True, slots=True)
class Access:
    """Files of this process's host, by path: what they hold travels nowhere but to the server.

    Without `token_file` the token is what the environment's GIGASTREAM_TOKEN says; without
    `ca_file` the system's certificate authorities are believed.
    """

    token_file: str | None = None
    ca_file: str | None = None

    def token(self) -> str:
        """Return the token to show. Raises SpoolReadError."""
        if self.token_file is not None:
            return read_tokens(self.token_file)[0]
        token = os.environ.get(TOKEN_VARIABLE, "")
        if not _TOKEN.fullmatch(token):
            what = "holds no token" if token else "is not set"
            raise SpoolReadError(
                f"a spool of another host takes a token, and {TOKEN_VARIABLE} {what}",
                "--token-file FILE, in Spark .option('tokenFile', 'FILE'), or the variable",
            )
        return token

    def certificates(self) -> bytes | None:
        """Return the authorities that are believed, PEM; None: the system's. SpoolReadError."""
        if self.ca_file is None:
            return None
        found = read_bytes(self.ca_file)
        if _CERTIFICATE not in found:
            raise SpoolReadError(
                f"{self.ca_file} holds no certificate",
                f"PEM, which has a line {_CERTIFICATE.decode()}",
            )
        return found


NO_ACCESS = Access()


def read_tokens(path: str) -> list[str]:
    """Return the tokens of a file, one a line, at least one. Raises SpoolReadError."""
    tokens = read_secret(path).decode(errors="replace").split()
    if not tokens or not all(map(_TOKEN.fullmatch, tokens)):
        raise SpoolReadError(
            f"{path} holds no token: 16 to 512 letters, digits and ._~+/=-, one token a line",
            _MAKE_ONE,
        )
    return tokens


def read_secret(path: str) -> bytes:
    """Return the bytes of a file that nobody else may read. Raises SpoolReadError."""
    return read_bytes(path, is_secret=True)


def read_bytes(path: str, *, is_secret: bool = False) -> bytes:
    """Return the bytes of a small file. Raises SpoolReadError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SpoolReadError(f"{path}: {errno_text(error.errno or 0)}") from None
    try:
        _check(path, os.fstat(descriptor), is_secret=is_secret)
        return os.read(descriptor, _MAX_BYTES)
    finally:
        os.close(descriptor)


def _check(path: str, found: os.stat_result, *, is_secret: bool) -> None:
    if not stat.S_ISREG(found.st_mode) or found.st_size >= _MAX_BYTES:
        raise SpoolReadError(f"{path} is no small file")
    if is_secret and found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise SpoolReadError(f"{path} may be read or written by others", f"chmod 600 {path}")
