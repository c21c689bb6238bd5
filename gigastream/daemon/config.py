# SPDX-License-Identifier: Apache-2.0
"""The daemon's configuration file (TOML): configs/gigastream.toml is one with comments.

What is wrong in it is said with its line. Paths are relative to the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args

import msgspec

from gigastream.config import ConfigError
from gigastream.daemon.config_lines import KeyLines, KeyPath, within
from gigastream.daemon.config_streams import stream_config
from gigastream.daemon.config_tables import (
    ControlTable,
    FileTable,
    LinkTable,
    MetricsTable,
    OverloadTable,
    QueryTable,
    StreamTable,
    TopTable,
    Word,
    kinds_text,
    positive_bytes,
    word_text,
)
from gigastream.daemon.config_toml import read_toml, refuse_all
from gigastream.daemon.daemon_config import (
    DaemonConfig,
    FileConfig,
    LinkConfig,
    LogFormat,
    StreamConfig,
    parse_address,
)
from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import (
    FirstWindow,
    OverloadPolicy,
    OverloadSettings,
    QuerySetSpec,
    SpoolSpec,
)
from gigastream.daemon.places import (
    CONTROL,
    SET_NAME,
    SET_NAME_HINT,
    SPOOL,
    WORD_MOST,
    is_spool,
    misplaced,
    no_disk,
)
from gigastream.daemon.tables_of_sets import tables_of
from gigastream.gsql.diagnostics import did_you_mean
from gigastream.late_dataclass import dataclass, replace
from gigastream.liveness import Liveness
from gigastream.options import LIVENESS_OPTIONS, OPTIONS, SPOOL_OPTIONS, Option
from gigastream.outputs import FORMATS
from gigastream.paths import CONTROL_SOCKET
from gigastream.query_texts import QueryFileError, read_query_file
from gigastream.settings import GREATEST_PRIORITY, Settings, SettingsError, parse_period
from gigastream.shipped_queries import shipped_queries
from gigastream.sinks import SINKS, is_sink
from gigastream.sources.files import SourceError
from gigastream.sources.live import LIVE_OPTIONS, LiveSettings

LINK_OPTIONS = tuple(option for option in LIVE_OPTIONS if option.name != "user")
"""Of a [[link]]: the user is one for all of them."""
_SECOND_NS = 10**9
_PERCENT = 100
_SOCKET_PATH_BYTES = 107
"""As the kernel has it, in struct sockaddr_un."""
_MOST_SHIFT = 30
_MSGSPEC_PLACE = re.compile(r"(.*?)(?: - at `\$\.?([^`.\[]*)[^`]*`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `([^`]+)`")
_NO_DEVICE = re.compile(r"[\s/\x00-\x1f\x7f-\x9f]")
_Table = TypeVar("_Table", bound=msgspec.Struct)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class ReadConfig:
    """What a file says where it is right, and all that is wrong in it."""

    config: DaemonConfig
    wrong: tuple[ConfigError, ...]
    place_of: Callable[[KeyPath], str]
    """FILE:LINE of a key."""
    text_places: Mapping[str, str]
    """By set: FILE:LINE of a text that is in the file itself."""
    param_places: Mapping[str, str]


def load_daemon_config(path: str | os.PathLike[str]) -> DaemonConfig:
    """Read a configuration file; ConfigError says where it is wrong, why, and what is meant."""
    read = read_daemon_config(path)
    refuse_all(read.wrong)
    return read.config


def read_daemon_config(path: str | os.PathLike[str]) -> ReadConfig:
    """Read a configuration file as far as it is right. ConfigError where it is none at all."""
    name = os.fspath(path)
    text, found = read_toml(name)
    return _DaemonConfigReader(name, text).read(found)


class _DaemonConfigReader:
    """Takes a parsed file apart, table by table; a table that is wrong is left out, and told."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._lines = KeyLines(text)
        self._folder = Path(name).resolve().parent
        self._wrong: list[tuple[int, ConfigError]] = []
        self._text_places: dict[str, str] = {}
        self._param_places: dict[str, str] = {}

    def read(self, found: dict[str, Any]) -> ReadConfig:
        config = self._noted(lambda: self._config(found)) or DaemonConfig()
        if error := misplaced(config):
            self._note((error.key,), str(error), error.hint)
        wrong = (error for _, error in sorted(self._wrong, key=lambda each: each[0]))
        told = tuple({str(error): error for error in wrong}.values())
        return ReadConfig(config, told, self._place_of, self._text_places, self._param_places)

    def _config(self, found: dict[str, Any]) -> DaemonConfig:
        top, chosen = self._table((), found, TopTable, OPTIONS)
        if not (top.link or top.file or top.stream):
            self._note((), "there is no [[link]], no [[file]] and no [[stream]]: nothing to read")
        config = self._noted(lambda: self._overall(top)) or DaemonConfig()
        settings = self._noted(lambda: self._settings(chosen, top))
        return replace(
            config,
            links=self._links(top),
            files=self._each("file", top.file, self._file),
            streams=self._each("stream", top.stream, self._stream),
            settings=settings or config.settings,
            query_sets=self._query_sets(top),
        )

    def _overall(self, top: TopTable) -> DaemonConfig:
        control, _ = self._table(("control",), top.control, ControlTable)
        metrics, _ = self._table(("metrics",), top.metrics, MetricsTable)
        watchdog_ns = self._noted(lambda: self._parsed(("watchdog",), parse_period, top.watchdog))
        log = self._noted(lambda: self._one_of(("log",), top.log, get_args(LogFormat)))
        return DaemonConfig(
            socket=self._noted(lambda: self._socket(control.socket)) or CONTROL_SOCKET,
            user=top.user,
            socket_group=control.group,
            cache=self._beside(top.cache) if top.cache else None,
            folders=tuple(map(self._beside, top.folders)),
            state=self._beside(top.state) if top.state else None,
            tables=top.tables,
            definitions=tuple(str(self._beside(each)) for each in top.definitions),
            library=str(self._beside(top.library)) if top.library else None,
            overload=self._noted(lambda: self._overload(top)) or OverloadSettings(),
            metrics=self._noted(lambda: self._address(metrics.address)),
            watchdog_s=(watchdog_ns or _SECOND_NS) / _SECOND_NS,
            log_format=log or "lines",
            is_strict=top.strict,
            reopens_links=top.reopen_links,
        )

    # ---- what is read ----

    def _links(self, top: TopTable) -> tuple[LinkConfig, ...]:
        links: dict[str, LinkConfig] = {}
        for at, found in enumerate(top.link):
            link = self._noted(lambda: self._link(("link", at), found, top.user))  # noqa: B023
            if link is None:
                continue
            if link.device in links:
                what = f"{link.device} has a [[link]] already: each packet would count twice"
                self._note(("link", at, "device"), what, "fanout = 2 reads one with two rings")
            links[link.device] = link
        return tuple(links.values())

    def _link(self, path: KeyPath, found: dict[str, Any], user: str) -> LinkConfig:
        table, chosen = self._table(path, found, LinkTable, LINK_OPTIONS)
        if _NO_DEVICE.search(table.device) or not table.device:
            what = f"{table.device!r} is no name of a device"
            self._refuse((*path, "device"), what, "gigastream interfaces lists them")
        settings = LiveSettings(**chosen, user=user)
        try:
            settings.check()
        except SourceError as error:
            self._refuse(path, str(error), getattr(error, "hint", None))
        name = self._name_of(path, table.name or table.device)
        return LinkConfig(name, table.device, settings, self._words(path, table.properties))

    def _each(
        self,
        kind: str,
        tables: Sequence[dict[str, Any]],
        make: Callable[[KeyPath, dict[str, Any]], _Value],
    ) -> tuple[_Value, ...]:
        made = [
            self._noted(lambda: make((kind, at), found))  # noqa: B023
            for at, found in enumerate(tables)
        ]
        return tuple(each for each in made if each is not None)

    def _stream(self, path: KeyPath, found: dict[str, Any]) -> StreamConfig:
        table, _ = self._table(path, found, StreamTable)
        name = self._name_of(path, table.name)
        try:
            return stream_config(name, table.place, table.format, self._beside)
        except SourceError as error:
            self._refuse(path, str(error), error.hint)

    def _name_of(self, path: KeyPath, name: str) -> str:
        if CONTROL.search(name):
            self._refuse((*path, "name"), f"name: {name!r} has a control character")
        return name

    def _file(self, path: KeyPath, found: dict[str, Any]) -> FileConfig:
        table, _ = self._table(path, found, FileTable)
        if not table.path:
            self._refuse((*path, "path"), "the path is empty")
        name = self._name_of(path, table.name)
        place = str(self._beside(table.path))
        return FileConfig(name, place, self._words(path, table.properties))

    def _settings(self, chosen: dict[str, Any], top: TopTable) -> Settings:
        try:
            settings = Settings(**chosen)
        except SettingsError as error:
            self._refuse((), str(error))
        return replace(settings, livenesses=self._livenesses(settings, top))

    def _livenesses(self, settings: Settings, top: TopTable) -> tuple[tuple[str, Liveness], ...]:
        """Those of links and files that have their own."""
        own = []
        for kind, tables in (("link", top.link), ("file", top.file)):
            for at, table in enumerate(tables):
                chosen = {
                    option.field: self._parsed((kind, at, name), option.parse, table[name])
                    for name, option in LIVENESS_OPTIONS.items()
                    if name in table
                }
                if chosen:
                    interface = table.get("name") or table.get("device", "")
                    own.append((interface, replace(settings, **chosen).liveness))
        return tuple(own)

    # ---- query sets ----

    def _query_sets(self, top: TopTable) -> tuple[QuerySetSpec, ...]:
        specs, taken = dict[str, QuerySetSpec](), dict[str, str]()
        for at, found in enumerate(top.query):
            path = ("query", at)
            spec = self._noted(lambda: self._query(path, found))  # noqa: B023
            if spec is not None and spec.name in specs:
                self._note(path, f"there are two sets called {spec.name}", 'name = "another"')
            elif spec is not None:
                specs[spec.name] = spec
                self._take(path, spec, taken)
        return tuple(specs.values())

    def _take(self, path: KeyPath, spec: QuerySetSpec, taken: dict[str, str]) -> None:
        """Note the places of outputs, each of which one set has, once; a server has many tables."""
        for kind, _, place in (output.partition(":") for output in spec.outputs):
            if kind not in SINKS and place in taken:
                self._note((*path, "output"), f"the set {taken[place]} has {place}", "a path each")
            taken[place] = spec.name

    def _query(self, path: KeyPath, found: dict[str, Any]) -> QuerySetSpec:
        table, chosen = self._table(path, found, QueryTable, SPOOL_OPTIONS)
        spec = self._query_set(path, table, SpoolSpec(**chosen))
        try:
            tables_of(spec)
        except DaemonError as error:
            self._refuse((*path, "output"), str(error).removeprefix(f"{spec.name}: "), error.hint)
        is_whole = len(spec.outputs) == len(table.output)
        if chosen and is_whole and not any(map(is_spool, spec.outputs)):
            name = next(option.name for option in SPOOL_OPTIONS if option.name in found)
            message = f"{name} is for a spool, and no output is one"
            self._refuse((*path, name), message, 'output = ["spool:PATH"]')
        if table.text is not None:
            self._text_places[spec.name] = self._place_of((*path, "text"))
        self._param_places[spec.name] = self._place_of((*path, "param"))
        return spec

    def _query_set(self, path: KeyPath, table: QueryTable, spool: SpoolSpec) -> QuerySetSpec:
        name, text, file = self._text_of(path, table)
        named = (
            self._noted(lambda: self._output((*path, "output"), text))  # noqa: B023
            for text in table.output
        )
        outputs = tuple(output for output in named if output is not None)
        if (
            len(outputs) == len(table.output)
            and table.low_level_only
            and not (outputs and all(is_spool(text) or is_sink(text) for text in outputs))
        ):
            message = "low-level-only is for spools, and not every output is one"
            self._refuse((*path, "low-level-only"), message, 'output = ["spool:PATH"]')
        if table.keep is not None and table.keep < 1:
            self._refuse((*path, "keep"), "keep is at least 1")
        if abs(table.priority) > GREATEST_PRIORITY:
            what = f"priority is from -{GREATEST_PRIORITY:,} to {GREATEST_PRIORITY:,}"
            self._refuse((*path, "priority"), what)
        if SET_NAME.fullmatch(name) is None:
            what = f"{name[:WORD_MOST]!r} is no name of a set"
            self._refuse((*path, "name"), what, f"name = …: {SET_NAME_HINT}")
        return QuerySetSpec(
            name=name,
            text=text,
            file=file,
            parameters=self._words(path, table.param),
            outputs=outputs,
            first_window=self._one_of(
                (*path, "first-window"), table.first_window, get_args(FirstWindow)
            ),
            priority=table.priority,
            low_level_only=table.low_level_only,
            rotate_bytes=self._maybe((*path, "rotate-bytes"), positive_bytes, table.rotate_bytes),
            rotate_ns=self._maybe((*path, "rotate-every"), parse_period, table.rotate_every),
            keep=table.keep,
            cut_column=table.cut_column,
            spool=spool,
        )

    def _text_of(self, path: KeyPath, table: QueryTable) -> tuple[str, str, str]:
        """Return a set's name, its text, and the file that its diagnostics name."""
        if (table.file is None) == (table.text is None):
            message = "a query has either a file or a text"
            self._refuse(path, message, 'file = "talkers.gsql"')
        if table.text is not None:
            if not table.name:
                self._refuse(path, "a query with a text has a name, too", 'name = "…"')
            return table.name, table.text, f"{table.name}.gsql"
        assert table.file is not None
        shipped = shipped_queries()
        beside = self._beside(table.file)
        source = shipped[table.file] if table.file in shipped and not beside.exists() else beside
        try:
            read = read_query_file(str(source))
        except QueryFileError as error:
            hint = error.hint or did_you_mean(table.file, shipped)
            self._refuse((*path, "file"), str(error), hint or "gigastream queries: what ships")
        return table.name or Path(table.file).stem, read.text, read.name

    def _output(self, path: KeyPath, text: str) -> str:
        kind, _, place = text.partition(":")
        kinds = [*FORMATS, SPOOL, *SINKS]
        if kind not in kinds:
            hint = did_you_mean(kind, kinds) or "one of " + ", ".join(kinds)
            self._refuse(path, f"there is no output format '{kind}'", hint)
        if place in ("", "-"):
            self._refuse(path, f"{text} names no path, and a daemon has no stdout", f"{kind}:PATH")
        if kind in SINKS and (SINKS[kind].has_server or "://" in place):
            return text
        whole = self._beside(place)
        if why := no_disk(whole):
            self._refuse(path, why, f"{kind}:PATH on a disk")
        return f"{kind}:{whole}"

    # ---- the rest ----

    def _overload(self, top: TopTable) -> OverloadSettings:
        table, _ = self._table(("overload",), top.overload, OverloadTable)
        if not 0 <= table.low_percent < table.high_percent <= _PERCENT:
            message = "low-percent is less than high-percent, both from 0 to 100"
            self._note(("overload", "high-percent"), message)
        if not 1 <= table.most <= _MOST_SHIFT:
            self._note(("overload", "most"), f"most is from 1 to {_MOST_SHIFT}: 1 in 2^most")
        return OverloadSettings(
            policy=self._one_of(("overload", "policy"), table.policy, get_args(OverloadPolicy)),
            high_percent=table.high_percent,
            low_percent=table.low_percent,
            calm_ns=self._parsed(("overload", "calm"), parse_period, table.calm),
            most=table.most,
        )

    def _address(self, text: str | None) -> str | None:
        if text is not None:
            try:
                parse_address(text)
            except ValueError as error:
                self._refuse(("metrics", "address"), str(error), "127.0.0.1:9464")
        return text

    def _socket(self, name: str | None) -> Path:
        path = CONTROL_SOCKET if name is None else self._beside(name)
        if name == "" or len(os.fsencode(path)) > _SOCKET_PATH_BYTES:
            message = f"the path of a socket has from 1 to {_SOCKET_PATH_BYTES} bytes"
            self._refuse(("control", "socket"), message, str(CONTROL_SOCKET))
        return path

    def _beside(self, name: str) -> Path:
        if "\0" in name:
            self._refuse((), f"a path has a byte that none can have: {name!r}")
        if CONTROL.search(name):
            self._refuse((), f"a path has a control character: {name!r}")
        return Path(os.path.abspath(self._folder / name))

    def _table(
        self,
        path: KeyPath,
        found: dict[str, Any],
        kind: type[_Table],
        options: Sequence[Option] = (),
    ) -> tuple[_Table, dict[str, Any]]:
        """Return a table as its type has it, and the options in it by their fields."""
        by_name = {option.name: option for option in options}
        own = kind.__struct_encode_fields__
        for key in found:
            if key not in own and key not in by_name:
                hint = did_you_mean(key, [*own, *by_name])
                self._note((*path, key), f"unknown key '{key}'{within(path)}", hint)
        chosen: dict[str, Any] = {}
        for name, option in by_name.items():
            if name in found and name not in own:
                value = self._noted(lambda: self._parsed((*path, name), option.parse, found[name]))  # noqa: B023
                chosen |= {} if value is None else {option.field: value}
        rest = {key: value for key, value in found.items() if key in own}
        return self._converted(path, rest, kind), chosen

    def _converted(self, path: KeyPath, found: dict[str, Any], kind: type[_Table]) -> _Table:
        """Return a table without the keys that are wrong, which are told. ConfigError."""
        while True:
            try:
                return msgspec.convert(found, kind)
            except msgspec.ValidationError as error:
                key, told = self._wrong_value(path, str(error))
                if key not in found:
                    raise told from None
                self._wrong.append((self._lines.line_of((*path, key)), told))
                del found[key]

    def _wrong_value(self, path: KeyPath, message: str) -> tuple[str, ConfigError]:
        if missing := _MISSING.match(message):
            what = f"{missing[1]} is missing{within(path)}"
            return "", self._error(path, what, f"{missing[1]} = …")
        found = _MSGSPEC_PLACE.fullmatch(message)
        assert found is not None
        what = re.sub(r"`([^`]*)`", lambda kinds: kinds_text(kinds[1]), found[1])
        key = found[2] or ""
        where = (*path, key) if key else path
        return key, self._error(where, f"{key}: {what[:1].lower()}{what[1:]}")

    def _parsed(self, path: KeyPath, parse: Callable[[str], _Value], value: object) -> _Value:
        """Return what the text of a value says, as the command line would read it."""
        if not isinstance(value, Word):
            self._refuse(path, f"{path[-1]}: expected a text, a number, or true or false")
        try:
            return parse(word_text(value))
        except ValueError as error:
            self._refuse(path, f"{path[-1]}: {error}")

    def _maybe(
        self, path: KeyPath, parse: Callable[[str], _Value], value: Word | None
    ) -> _Value | None:
        return None if value is None else self._parsed(path, parse, value)

    def _one_of(self, path: KeyPath, text: str, words: Sequence[Any]) -> Any:
        if text not in words:
            hint = did_you_mean(text, words) or "one of " + ", ".join(words)
            self._refuse(path, f"{path[-1]}: '{text}' is none of {', '.join(words)}", hint)
        return text

    def _words(self, path: KeyPath, values: dict[str, Word]) -> dict[str, str]:
        try:
            return {key: word_text(value) for key, value in values.items()}
        except ValueError:
            self._refuse(path, "a number has too many digits")

    # ---- what is wrong ----

    def _refuse(self, path: KeyPath, message: str, hint: str | None = None) -> NoReturn:
        raise self._error(path, message, hint)

    def _error(self, path: KeyPath, message: str, hint: str | None = None) -> ConfigError:
        return ConfigError(f"{self._place_of(path)}: {message}", hint)

    def _note(self, path: KeyPath, message: str, hint: str | None = None) -> None:
        self._wrong.append((self._lines.line_of(path), self._error(path, message, hint)))

    def _noted(self, make: Callable[[], _Value]) -> _Value | None:
        """Return what is made; None where that is wrong, which is told with the rest."""
        try:
            return make()
        except ConfigError as error:
            line = int(str(error).removeprefix(f"{self._name}:").partition(":")[0])
            self._wrong.append((line, error))
            return None

    def _place_of(self, path: KeyPath) -> str:
        return f"{self._name}:{self._lines.line_of(path)}"
