# SPDX-License-Identifier: Apache-2.0
"""gigastream capture: the daemon, by a configuration file or by words."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gigastream.cli.arguments import parse_parameter
from gigastream.cli.errors import UsageError
from gigastream.daemon.config_streams import stream_config
from gigastream.daemon.daemon_config import DaemonConfig, FileConfig, LinkConfig, StreamConfig
from gigastream.daemon.messages import QuerySetSpec
from gigastream.late_dataclass import replace
from gigastream.paths import CONTROL_SOCKET
from gigastream.query_texts import inline_queries, read_query_file
from gigastream.records.source import parse_stream
from gigastream.shipped_queries import shipped_queries
from gigastream.sinks import SINKS, TABLE_MARK, is_sink
from gigastream.sources.files import SourceError
from gigastream.sources.live import LIVE_OPTIONS, LiveSettings, parse_live


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A file, or links, queries and outputs."""
    parser.add_argument(
        "words", nargs="*", metavar="QUERY", help="files, or names of shipped queries: a set each"
    )
    parser.add_argument("-c", "--config", metavar="FILE", help="all of it, as TOML")
    parser.add_argument("--check", action="store_true", help="say whether the file is right")
    parser.add_argument("--dump", action="store_true", help="show what the file comes to")
    parser.add_argument(
        "-i", "--interface", action="append", default=[], type=parse_live, metavar="[NAME=]DEVICE",
        help="a link that is captured",
    )  # fmt: skip
    parser.add_argument(
        "-r", "--read", action="append", default=[], metavar="FILE", help="a capture, or a pipe"
    )
    parser.add_argument(
        "--stream", action="append", default=[], type=parse_stream, metavar="NAME=[FORMAT:]PLACE",
        help="the records of a STREAM: a file, a folder, tcp://HOST:PORT, udp://HOST:PORT",
    )  # fmt: skip
    parser.add_argument(
        "-e", "--expression", action="append", default=[], metavar="QUERY", help="a query's text"
    )
    parser.add_argument(
        "-p", "--param", action="append", default=[], type=parse_parameter, metavar="NAME=VALUE",
        help="of every query",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", action="append", default=[], metavar="FORMAT:PATH",
        help="where rows go; of several sets PATH is a folder",
    )  # fmt: skip
    parser.add_argument("--socket", metavar="PATH", help=f"of control ({CONTROL_SOCKET})")
    parser.add_argument("--group", help="whose members may control it, too")
    parser.add_argument("--cache", metavar="FOLDER", help="of compiled sets")
    parser.add_argument("--state", metavar="FOLDER", help="of the audit log")
    parser.add_argument(
        "--folder", action="append", default=[], help="below which sets that come later may write"
    )
    parser.add_argument(
        "--tables", action="store_true", help="let sets that come later have tables, too"
    )
    parser.add_argument("--metrics", metavar="HOST:PORT", help="where Prometheus finds metrics")
    parser.add_argument("--strict", action="store_true", help="end where a set cannot be begun")
    links = parser.add_argument_group("links")
    links.add_argument(
        "--reopen-links", action="store_true",
        help="a process keeps CAP_NET_RAW, and opens links with --fanout anew that were removed",
    )  # fmt: skip
    for option in LIVE_OPTIONS:
        links.add_argument(
            f"--{option.name}", dest=option.field, metavar=option.metavar, help=option.help
        )


def execute(arguments: argparse.Namespace) -> int:
    """Run the daemon until it is stopped."""
    if arguments.check or arguments.dump:
        return _show(arguments)
    from gigastream.daemon.starting import run_daemon

    config = _config_of(arguments)
    if not (config.links or config.files or config.streams):
        raise UsageError("there is nothing to capture", "-i DEVICE, or -c FILE with a [[link]]")
    again = (lambda: _config_of(arguments)) if arguments.config else None
    return run_daemon(config, again)


def _show(arguments: argparse.Namespace) -> int:
    if not arguments.config:
        raise UsageError("--check and --dump are of a file", "-c FILE")
    from gigastream.daemon.config_text import check_text, dump_text

    print(dump_text(_config_of(arguments)) if arguments.dump else check_text(arguments.config))
    return 0


