# SPDX-License-Identifier: Apache-2.0
"""A configuration checked, and written out again with all that it means."""

from __future__ import annotations

import grp
import json
import pwd
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from gigastream.config import ConfigError
from gigastream.daemon.config import LINK_OPTIONS, ReadConfig, read_daemon_config
from gigastream.daemon.config_toml import refuse_all
from gigastream.daemon.daemon_config import DaemonConfig, LinkConfig
from gigastream.daemon.messages import QuerySetSpec
from gigastream.daemon.python_files import refuse_at_work
from gigastream.daemon.streams import declared_layouts
from gigastream.gsql.diagnostics import GsqlError
from gigastream.late_dataclass import fields
from gigastream.link_types import LinkTypes, link_types_text, parse_link_types
from gigastream.liveness import Liveness
from gigastream.options import LIVENESS_OPTIONS, OPTIONS, SPOOL_OPTIONS, Option
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.settings import Settings, parse_count
from gigastream.sources.files import SourceError
from gigastream.words import counted

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NOT_LITERAL = re.compile("[\x00-\x09\x0b-\x1f\x7f]|'''|'$")
_SECOND_NS = 10**9
_TIMES = {"h": 3600 * 10**9, "min": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_SIZES = {"GiB": 2**30, "MiB": 2**20, "kiB": 2**10, "": 1}


def check_text(path: str) -> str:
    """Check a file and every query in it; say what there is.

    ConfigError with all that is wrong: nothing is opened, compiled or written.
    """
    read = read_daemon_config(path)
    config, wrong = read.config, [*read.wrong, *_nobody(read), *_undeclared(read)]
    queries = 0
    for spec in config.query_sets:
        try:
            queries += check_query_set(config, spec)
        except GsqlError as error:
            wrong.append(_wrong_query(read, spec.name, error))
    refuse_all(wrong)
    sources = [
        counted(len(found), noun)
        for found, noun in (
            (config.links, "link"),
            (config.files, "file"),
            (config.streams, "STREAM"),
        )
        if found
    ]
    sets = counted(len(config.query_sets), "query set")
    names = f"{sets} of {queries} {'query' if queries == 1 else 'queries'}" if queries else sets
    return f"{path}: {', '.join([*sources, names])}: nothing is wrong with it"


def _nobody(read: ReadConfig) -> Iterator[ConfigError]:
    """Tell of users and groups that are not there."""
    config = read.config
    asked = (
        (("user",), "user", config.user, pwd.getpwnam),
        (("control", "group"), "group", config.socket_group, grp.getgrnam),
    )
    for key, noun, name, look_up in asked:
        try:
            look_up(name or "root")
        except (KeyError, ValueError):
            place = read.place_of(key)
            yield ConfigError(f"{place}: there is no {noun} '{name}'", "one that getent finds")


def _undeclared(read: ReadConfig) -> Iterator[ConfigError]:
    """Tell of STREAMs that no definition file has; of files that cannot be read the queries do."""
    try:
        declared_layouts(read.config)
    except SourceError as error:
        yield ConfigError(f"{read.place_of(('stream', 0))}: {error}", error.hint)
    except (GsqlError, OSError) as error:
        yield ConfigError(str(error))


def _wrong_query(read: ReadConfig, name: str, error: GsqlError) -> ConfigError:
    """Tell of a text or its parameters, and where they begin in the file if they are there."""
    from gigastream.gsql.binder.parameters import GIVEN

    place, what = read.text_places.get(name), "this text, that"
    if str(error).startswith(f"{GIVEN}:"):
        place, what = read.param_places.get(name), "`param`"
    where = f"{place}: in {what} of the set {name}:\n" if place else ""
    return ConfigError(f"{where}{error}")


def check_query_set(config: DaemonConfig, spec: QuerySetSpec) -> int:
    """Check a set's text against the definitions; return how many queries it answers. GsqlError."""
    from gigastream.gsql.source import SourceFile
    from gigastream.plan import plan_queries

    texts = QueryTexts(
        files=(SourceFile(spec.file, spec.text),),
        parameters=spec.parameters,
        definitions=config.definitions,
        library=config.library,
        interfaces=config.properties,
    )
    plan = plan_queries(check_texts(texts).queries, is_finite=False)
    refuse_at_work(plan, spec)
    return len(plan.outputs)


def dump_text(config: DaemonConfig) -> str:
    """Return a file that says the same, with every default and every path in it."""
    return "\n".join(_lines(config)) + "\n"


def _lines(config: DaemonConfig) -> Iterator[str]:
    yield from _overall(config)
    yield from _options(OPTIONS, config.settings)
    yield from ("", "[control]", _key("socket", str(config.socket)))
    yield from _given({"group": config.socket_group})
    overload = config.overload
    yield from ("", "[overload]", _key("policy", overload.policy))
    yield _key("high-percent", overload.high_percent)
    yield _key("low-percent", overload.low_percent)
    yield _key("calm", _time(overload.calm_ns))
    yield _key("most", overload.most)
    if config.metrics is not None:
        yield from ("", "[metrics]", _key("address", config.metrics))
    for link in config.links:
        yield from _link(config.settings, link)
    for file in config.files:
        yield from ("", "[[file]]", _key("name", file.interface), _key("path", file.path))
        yield from _liveness(config.settings, file.interface)
        yield from _table("properties", file.properties)
    for stream in config.streams:
        yield from ("", "[[stream]]", _key("name", stream.name), _key("place", stream.place))
        yield from _given({"format": stream.format})
    for spec in config.query_sets:
        yield from _query_set(spec)


def _overall(config: DaemonConfig) -> Iterator[str]:
    yield _key("user", config.user)
    paths = {"cache": config.cache, "state": config.state, "library": config.library}
    yield from _given({key: None if path is None else str(path) for key, path in paths.items()})
    yield _key("folders", [str(folder) for folder in config.folders])
    yield _key("tables", config.tables)
    yield _key("definitions", list(config.definitions))
    yield _key("watchdog", _time(round(config.watchdog_s * _SECOND_NS)))
    yield _key("log", config.log_format)
    yield _key("strict", config.is_strict)
    yield _key("reopen-links", config.reopens_links)


def _link(settings: Settings, link: LinkConfig) -> Iterator[str]:
    yield from ("", "[[link]]", _key("name", link.interface), _key("device", link.device))
    yield from _options(LINK_OPTIONS, link.settings)
    yield from _liveness(settings, link.interface)
    yield from _table("properties", link.properties)


def _liveness(settings: Settings, interface: str) -> Iterator[str]:
    own = dict(settings.livenesses).get(interface)
    if own is not None:
        yield from _options(tuple(LIVENESS_OPTIONS.values()), _named(own))


def _named(own: Liveness) -> dict[str, object]:
    values = [getattr(own, field.name) for field in fields(own)]
    return dict(zip((option.field for option in LIVENESS_OPTIONS.values()), values, strict=True))


def _query_set(spec: QuerySetSpec) -> Iterator[str]:
    yield from ("", "[[query]]", f"# of {json.dumps(spec.file)}", _key("name", spec.name))
    yield f"text = {_long_text(spec.text)}"
    yield _key("output", list(spec.outputs))
    yield _key("first-window", spec.first_window)
    yield _key("priority", spec.priority)
    yield _key("low-level-only", spec.low_level_only)
    if spec.rotate_bytes is not None:
        yield _key("rotate-bytes", _size(spec.rotate_bytes))
    if spec.rotate_ns is not None:
        yield _key("rotate-every", _time(spec.rotate_ns))
    if spec.keep is not None:
        yield _key("keep", spec.keep)
    yield _key("cut-column", spec.cut_column)
    yield from _options(SPOOL_OPTIONS, spec.spool)
    yield from _table("param", spec.parameters)


def _table(name: str, values: Mapping[str, str]) -> Iterator[str]:
    if values:
        inner = ", ".join(_key(key, value) for key, value in values.items())
        yield f"{name} = {{ {inner} }}"


def _given(values: Mapping[str, str | None]) -> Iterator[str]:
    yield from (_key(key, value) for key, value in values.items() if value is not None)


def _options(options: Sequence[Option], settings: object) -> Iterator[str]:
    """Yield a line for each option that has a value."""
    for option in options:
        known = isinstance(settings, Mapping)
        value = settings[option.field] if known else getattr(settings, option.field)  # type: ignore[index]
        if value is not None and value != ():
            yield _key(option.name, _as_given(option, value))


def _as_given(option: Option, value: object) -> object:
    """Return a value as a user gives it."""
    if option.field == "disorder_bytes" and value == 0:
        return "all"
    if option.parse is parse_count:
        return value
    if option.parse is parse_link_types:
        return link_types_text(cast(LinkTypes, value))
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int) and (option.field.endswith("_ns") or option.field == "sync"):
        return _time(value)
    return _size(value) if isinstance(value, int) and option.field.endswith("_bytes") else value


def _time(nanoseconds: int) -> str:
    return _in_units(nanoseconds, _TIMES)


def _size(size: int) -> str:
    return _in_units(size, _SIZES)


def _in_units(value: int, units: Mapping[str, int]) -> str:
    """Return a value in the greatest unit of which it is so many whole ones."""
    if value == 0:
        return "0"
    unit = next(unit for unit, size in units.items() if value % size == 0)
    return f"{value // units[unit]}{unit}"


def _key(key: str, value: object) -> str:
    name = key if _BARE.fullmatch(key) else _quoted(key)
    return f"{name} = {_value(value)}"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _long_text(text: str) -> str:
    return _quoted(text) if _NOT_LITERAL.search(text) else f"'''\n{text}'''"
