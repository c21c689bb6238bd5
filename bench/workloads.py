# SPDX-License-Identifier: Apache-2.0
"""The captures that the questions are asked about, made when first needed and kept."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import IO, cast

from generate import Synthetic, generate
from join_real import DEFAULT_MINUTES, DEFAULT_PACKETS, join, real_captures_folder, repeat

REAL, SHORT_REAL = "real", "short-real"
PACKETS_PER_MINUTE = 2_000_000
"""Of the large synthetic captures; a smaller one has fewer minutes, and in each as many groups."""
FOR_SLOW_TOOLS = ((10, 1_000_000), (50, 200_000))
"""By what the large captures are divided, and how few packets would measure our start alone."""


def _zstd(path: Path) -> IO[bytes]:
    import pyarrow

    return cast("IO[bytes]", pyarrow.CompressedOutputStream(str(path), "zstd"))


def _gzip(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.GzipFile(path, "wb", 6))


COMPRESSIONS: dict[str, Callable[[Path], IO[bytes]]] = {"gz": _gzip, "zst": _zstd}
"""By the end of the file's name: what writes one."""


@dataclass(frozen=True)
class Capture:
    """A capture file and what is known of it without reading it."""

    name: str
    path: Path
    packets: int


def synthetic_workloads(packets: int) -> dict[str, Synthetic]:
    """The synthetic captures by name, scaled to so many packets."""
    minutes = max(1, packets // PACKETS_PER_MINUTE)
    uniform = Synthetic(packets=packets, minutes=minutes)
    few, fewer = (max(packets // n, min(packets, least)) for n, least in FOR_SLOW_TOOLS)
    return {
        "uniform-66k": replace(uniform, groups=66_000),
        "uniform-260k": uniform,
        "uniform-520k": replace(uniform, groups=520_000),
        "zipf-260k": replace(uniform, zipf=1.1),
        "mixed-260k": replace(uniform, packets=packets * 2 // 5, snap_bytes=0),
        "quarter-260k": replace(uniform, packets=packets // 4),
        "one-minute": replace(uniform, packets=packets // 5, minutes=1),
        "tenth-26k": replace(uniform, packets=few, groups=26_000),
        "half-an-hour": replace(uniform, groups=max(1, packets // 10_000), minutes=30),
        "one-packet": replace(uniform, packets=1),
        "fiftieth-5k": replace(uniform, packets=fewer, groups=5_200),
    }


class Workloads:
    """Captures by name in one folder."""

    def __init__(self, folder: Path, packets: int, real_packets: int | None = None) -> None:
        self._folder = folder
        self._synthetic = synthetic_workloads(packets)
        self._real_packets = packets if real_packets is None else real_packets
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, name: str) -> Capture | None:
        """The capture of that name, made now if need be; None if its material is not here."""
        if name == REAL:
            return self._real()
        if name == SHORT_REAL:
            return self._short_real()
        settings = self._synthetic[name]
        stem = "-".join(str(value) for value in astuple(settings))
        path = self._folder / f"synthetic-{stem}.pcap"
        if not path.exists():
            partial = path.with_suffix(".partial")
            generate(settings, partial)
            partial.replace(path)
        return Capture(name, path, settings.packets)

    def compressed(self, capture: Capture, kind: str) -> Capture:
        """A capture compressed in one of COMPRESSIONS, made now if need be."""
        path = capture.path.with_suffix(f".pcap.{kind}")
        if not path.exists():
            partial = path.with_suffix(".partial")
            with capture.path.open("rb") as plain, COMPRESSIONS[kind](partial) as packed:
                shutil.copyfileobj(plain, packed)
            partial.replace(path)
        return replace(capture, name=f"{capture.name}.{kind}", path=path)

    def _real(self) -> Capture | None:
        """The short one again and again, until a query's start is nothing beside its packets."""
        once = self._short_real()
        if once is None:
            return None
        times = -(-self._real_packets // once.packets)
        path = self._folder / f"repeated-{times}-{once.path.name}"
        if not path.exists():
            partial = path.with_suffix(".partial")
            repeat(once.path, partial, times, DEFAULT_MINUTES)
            partial.replace(path)
        return Capture(REAL, path, times * once.packets)

    def _short_real(self) -> Capture | None:
        folder = real_captures_folder()
        if folder is None:
            return None
        found = sorted(self._folder.glob("real-*.pcap"))
        path = found[0] if found else self._join(folder)
        return Capture(SHORT_REAL, path, int(path.stem.split("-")[1]))

    def _join(self, folder: Path) -> Path:
        partial = self._folder / "real.partial"
        packets = join(folder, partial, DEFAULT_PACKETS, DEFAULT_MINUTES)
        return partial.replace(self._folder / f"real-{packets}.pcap")