def _config_of(arguments: argparse.Namespace) -> DaemonConfig:
    """What the file says, and then the command line."""
    config = DaemonConfig()
    if arguments.config:
        from gigastream.daemon.config import load_daemon_config

        config = load_daemon_config(arguments.config)
    given = {
        "socket": _path(arguments.socket),
        "socket_group": arguments.group,
        "cache": _path(arguments.cache),
        "state": _path(arguments.state),
        "metrics": arguments.metrics,
        "user": arguments.user,
        "tables": arguments.tables or None,
        "is_strict": arguments.strict or None,
        "reopens_links": arguments.reopen_links or None,
    }
    config = replace(config, **{name: v for name, v in given.items() if v is not None})
    settings = _live_settings(arguments, config.user)
    links = tuple(LinkConfig(name, device, settings) for name, device in arguments.interface)
    files = tuple(FileConfig(Path(path).stem, str(_path(path))) for path in arguments.read)
    config = replace(
        config,
        links=(*config.links, *links),
        files=(*config.files, *files),
        streams=(*config.streams, *_streams_of(arguments)),
        folders=(*config.folders, *(Path(name).absolute() for name in arguments.folder)),
        query_sets=(*config.query_sets, *_sets_of(arguments)),
    )
    _refuse_twice(config)
    return config


def _streams_of(arguments: argparse.Namespace) -> tuple[StreamConfig, ...]:
    try:
        return tuple(
            stream_config(given.stream, given.path, given.format, os.path.abspath)
            for given in arguments.stream
        )
    except SourceError as error:
        raise UsageError(f"--stream: {error}", error.hint) from None


def _refuse_twice(config: DaemonConfig) -> None:
    if device := _repeated(link.device for link in config.links):
        what = f"{device} is named twice: each packet would count twice"
        raise UsageError(what, "once; --fanout 2 reads it with two rings")
    if name := _repeated(spec.name for spec in config.query_sets):
        what = f"there are two query sets called {name}, as their files are"
        raise UsageError(what, "-c FILE, where each [[query]] can have a name")


def _repeated(names: Iterable[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _live_settings(arguments: argparse.Namespace, user: str) -> LiveSettings:
    chosen: dict[str, Any] = {"user": user}
    for option in LIVE_OPTIONS:
        text = getattr(arguments, option.field)
        if text is not None:
            try:
                chosen[option.field] = option.parse(text)
            except ValueError as error:
                raise UsageError(f"--{option.name}: {error}") from None
    return LiveSettings(**chosen)


def _sets_of(arguments: argparse.Namespace) -> tuple[QuerySetSpec, ...]:
    """A set of each file, and of each text."""
    shipped = shipped_queries()
    files = [
        *(read_query_file(str(shipped.get(word, word))) for word in arguments.words),
        *inline_queries(tuple(arguments.expression)),
    ]
    return tuple(
        QuerySetSpec(
            name=Path(file.name).stem,
            text=file.text,
            file=file.name,
            parameters=dict(arguments.param),
            outputs=tuple(
                _output(text, Path(file.name).stem, len(files)) for text in arguments.output
            ),
        )
        for file in files
    )


def _output(text: str, name: str, count: int) -> str:
    """An output of a set, with an absolute path; of several sets each has its own in a folder."""
    output_format, colon, path = text.partition(":")
    if not colon or not path:
        raise UsageError(f"{text} names no path", f"-o {output_format}:PATH; rows: gigastream ctl")
    if is_sink(text):
        return _table(output_format, path, name, count)
    whole = Path(path).absolute()
    if count > 1:
        whole = whole / (name if output_format == "spool" else f"{name}.{output_format}")
    return f"{output_format}:{whole}"


def _table(sink: str, place: str, name: str, count: int) -> str:
    """A table of a set: a folder of tables is for all sets, a database in a file for one."""
    if SINKS[sink].has_server or "://" in place:
        return f"{sink}:{place}"
    whole, mark, table = str(Path(place).absolute()).partition(TABLE_MARK)
    if count > 1 and sink == "duckdb":
        whole = f"{whole}/{name}.{sink}"
    return f"{sink}:{whole}{mark}{table}"


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text).absolute()
