# SPDX-License-Identifier: Apache-2.0
"""Who may see the console: on which addresses it listens, and which requests it answers.

A page of another site can make a browser send requests to the loopback. So a request must name a
host that is ours (which a name that was bound to 127.0.0.1 afterwards is not), come from our own
page, and show the token: once in the address, from then on as a cookie.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from gigastream.console.errors import ConsoleError

COOKIE = "gigastream_token"
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class ConsoleAccess:
    """Where it listens, and the secret. ConsoleError for what would be open to others."""

    host: str
    port: int
    certificate: str | None = None
    key: str | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    names: tuple[str, ...] = ()
    """What a browser may call it, besides the loopback and `host`."""

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ConsoleError("a certificate needs its key, and a key its certificate")
        if not self.is_loopback and self.certificate is None:
            raise ConsoleError(
                f"{self.host} is not the loopback: whoever listens there would read the token",
                "--certificate FILE --key FILE, or ssh -L to the loopback",
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this host can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def address(self) -> str:
        """What to open in a browser, with the token."""
        scheme = "http" if self.certificate is None else "https"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}/?token={self.token}"

    def knows(self, shown: str | None) -> bool:
        """Whether this is the token."""
        return shown is not None and hmac.compare_digest(shown.encode(), self.token.encode())

    def is_ours(self, host: str | None) -> bool:
        """Whether the header Host, or the host of an Origin, names us."""
        if host is None:
            return False
        own = f"[{self.host}]" if ":" in self.host else self.host
        name = host.rpartition(":")[0] if host.endswith(f":{self.port}") else host
        return name in (*_LOOPBACK_NAMES, own, *self.names)

    def is_own_origin(self, origin: str | None) -> bool:
        """Whether a request that changes something comes from our page; none: no browser."""
        return origin is None or self.is_ours(urlsplit(origin).netloc)
