# SPDX-License-Identifier: Apache-2.0
"""The decoder as a process: builds driver.c, sends frames, reads fields; reads the case files."""

from __future__ import annotations

import ipaddress
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
LINKS = (  # enum gs_link of csrc/abi/gs_packet.h, in its order
    "unsupported",
    "ethernet",
    "raw",
    "null",
    "loop",
    "sll",
    "sll2",
    "ppp",
    "ieee802_11",
    "radiotap",
    "ipv4",
    "ipv6",
    "cisco_hdlc",
    "frame_relay",
    "ppi",
    "pktap",
    "pflog",
    "nflog",
    "ipoib",
    "sunatm",
    "token_ring",
    "fddi",
)
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@dataclass(frozen=True)
class Frame:
    """One frame as a capture gives it. `len_bytes` None: as many as were captured."""

    link: int
    bytes: bytes
    len_bytes: int | None = None
    depth: int = 3
    timestamp_ns: int = 1_700_000_000_000_000_000

    def line(self) -> str:
        length = len(self.bytes) if self.len_bytes is None else self.len_bytes
        return f"{self.link} {length} {self.depth} {self.timestamp_ns} {self.bytes.hex()}\n"


@dataclass(frozen=True)
class Case:
    """One entry of a case file: a frame and what its fields must be, as text; `-` is absent."""

    name: str
    frame: Frame
    expected: dict[str, str]


def build(directory: Path) -> Path:
    """Compiles the driver with the sanitizers and as the house compiles; returns its path."""
    program = directory / "decode_driver"
    stages = [ROOT / "csrc/decode", ROOT / "csrc/reassembly"]
    sources = [HERE / "driver.c", *sorted(path for each in stages for path in each.glob("*.c"))]
    warnings = ("-std=c11", "-Wall", "-Wextra", "-Wshadow", "-Werror")
    command = ["gcc", *warnings, *SANITIZED, f"-I{ROOT / 'csrc/abi'}", *sources, "-o", program]
    subprocess.run([str(word) for word in command], check=True)
    return program


def decode(program: Path, frames: Iterable[Frame]) -> list[dict[str, str]]:
    """The fields of each frame as text, `-` for those that it lacks."""
    lines = "".join(frame.line() for frame in frames)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return [_as_text(json.loads(line)) for line in done.stdout.splitlines()]


def _as_text(fields: dict[str, object]) -> dict[str, str]:
    return {name: _field_text(name, value) for name, value in fields.items()}


def _field_text(name: str, value: object) -> str:
    if value is None:
        return "-"
    if name.endswith(("srcIP", "destIP")):
        return _address_text(bytes.fromhex(str(value)))
    if name in ("TCP_data", "UDP_data") and value == "":
        return "empty"
    return str(value)


def _address_text(packed: bytes) -> str:
    address = ipaddress.IPv6Address(packed)
    return str(address.ipv4_mapped or address)


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of a file: `let NAME = hex`, then entries that begin with `== title`.

    Of an entry's lines `link`, `wire` (bytes on the wire), `depth`, `at` (ns) and `frame` are the
    question, all others the answer.
    """
    head, *entries = re.split(r"^== ", path.read_text(), flags=re.MULTILINE)
    macros = dict(re.findall(r"^let (\w+) = (.*)$", head, flags=re.MULTILINE))
    for entry in entries:
        yield _read_case(entry, macros)


def _read_case(entry: str, macros: dict[str, str]) -> Case:
    title, *lines = [line for line in entry.splitlines() if line.strip()]
    words = dict(line.partition(" ")[::2] for line in lines)
    if len(words) != len(lines):
        raise ValueError(f"{title}: a word stands twice")
    link = words.pop("link")
    length = words.pop("wire", None)
    frame = Frame(
        link=LINKS.index(link) if link in LINKS else int(link),
        bytes=_frame_bytes(words.pop("frame"), macros),
        len_bytes=None if length is None else int(length),
        depth=int(words.pop("depth", "3")),
        timestamp_ns=int(words.pop("at", "1700000000000000000")),
    )
    return Case(title, frame, words)


def _frame_bytes(text: str, macros: dict[str, str]) -> bytes:
    filled = re.sub(r"\$(\w+)", lambda match: macros[match[1]], text)
    return bytes.fromhex(filled.replace(" ", ""))
