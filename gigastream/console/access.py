# SPDX-License-Identifier: Apache-2.0
"""Who may see the console: on which addresses it listens, and which requests it answers.

A page of another site can make a browser send requests to the loopback. So a request must name a
host that is ours (which a name that was bound to 127.0.0.1 afterwards is not), come from our own
page, and show the token. The page takes it from the fragment of its address, which browsers do not
send, and shows it in a header: a cookie would go to every other port of this host, too.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets

from gigastream.console.errors import ConsoleError
from gigastream.late_dataclass import dataclass, field

_SCHEME = "Bearer "
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
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self._scheme}://{host}:{self.port}/#token={self.token}"

    @property
    def _scheme(self) -> str:
        return "http" if self.certificate is None else "https"

    def knows(self, authorization: str | None) -> bool:
        """Whether the header Authorization shows the token."""
        if authorization is None or not authorization.startswith(_SCHEME):
            return False
        shown = authorization.removeprefix(_SCHEME)
        return hmac.compare_digest(shown.encode(), self.token.encode())

    def is_ours(self, host: str | None) -> bool:
        """Whether the header Host names us."""
        if host is None:
            return False
        own = f"[{self.host}]" if ":" in self.host else self.host
        name = host.rpartition(":")[0] if host.endswith(f":{self.port}") else host
        return name in (*_LOOPBACK_NAMES, own, *self.names)

    def is_own_origin(self, origin: str | None, host: str | None) -> bool:
        """Whether a request to this host comes from our page; none: from no other page.

        Scheme, host and port are to be those that the browser calls us by: a page of another port
        of the same host is another's.
        """
        return origin is None or origin == f"{self._scheme}://{host}"
