# SPDX-License-Identifier: Apache-2.0
"""A capture file of any form, read to its end or to its damage."""

from __future__ import annotations

from pathlib import Path

from tests.oracle.compressed import inflate
from tests.oracle.links import SUPPORTED
from tests.oracle.pcap import byte_order, read_pcap
from tests.oracle.pcapng import read_pcapng
from tests.oracle.records import Capture, DamagedError, RefusedError

PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"


def read_capture(path: str | Path) -> Capture:
    """Read a file. Its damage or refusal is in the result; only the file system raises."""
    return read_bytes(Path(path).read_bytes())


def read_bytes(data: bytes) -> Capture:
    """The same for bytes in memory, compressed or not."""
    plain, damage = inflate(data)
    capture = Capture()
    try:
        _read_plain(plain, capture)
        capture.damage = damage
        _refuse_unsupported(capture)
    except DamagedError as error:
        capture.damage = damage or str(error)
        _keep_refusal(capture)
    except RefusedError as error:
        capture.refusal = str(error)
    return capture


def _read_plain(plain: bytes, capture: Capture) -> None:
    if not plain:
        raise RefusedError("the file is empty")
    if plain.startswith(PCAPNG_MAGIC):
        read_pcapng(plain, capture)
    elif byte_order(plain):
        read_pcap(plain, capture)
    else:
        raise RefusedError(f"an unknown kind of file: its first bytes are {plain[:4].hex()}")


def _keep_refusal(capture: Capture) -> None:
    try:
        _refuse_unsupported(capture)
    except RefusedError as error:
        capture.damage, capture.refusal = None, str(error)


def _refuse_unsupported(capture: Capture) -> None:
    """A file is refused only if none of its packets has a supported link type.

    A pcap file has one link type, so it is refused by its header, packets or not.
    """
    kinds = {record.link_type for record in capture.records}
    if capture.format.startswith("pcap-"):
        kinds = {interface.link_type for interface in capture.interfaces}
    if kinds and not kinds & SUPPORTED:
        raise RefusedError(f"link type not supported: {', '.join(map(str, sorted(kinds)))}")
