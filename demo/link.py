#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A link to try the daemon on: a virtual cable over which the demo's packets go again and again.

    sudo demo/link.py            # makes gsdemo0 and gsdemo1, sends on gsdemo1 until Ctrl-C

Packets keep the distances of the capture, eight times faster. The cable is removed at the end.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

CAPTURE = Path(__file__).with_name("demo.pcap")
NEAR, FAR = "gsdemo0", "gsdemo1"
SPEED = 8
_FILE_HEADER, _RECORD = 24, struct.Struct("<IIII")


def packets(capture: Path) -> Iterator[tuple[float, bytes]]:
    """The times (s) and frames of the demo's capture, which is little-endian, in µs or ns."""
    image = capture.read_bytes()
    unit = 1e-9 if image[:4] == b"\x4d\x3c\xb2\xa1" else 1e-6
    at = _FILE_HEADER
    while at + _RECORD.size <= len(image):
        seconds, fraction, length, _ = _RECORD.unpack_from(image, at)
        at += _RECORD.size
        yield seconds + fraction * unit, image[at : at + length]
        at += length


def send_for_ever(sender: socket.socket) -> None:
    """Send all packets at their times, and again."""
    frames = list(packets(CAPTURE))
    while True:
        began, first = time.monotonic(), frames[0][0]
        for when, frame in frames:
            wait = (when - first) / SPEED - (time.monotonic() - began)
            if wait > 0:
                time.sleep(wait)
            sender.send(frame)


def ip(*words: str) -> None:
    """Run iproute2's program; it says itself what is wrong."""
    if subprocess.run(["ip", *words], check=False).returncode != 0:
        sys.exit(f"demo/link.py: ip {' '.join(words)} has failed")


def main() -> None:
    """Make the cable, send, remove it."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    if os.geteuid() != 0:
        sys.exit("demo/link.py: only root makes links: sudo demo/link.py")
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's `&` has the first ignored
        signal.signal(number, signal.default_int_handler)
    ip("link", "add", NEAR, "type", "veth", "peer", "name", FAR)
    try:
        for name in (NEAR, FAR):
            ip("link", "set", name, "mtu", "9000", "up")
        print(f"sending on {FAR}: capture {NEAR}", flush=True)
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
            sender.bind((FAR, 0))
            send_for_ever(sender)
    except KeyboardInterrupt:
        pass
    finally:
        ip("link", "del", NEAR)


if __name__ == "__main__":
    main()
