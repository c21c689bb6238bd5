# SPDX-License-Identifier: Apache-2.0
"""A spool that another host serves (`gigastream serve`): a place that is asked over Flight."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow

from gigastream.late_dataclass import asdict, dataclass
from gigastream.spool import layout, protocol
from gigastream.spool.access import Access
from gigastream.spool.address import Address, address_of
from gigastream.spool.commits import Passed, parse_passed
from gigastream.spool.errors import SpoolAwayError, SpoolReadError, printable
from gigastream.spool.manifest import ROLL_BYTES
from gigastream.spool.place import Place, parse_object
from gigastream.spool.server_host import ServerHost, server_host

_EXAMPLE = "grpc+tls://HOST:PORT/NAME, as `gigastream serve` says it"
_CERTIFICATE = "--ca-file FILE, in Spark .option('caFile', 'FILE'), says whose certificates it has"
_MAX_MANIFEST_BYTES = 2 * ROLL_BYTES
"""Of one file of a manifest: writers begin another much sooner."""


@dataclass(frozen=True, slots=True)
class ServedPlace(Place):
    """Its root is its URL. Methods raise SpoolAwayError, too, while the host does not answer."""

    host: ServerHost
    name: str

    @property
    def is_here(self) -> bool:
        return False

    @property
    def is_served(self) -> bool:
        return True

    def is_held(self) -> bool | None:
        with suppress(OSError, SpoolAwayError):
            held = self.host.value(protocol.HELD, self._question())
            return held if isinstance(held, bool) else None
        return None

    def names(self, folder: str) -> list[str]:
        found = self.host.value(protocol.NAMES, self._of(folder))
        if not isinstance(found, list) or not all(_is_component(name) for name in found):
            raise OSError(f"{self.host.location} does not give names")
        return sorted(found)

    def size_bytes(self, path: str) -> int:
        found = self.host.value(protocol.SIZE, self._of(path))
        if type(found) is not int or found < 0:
            raise OSError(f"{self.host.location} does not give a size")
        return found

    def signature(self, path: str) -> tuple[int, ...] | None:
        found = self.host.value(protocol.SIGNATURE, self._of(path))
        if not isinstance(found, list) or len(found) > 8 or any(type(n) is not int for n in found):
            raise OSError(f"{self.host.location} does not give a signature")
        return tuple(found)

    def read_at(self, path: str, offset: int, size_bytes: int) -> bytes:
        return bytes(self._read(path, offset, size_bytes))

    def read_all(self, path: str, most_bytes: int) -> pyarrow.Buffer:
        return pyarrow.py_buffer(self._read(path, 0, most_bytes))

    def read_object(self, path: str) -> dict[str, Any]:
        return parse_object(self.read_at(path, 0, protocol.MAX_OBJECT_BYTES))

    def commit(self, folder: str, reader: str, segment: int, passed: Passed | None) -> None:
        question = {**self._of(folder), "reader": reader, "segment": segment}
        question |= {} if passed is None else asdict(passed)
        self.host.value(protocol.COMMIT, question)

    def passed(self, folder: str, reader: str) -> Passed | None:
        try:
            said = self.host.value(protocol.PASSED, {**self._of(folder), "reader": reader})
        except OSError:
            return None
        return parse_passed(said) if isinstance(said, dict) else None

    def _read(self, path: str, offset: int, size_bytes: int) -> bytearray:
        address = self._address(path)
        if address.kind == "manifest" and offset > _MAX_MANIFEST_BYTES:
            raise OSError("it is longer than what any writer makes")
        question = {**self._question(address), "offset": offset, "size_bytes": size_bytes}
        return self.host.read(protocol.READ, question, size_bytes)

    def _of(self, path: str) -> Mapping[str, Any]:
        return self._question(self._address(path))

    def _address(self, path: str) -> Address:
        return address_of(path[len(self.root) + 1 :])

    def _question(self, address: Address | None = None) -> dict[str, Any]:
        place = {} if address is None else {"address": address.to_json()}
        return {"spool": self.name, **place}


def open_served(url: str, access: Access) -> ServedPlace:
    """Return the place at a URL, which the host offers. Raises SpoolReadError."""
    location, name = _parts(url)
    host = server_host(location, access)
    try:
        names = host.value(protocol.LIST, {})
    except SpoolAwayError as away:
        raise SpoolAwayError(str(away), _CERTIFICATE if "SSL" in str(away) else None) from None
    except OSError as error:
        raise SpoolReadError(f"{url} cannot be opened: {error}") from None
    offered = names if isinstance(names, list) and all(map(layout.is_name, names)) else []
    if name not in offered:
        there = ", ".join(f"{location}/{layout.quoted(each)}" for each in offered[:20])
        raise SpoolReadError(
            f"{location} offers no spool {name}", f"it offers {there or 'nothing'}"
        )
    return ServedPlace(None, f"{location}/{layout.quoted(name)}", host, name)


def _parts(url: str) -> tuple[str, str]:
    """The URL of the host, and the spool's name."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise SpoolReadError(f"{printable(url)} has no port", _EXAMPLE) from None
    if parts.username is not None or parts.query or parts.fragment:
        raise SpoolReadError("the URL of a spool has no user, password or parameters", _EXAMPLE)
    name = unquote(parts.path.strip("/"))
    if not parts.hostname or port is None or not layout.is_name(name):
        raise SpoolReadError(f"{printable(url)} is not the URL of a spool", _EXAMPLE)
    return f"{parts.scheme}://{parts.netloc}", name


def _is_component(name: object) -> bool:
    return isinstance(name, str) and layout.quoted(layout.unquoted(name)) == name
