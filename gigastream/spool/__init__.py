# SPDX-License-Identifier: Apache-2.0
"""The spool: a stream's rows and punctuation on disk, between capture and whoever reads them.

README.md beside this file shows one. Loading it loads pyarrow, so that the command line imports it
late.
"""

from gigastream.spool.access import NO_ACCESS, Access
from gigastream.spool.commits import Passed
from gigastream.spool.entry import END, NOTHING, Entry, Lost, TrackProgress
from gigastream.spool.errors import SegmentDamage, SpoolAwayError, SpoolError, SpoolReadError
from gigastream.spool.query_set import StoredQuerySet, StreamDescription
from gigastream.spool.retention import Retained
from gigastream.spool.settings import SpoolSettings
from gigastream.spool.spool import Spool
from gigastream.spool.track import Track, commit_reader
from gigastream.spool.track_writer import TrackWriter
from gigastream.spool.writer import SpoolWriter

__all__ = [
    "END",
    "NOTHING",
    "NO_ACCESS",
    "Access",
    "Entry",
    "Lost",
    "Passed",
    "Retained",
    "SegmentDamage",
    "Spool",
    "SpoolAwayError",
    "SpoolError",
    "SpoolReadError",
    "SpoolSettings",
    "SpoolWriter",
    "StoredQuerySet",
    "StreamDescription",
    "Track",
    "TrackProgress",
    "TrackWriter",
    "commit_reader",
]
