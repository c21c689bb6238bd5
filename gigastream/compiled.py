# SPDX-License-Identifier: Apache-2.0
"""A query set as a shared object that says what it is: made on one host, run on another.

The object carries its queries and their plan in a section of its own, behind a line that says what
it was made for, and a checksum of the whole file: the loader believes what it maps, and what is
damaged ends the process. All is read without loading it, but an object is code, and believed as
such: who names one runs what its maker has put into it.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import struct
import zlib
from collections.abc import Sequence
from enum import Enum
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigastream.codegen.compiler import compile_query_set, give_object
from gigastream.codegen.query_set import generate
from gigastream.destination import replacement
from gigastream.gsql.catalog.build import code_hash, store_definitions
from gigastream.gsql.expressions import FunctionCall
from gigastream.gsql.queries import ProtocolSource
from gigastream.late_dataclass import replace
from gigastream.ownership import check_file, check_folder
from gigastream.paths import include_directory
from gigastream.query_texts import library_texts
from gigastream.version import __version__

if TYPE_CHECKING:
    from gigastream.plan import Plan
    from gigastream.query_texts import QueryTexts

_SECTION = b".gigastream"
_FORMAT = 2
_ELF = b"\x7fELF"
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
_KIND_BYTES = 20
"""Of an ELF header: its magic, word size, byte order and, at the end, the processor."""
_LARGEST_BYTES = 1 << 30
_UNSEALED = b"0" * 64
"""In the place of the checksum while it is computed."""
_SEAL = b'"checksum": "'
_MODULES = ("gigastream.", "pathlib")
_ANEW = "copy it again, or compile it anew"


class CompiledError(Exception):
    """A shared object that cannot be run here."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint or "gigastream compile makes one, with the same version, on such a host"


def write_object(
    plan: Plan,
    texts: QueryTexts,
    target: Path,
    include: Sequence[Path] = (),
    *,
    low_level_only: bool = False,
) -> Path:
    """Compile a plan for hosts of this kind of processor; CompileError, CompiledError, OSError.

    `low_level_only`: who runs it runs nothing above the border, where functions in Python are.
    """
    if not low_level_only and any(node.host_calls for node in plan.nodes):
        message = "queries that call functions in Python are no object: what it carries is C"
        raise CompiledError(message, "gigastream run --python FILE.py compiles them where they run")
    definitions = tuple(
        store_definitions(file) if isinstance(file, str) else file for file in texts.definitions
    )
    texts = replace(texts, definitions=definitions, library=library_texts(texts))
    packed = _pickled(plan, texts)
    there, _ = _PlanUnpickler(BytesIO(packed)).load()
    carried = _header(generate(there)) + zlib.compress(packed)
    made = compile_query_set(generate(plan) + _section(carried), headers=include, portable=True)
    image = _sealed(made.read_bytes())
    with replacement(target) as copy:
        copy.write(image)
    return target


def read_object(path: Path) -> tuple[Plan, QueryTexts]:
    """Return what an object answers; from now on its plan runs by it. CompiledError, OSError.

    As root UntrustedError, where another user could have changed it.
    """
    path = path.absolute()
    if os.geteuid() == 0:
        hint = "copy it to where only root can write, and make it root's"
        check_file(path, hint)
        check_folder(path.parent, hint)
    image = _image(path)
    header, packed = _carried(path, image)
    if header["version"] != __version__ or header["headers"] != _headers():
        raise CompiledError(
            f"{path} was compiled by Gigastream {header['version']}, this is {__version__}, or the "
            "engine has changed between them"
        )
    try:
        plan, texts = _PlanUnpickler(BytesIO(zlib.decompress(packed))).load()
    except (pickle.UnpicklingError, zlib.error, ValueError, TypeError, AttributeError, EOFError):
        raise CompiledError(f"{path} carries a plan that cannot be read") from None
    if header["text"] != _hash(generate(plan)):
        raise CompiledError(f"{path} was compiled by another Gigastream {header['version']}")
    give_object(generate(plan), path)
    return plan, texts


# ---- what an object carries ----


def _header(text: str) -> bytes:
    found = {
        "format": _FORMAT,
        "checksum": _UNSEALED.decode(),
        "version": __version__,
        "headers": _headers(),
        "text": _hash(text),
    }
    return json.dumps(found).encode() + b"\n"


