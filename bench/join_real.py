# SPDX-License-Identifier: Apache-2.0
"""Join many small real Ethernet captures into one large one, as if one link had carried them all.

Every capture starts at a random instant of a clock of some hours and keeps its own pace; what would
run beyond the end goes on at the beginning. Captures are repeated, each time at another instant,
until there are enough packets. The result is in order of time. Frames are written as they are.

Of `--times` N the joined capture is there N times in a row, each later by the length of the clock:
time goes on as it does within one, and memory is needed for one only.
"""

from __future__ import annotations

import argparse
import os
import random
import struct
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from captures import (
    FILE_HEADER_BYTES,
    RECORD_HEADER_BYTES,
    Packet,
    read_ethernet,
    write_pcap_header,
    write_pcap_packet,
)

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDERS = ("good", "large")
CLOCK_START_NS = 28_333_334 * 60 * 10**9  # a whole minute in November 2023
DEFAULT_PACKETS = 800_000
DEFAULT_MINUTES = 252
SEED = 1


def real_captures_folder() -> Path | None:
    """The folder of real captures beside the checkout or in GIGASTREAM_PCAPS; None if absent."""
    folder = Path(os.environ.get("GIGASTREAM_PCAPS", REPOSITORY.parent / "shared" / "pcaps"))
    return folder if any((folder / name).is_dir() for name in FOLDERS) else None


def join(folder: Path, target: Path, packets: int, minutes: int) -> int:
    """Write `target`; returns how many packets it holds, at least `packets`."""
    captures = list(_read_all(folder))
    if not captures:
        raise ValueError(f"{folder}: no Ethernet captures")
    joined = sorted(_placed(captures, packets, minutes), key=lambda placed: placed[0])
    with target.open("wb") as file:
        write_pcap_header(file)
        for timestamp_ns, packet in joined:
            write_pcap_packet(file, timestamp_ns, packet)
    return len(joined)


def _read_all(folder: Path) -> Iterator[list[Packet]]:
    paths = (path for name in FOLDERS for path in sorted((folder / name).rglob("*")))
    for path in paths:
        packets = list(read_ethernet(path)) if path.is_file() else []
        if packets:
            yield packets


def _placed(
    captures: list[list[Packet]], wanted: int, minutes: int
) -> Iterator[tuple[int, Packet]]:
    clock = random.Random(SEED)
    span_ns = minutes * 60 * 10**9
    written = 0
    for capture in cycle(captures):
        if written >= wanted:
            return
        shift_ns = clock.randrange(span_ns) - capture[0].timestamp_ns
        for packet in capture:
            yield CLOCK_START_NS + (packet.timestamp_ns + shift_ns) % span_ns, packet
        written += len(capture)


def repeat(source: Path, target: Path, times: int, minutes: int) -> None:
    """Write to `target` what `join` wrote to `source`, so many times, each on a later clock."""
    content = bytearray(source.read_bytes())
    records = list(_records(content))
    with target.open("wb") as file:
        file.write(content[:FILE_HEADER_BYTES])
        for number in range(times):
            for position, seconds in records:
                struct.pack_into("<I", content, position, seconds + number * minutes * 60)
            file.write(memoryview(content)[FILE_HEADER_BYTES:])


def _records(content: bytearray) -> Iterator[tuple[int, int]]:
    """Where each record begins, and its second."""
    position = FILE_HEADER_BYTES
    while position < len(content):
        seconds, _, captured_bytes, _ = struct.unpack_from("<IIII", content, position)
        yield position, seconds
        position += RECORD_HEADER_BYTES + captured_bytes


def main() -> int:
    """The command line: where to write, how much."""
    parser = argparse.ArgumentParser(description="Join real Ethernet captures into one pcap file.")
    parser.add_argument("target", type=Path)
    parser.add_argument("--packets", type=int, default=DEFAULT_PACKETS, help="at least so many")
    parser.add_argument("--minutes", type=int, default=DEFAULT_MINUTES, help="length of the clock")
    parser.add_argument("--times", type=int, default=1, help="the whole of it in a row")
    options = parser.parse_args()
    folder = real_captures_folder()
    if folder is None:
        print("join_real: no real captures here (GIGASTREAM_PCAPS names them)", file=sys.stderr)
        return 0
    packets = join(folder, options.target, options.packets, options.minutes)
    if options.times > 1:
        once = options.target.replace(options.target.with_suffix(".once"))
        repeat(once, options.target, options.times, options.minutes)
        once.unlink()
    packets, minutes = packets * options.times, options.minutes * options.times
    size_mb = options.target.stat().st_size / 1e6
    print(f"{options.target}: {packets} packets, {size_mb:.0f} MB, {minutes} minutes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
