# SPDX-License-Identifier: Apache-2.0
"""The questions, in the order in which they are asked; a new one is a file and a line here."""

from questions import (
    against_exact,
    against_libpcap,
    against_peers,
    agreement,
    heartbeats,
    inet,
    limit,
    low_level,
    memory,
    patterns,
    selection,
    sketches,
    table_sizes,
    text,
    thirty_two,
    twenty,
    whole_path,
    windows,
)

QUESTIONS = {
    "agreement": agreement,
    "limit": limit,
    "low-level": low_level,
    "whole-path": whole_path,
    "exact": against_exact,
    "libpcap": against_libpcap,
    "peers": against_peers,
    "inet": inet,
    "selection": selection,
    "patterns": patterns,
    "thirty-two": thirty_two,
    "twenty": twenty,
    "windows": windows,
    "sketches": sketches,
    "heartbeats": heartbeats,
    "table-sizes": table_sizes,
    "memory": memory,
    "text": text,
}
