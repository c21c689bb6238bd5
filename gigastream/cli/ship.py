# SPDX-License-Identifier: Apache-2.0
"""gigastream ship: a spool of this host, brought to a shared place as it grows."""

from __future__ import annotations

import argparse

from gigastream.cli.arguments import argument_type
from gigastream.cli.ending import stopped_by_signals
from gigastream.cli.errors import complain
from gigastream.cli.stderr import say
from gigastream.settings import parse_bytes, parse_duration, parse_period

_SECOND_NS = 10**9
_EPILOG = """\
DESTINATION is a folder or a URI of its own: s3://BUCKET/PREFIX, gs://, hdfs://, file:///PATH, or
what fsspec opens where it is installed. Who may write there is said by the environment, and never
by the URI. `--spool DESTINATION` reads it. Killed at any moment, the same command goes on where it
was. It ends when the spool has ended and nobody writes it; SIGTERM and Ctrl-C end it.

exit codes: 0 done, 1 it could not go on, 2 it is no spool, or the place is not to be had."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is shipped, where to, and how long it is kept there."""
    parser.epilog = _EPILOG
    parser.add_argument("spool", metavar="SPOOL", help="a folder")
    parser.add_argument("destination", metavar="DESTINATION", help="a folder, or a URI")
    parser.add_argument(
        "--every",
        type=argument_type(parse_period),
        default=_SECOND_NS,
        metavar="TIME",
        help="at most one object that tells what is new in so long (1s)",
    )
    parser.add_argument("--once", action="store_true", help="ship what is there, then end")
    kept = parser.add_argument_group("what is deleted at the destination, behind its readers")
    kept.add_argument(
        "--keep-bytes",
        type=argument_type(parse_bytes),
        metavar="BYTES",
        help="of a stream's segments on an interface (all)",
    )
    kept.add_argument(
        "--keep-age",
        type=argument_type(parse_duration),
        metavar="TIME",
        help="how long segments are kept (for ever)",
    )
    kept.add_argument(
        "--keep-margin",
        type=argument_type(parse_duration),
        default=60 * _SECOND_NS,
        metavar="TIME",
        help="and how long beyond what readers have committed (60s)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="say what is wrong, no more")


def execute(arguments: argparse.Namespace) -> int:
    """Ship until the spool has ended, or a signal."""
    from gigastream.shipping.retention import Keeping
    from gigastream.shipping.shipper import Shipper, ShipSettings
    from gigastream.spool import SpoolReadError

    keeping = Keeping(arguments.keep_age, arguments.keep_bytes, arguments.keep_margin)
    settings = ShipSettings(arguments.every / _SECOND_NS, arguments.once, keeping)
    shipper = Shipper(arguments.spool, arguments.destination, settings, complain)
    if not arguments.quiet:
        say(f"{arguments.spool} is shipped to {arguments.destination}, as reader {shipper.reader}")
    with stopped_by_signals(shipper):
        try:
            shipper.run()
        except SpoolReadError as error:
            complain(str(error), error.hint)
            return 1
        finally:
            shipper.close()
    count = shipper.count
    if not arguments.quiet:
        say(
            f"segments shipped: {count.segments:,}, of {count.rows:,} rows "
            f"in {count.size_bytes:,} bytes"
        )
    return 1 if count.missing_segments else 0
