# SPDX-License-Identifier: Apache-2.0
"""Make a synthetic capture.

    python bench/generate.py TARGET --packets 10000000 --groups 260000 --zipf 1.1

Packets are Ethernet, IPv4, and TCP (seven of eight) or UDP; lengths are the usual Internet mix of
64, 594 and 1518 bytes. One packet in a hundred is TCP to port 443, and one in a hundred goes to
each of the ports 8001 to 8099, whatever the pair of addresses.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from build import HERE, BuildError, executable


@dataclass(frozen=True)
class Synthetic:
    """What a synthetic capture is made of; equal values give equal bytes."""

    packets: int = 10_000_000
    groups: int = 260_000
    zipf: float = 0.0  # the exponent; 0 is uniform
    minutes: int = 5
    snap_bytes: int = 64  # 0 keeps whole packets
    seed: int = 1


def generate(settings: Synthetic, target: Path) -> None:
    """Write the capture to `target`; raises BuildError and OSError."""
    numbers = (settings.packets, settings.groups, settings.zipf, settings.minutes)
    command = [executable(HERE / "generate.c", "m"), target, *numbers]
    command += [settings.snap_bytes, settings.seed]
    done = subprocess.run([str(word) for word in command], stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise OSError(done.stderr.strip())


def _options() -> argparse.Namespace:
    default = Synthetic()
    parser = argparse.ArgumentParser(description="Make a synthetic capture.")
    parser.add_argument("target", type=Path)
    parser.add_argument("--packets", type=int, default=default.packets)
    parser.add_argument("--groups", type=int, default=default.groups, help="address pairs")
    parser.add_argument("--zipf", type=float, default=default.zipf, help="exponent, 0 is uniform")
    parser.add_argument("--minutes", type=int, default=default.minutes)
    parser.add_argument("--snap", type=int, default=default.snap_bytes, help="bytes kept, 0 is all")
    parser.add_argument("--seed", type=int, default=default.seed)
    return parser.parse_args()


def main() -> int:
    """The command line."""
    given = _options()
    settings = Synthetic(
        given.packets, given.groups, given.zipf, given.minutes, given.snap, given.seed
    )
    try:
        generate(settings, given.target)
    except (BuildError, OSError) as error:
        print(f"generate: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
