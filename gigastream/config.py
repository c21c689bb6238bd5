# SPDX-License-Identifier: Apache-2.0
"""Configuration files (TOML): the options of `gigastream run` under their own names.

    disorder = "64MiB"          # any line of OPTIONS, SPOOL_OPTIONS (options.py), LIVE_OPTIONS
    output = "csv:rows.csv"
    library = "queries"         # paths are relative to the file
    definitions = ["my.gsql"]
    [param]
    port = 443
    [interface.eth0]            # properties for interface sets
    role = "backup"

What the command line says goes before what the file says.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gigastream.late_dataclass import dataclass, field
from gigastream.options import OPTIONS, SPOOL_OPTIONS, Option
from gigastream.sources.live import LIVE_OPTIONS

_OTHER_KEYS = ("output", "library", "definitions", "param", "interface")


class ConfigError(Exception):
    """A configuration file that is missing, no TOML, or says what nobody asked."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Config:
    """What a configuration file says."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """By field of Settings."""
    spool: Mapping[str, Any] = field(default_factory=dict)
    """By field of SpoolSettings."""
    live: Mapping[str, Any] = field(default_factory=dict)
    """By field of LiveSettings."""
    output: str | None = None
    library: str | None = None
    definitions: tuple[str, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    interfaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Properties by interface."""


def load_config(path: str) -> Config:
    """Read a configuration file; ConfigError says which key is wrong and why."""
    return _ConfigReader(path, _parsed(path)).config()


def _parsed(path: str) -> dict[str, Any]:
    import tomllib

    from gigastream.gsql.source import UNDECODED, read_text

    try:
        text = read_text(path)
        if UNDECODED.search(text):
            raise ConfigError(f"{path}: this is no UTF-8")
        return tomllib.loads(text)
    except OSError as error:
        meant = ": -c is a file of settings; --count ends after so many packets"
        raise ConfigError(f"{path}: {error.strerror}{meant if path.isdigit() else ''}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}") from None


class _ConfigReader:
    """Takes a parsed file apart, key by key."""

    def __init__(self, path: str, found: dict[str, Any]) -> None:
        self._path = path
        self._found = found

    def config(self) -> Config:
        self._refuse_unknown()
        return Config(
            settings=self._chosen(OPTIONS),
            spool=self._chosen(SPOOL_OPTIONS),
            live=self._chosen(LIVE_OPTIONS),
            output=self._text("output"),
            library=self._relative("library"),
            definitions=tuple(self._beside(name) for name in self._texts("definitions")),
            parameters=tuple((name, _word(v)) for name, v in self._table("param").items()),
            interfaces=self._interfaces(),
        )

    def _refuse_unknown(self) -> None:
        known = [option.name for option in (*OPTIONS, *SPOOL_OPTIONS, *LIVE_OPTIONS)] + list(
            _OTHER_KEYS
        )
        for key in self._found:
            if key not in known:
                from gigastream.gsql.diagnostics import did_you_mean

                raise ConfigError(f"{self._path}: unknown key '{key}'", did_you_mean(key, known))

    def _chosen(self, options: tuple[Option, ...]) -> dict[str, Any]:
        settings = {}
        for option in options:
            if option.name in self._found:
                try:
                    settings[option.field] = option.parse(_word(self._found[option.name]))
                except ValueError as error:
                    raise ConfigError(f"{self._path}: {option.name}: {error}") from None
        return settings

    def _text(self, key: str) -> str | None:
        value = self._found.get(key)
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"{self._path}: {key} is a text")
        return value

    def _texts(self, key: str) -> list[str]:
        value = self._found.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{self._path}: {key} is a list of texts")
        return value

    def _table(self, key: str) -> dict[str, Any]:
        value = self._found.get(key, {})
        if not isinstance(value, dict):
            raise ConfigError(f"{self._path}: {key} is a table: [{key}]")
        return value

    def _interfaces(self) -> dict[str, dict[str, str]]:
        interfaces = {}
        for name, properties in self._table("interface").items():
            if not isinstance(properties, dict):
                raise ConfigError(f"{self._path}: interface.{name} is a table: [interface.{name}]")
            interfaces[name] = {key: _word(value) for key, value in properties.items()}
        return interfaces

    def _relative(self, key: str) -> str | None:
        text = self._text(key)
        return None if text is None else self._beside(text)

    def _beside(self, name: str) -> str:
        return str(Path(self._path).parent / name)


def _word(value: Any) -> str:
    """Return a value as the command line would have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
