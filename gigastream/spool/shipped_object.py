# SPDX-License-Identifier: Apache-2.0
"""A numbered object of a shipped spool: what has become of the spool's small files.

Objects are never changed. Each says what is new since the one before it; one that is `is_whole`
says all that there is, so that who begins reads the last of these and what comes behind it. A file
that grows is said by what is added. Its text is the CRC-32 in eight hexadecimal digits, a blank,
JSON, a newline; bytes that are no UTF-8 travel as lone surrogates.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

from gigastream.late_dataclass import dataclass
from gigastream.spool.address import FOLDERS, address_of
from gigastream.spool.entry import MAX_COUNT

FORMAT = 1
MARKER = "shipped.json"
"""At the destination's root: which spool is shipped to it."""
OBJECTS = "manifests"
"""The folder of the numbered objects, and nothing else: one listing says what is new."""
PIECES = "pieces"
MAX_OBJECT_BYTES = 256 << 20
_OBJECT = re.compile(r"([0-9]{12})(-whole)?\.json")
_PIECE = re.compile(r"pieces/[0-9]{12}-[0-9]{6}")
_ENCODING = "utf-8", "surrogateescape"


@dataclass(frozen=True, slots=True)
class FilePiece:
    """The beginning of a file, or what follows it, as an object of its own."""

    path: str
    size_bytes: int
    checksum: int


@dataclass(frozen=True, slots=True)
class FileNews:
    """What has become of a file, by its way from the spool's root.

    `at` bytes of it stay, `pieces` are behind them, then `data`; None: it is gone.
    """

    path: str
    data: bytes | None
    at: int = 0
    pieces: tuple[FilePiece, ...] = ()


@dataclass(frozen=True, slots=True)
class ShippedObject:
    """All that an object says."""

    number: int
    is_whole: bool
    files: tuple[FileNews, ...]


def object_name(number: int, *, is_whole: bool) -> str:
    """Return an object's name in its folder."""
    return f"{number:012d}{'-whole' if is_whole else ''}.json"


def object_number(name: str) -> tuple[int, bool] | None:
    """Return the number of such a name and whether it says the whole; None for other names."""
    match = _OBJECT.fullmatch(name)
    return (int(match[1]), match[2] is not None) if match else None


def piece_path(number: int, part: int) -> str:
    """Return the way from the root to a piece that the object of this number begins to name."""
    return f"{PIECES}/{number:012d}-{part:06d}"


def piece_of(path: str, data: bytes) -> FilePiece:
    """Return what is listed of a piece."""
    return FilePiece(path, len(data), zlib.crc32(data))


def encode_object(shipped: ShippedObject) -> bytes:
    """Return the bytes of an object."""
    value = {
        "format": FORMAT,
        "number": shipped.number,
        "whole": shipped.is_whole,
        "files": [_plain(news) for news in shipped.files],
    }
    text = json.dumps(value, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decode_object(data: bytes, number: int) -> ShippedObject:
    """Return what `encode_object` was given, of that number. Raises ValueError."""
    text = data[9:-1]
    if data[8:9] != b" " or data[:8] != b"%08x" % zlib.crc32(text):
        raise ValueError("its checksum does not fit")
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise ValueError("it is of no known format: read it with the version that wrote it")
    if value.get("number") != number:
        raise ValueError("it says that it has another number")
    files = value.get("files")
    if not isinstance(files, list) or type(value.get("whole")) is not bool:
        raise ValueError("it does not say which files it is of")
    return ShippedObject(number, value["whole"], tuple(map(_news, files)))


def check_small_path(path: object) -> str:
    """Return the way to a file that is not a segment; ValueError for what no spool has."""
    try:
        address = address_of(path) if isinstance(path, str) else None
        is_sound = address is not None and not address.is_folder and address.path() == path
    except (FileNotFoundError, ValueError):
        is_sound = False
    if not is_sound or address is None or address.kind in ("segment", *FOLDERS):
        raise ValueError(f"it names {path!r}, which no spool has"[:200])
    return str(path)


def encode_marker(identity: str | None) -> bytes:
    """Return the content of the marker."""
    return json.dumps({"format": FORMAT, "spool": identity}).encode() + b"\n"


def marked_identity(value: Mapping[str, Any]) -> str | None:
    """Return the identity of the spool that a marker is of. Raises ValueError."""
    if value.get("format") != FORMAT:
        raise ValueError(f"it is of format {value.get('format')!r}, which another version wrote")
    identity = value.get("spool")
    if identity is not None and not isinstance(identity, str):
        raise ValueError("it names no spool")
    return identity


def _plain(news: FileNews) -> dict[str, Any]:
    if news.data is None:
        return {"path": news.path, "gone": True}
    value: dict[str, Any] = {"path": news.path, "at": news.at}
    if news.pieces:
        value["pieces"] = [
            {"path": piece.path, "size_bytes": piece.size_bytes, "checksum": piece.checksum}
            for piece in news.pieces
        ]
    return {**value, "data": news.data.decode(*_ENCODING)}


def _news(value: object) -> FileNews:
    if not isinstance(value, dict):
        raise ValueError("it says nothing of a file")
    path = check_small_path(value.get("path"))
    if value.get("gone") is True:
        return FileNews(path, None)
    data, pieces = value.get("data"), value.get("pieces", [])
    if not isinstance(data, str) or not isinstance(pieces, list):
        raise ValueError(f"it does not say what {path} holds"[:200])
    return FileNews(
        path, data.encode(*_ENCODING), _count(value.get("at")), tuple(map(_piece, pieces))
    )


def _piece(value: object) -> FilePiece:
    if not isinstance(value, dict):
        raise ValueError("a piece of a file is none")
    path = value.get("path")
    if not isinstance(path, str) or not _PIECE.fullmatch(path):
        raise ValueError("a piece of a file leads elsewhere")
    size_bytes = _count(value.get("size_bytes"))
    if size_bytes > MAX_OBJECT_BYTES:
        raise ValueError(f"a piece of {size_bytes} bytes, at most {MAX_OBJECT_BYTES} are read")
    return FilePiece(path, size_bytes, _count(value.get("checksum")))


def _count(number: object) -> int:
    if type(number) is not int or not 0 <= number <= MAX_COUNT:
        raise ValueError("a number is no count")
    return number
