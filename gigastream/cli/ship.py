# SPDX-License-Identifier: Apache-2.0
"""gigastream ship: a spool of this host, brought to a shared place as it grows."""

from __future__ import annotations

import argparse

from gigastream.cli.arguments import add_options, argument_type
from gigastream.cli.ending import stopped_by_signals
from gigastream.cli.errors import complain
from gigastream.cli.stderr import say
from gigastream.options import KEEP_OPTIONS
from gigastream.settings import parse_period

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
    heading = "what is deleted at the destination, behind its readers"
    add_options(parser.add_argument_group(heading), KEEP_OPTIONS)
    parser.add_argument("-q", "--quiet", action="store_true", help="say what is wrong, no more")


def execute(arguments: argparse.Namespace) -> int:
    """Ship until the spool has ended, or a signal."""
    from gigastream.shipping.shipper import Shipper, ShipSettings
    from gigastream.spool import SpoolReadError, SpoolSettings

    given = {option.field: getattr(arguments, option.field) for option in KEEP_OPTIONS}
    kept = SpoolSettings(**{name: value for name, value in given.items() if value is not None})
    settings = ShipSettings(arguments.every / _SECOND_NS, arguments.once, kept)
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
