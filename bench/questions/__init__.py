# SPDX-License-Identifier: Apache-2.0
"""The questions, in the order in which they are asked; a new one is a file and a line here.

What is to be reached next comes first: where time is short, the last ones find none.
"""

from questions import (
    against_exact,
    against_libpcap,
    against_peers,
    agreement,
    compressed,
    heartbeats,
    inet,
    jobs,
    limit,
    live,
    low_level,
    memory,
    patterns,
    selection,
    sharing,
    sketches,
    start,
    table_sizes,
    text,
    thirty_two,
    twenty,
    whole_path,
    windows,
)

QUESTIONS = {
    "agreement": agreement,
    "low-level": low_level,
    "whole-path": whole_path,
    "libpcap": against_libpcap,
    "inet": inet,
    "thirty-two": thirty_two,
    "live": live,
    "exact": against_exact,
    "table-sizes": table_sizes,
    "jobs": jobs,
    "memory": memory,
    "start": start,
    "peers": against_peers,
    "selection": selection,
    "compressed": compressed,
    "patterns": patterns,
    "windows": windows,
    "sketches": sketches,
    "twenty": twenty,
    "sharing": sharing,
    "heartbeats": heartbeats,
    "limit": limit,
    "text": text,
}