def _section(carried: bytes) -> str:
    """C that puts bytes into the section; nothing refers to them."""
    rows = (carried[at : at + 32] for at in range(0, len(carried), 32))
    text = ",\n".join(",".join(str(byte) for byte in row) for row in rows)
    attributes = f'__attribute__((section("{_SECTION.decode()}"), used))'
    return f"\n{attributes} static const unsigned char carried[] = {{\n{text}\n}};\n"


def _pickled(plan: Plan, texts: QueryTexts) -> bytes:
    packed = BytesIO()
    try:
        _PlanPickler(packed).dump((plan, texts))
        return packed.getvalue()
    except RecursionError:
        message = "the queries are nested too deeply to be carried by an object"
        raise CompiledError(message, "simpler queries, or several objects") from None


class _PlanPickler(pickle.Pickler):
    """Writes what is the same on every host, and for each version of Python."""

    def reducer_override(self, written: Any) -> Any:
        if isinstance(written, Enum):
            # Python 3.11.0 to 3.11.3 write it as a call of getattr, which is no part of a plan.
            return type(written), (written.value,)
        stored: FunctionCall | ProtocolSource
        if isinstance(written, FunctionCall) and written.header:
            stored = replace(written, header=code_hash(written.header))
        elif isinstance(written, ProtocolSource) and written.headers:
            stored = replace(written, headers=tuple(map(code_hash, written.headers)))
        else:
            return NotImplemented
        return stored.__reduce_ex__(pickle.DEFAULT_PROTOCOL)


class _PlanUnpickler(pickle.Unpickler):
    """Knows what plans are made of, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if module.startswith(_MODULES) else None
        # a name with dots, or of what a module imports, may lead out of them
        if not isinstance(found, type) or not found.__module__.startswith(_MODULES):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a plan")
        return found


def _headers() -> str:
    """What generated code and the engine agree on."""
    headers = sorted(include_directory().glob("*.h"))
    return _hash("".join(header.name + header.read_text() for header in headers))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# ---- reading it, without loading it ----


def _image(path: Path) -> bytes:
    """Return the bytes of a shared object for this processor."""
    with path.open("rb") as stream, open("/proc/self/exe", "rb") as own:
        image, kind = stream.read(_LARGEST_BYTES), own.read(_KIND_BYTES)
    if image[:4] != _ELF:
        raise CompiledError(f"{path} is no shared object")
    if (image[4:6], image[18:20]) != (kind[4:6], kind[18:20]):
        raise CompiledError(f"{path} was compiled for another kind of processor")
    return image


def _sealed(image: bytes) -> bytes:
    """Return an object with the checksum of all its bytes but those of the checksum itself."""
    start, size = _section_at(image)
    at = image.index(_SEAL, start, start + size) + len(_SEAL)
    before, behind = image[:at], image[at + len(_UNSEALED) :]
    digest = hashlib.sha256(before + _UNSEALED + behind).hexdigest()
    return before + digest.encode() + behind


def _carried(path: Path, image: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the line that says what an object is made for, and what is behind it."""
    try:
        start, size = _section_at(image)
        line, _, packed = image[start : start + size].partition(b"\n")
        header = json.loads(line)
        if header["format"] != _FORMAT:
            raise CompiledError(f"{path} was compiled by another version of Gigastream")
        is_whole = image == _sealed(image)
    except (struct.error, ValueError, KeyError, TypeError, IndexError, OverflowError):
        raise CompiledError(
            f"{path} carries no queries: Gigastream has not made it, or it is damaged"
        ) from None
    if not is_whole:
        raise CompiledError(f"{path} is damaged: it is not what was compiled", _ANEW)
    return header, packed


def _section_at(image: bytes) -> tuple[int, int]:
    """Return where our section of an ELF file of 64 bits is; ValueError if there is none."""
    if image[4] != 2:
        raise ValueError
    (table,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", image, 0x3A)
    headers = [_SECTION_HEADER.unpack_from(image, table + size * i) for i in range(count)]
    names = headers[names_at][4]
    for name, _, _, _, offset, length, *_ in headers:
        if image[names + name : names + name + len(_SECTION) + 1] == _SECTION + b"\0":
            return offset, length
    raise ValueError
