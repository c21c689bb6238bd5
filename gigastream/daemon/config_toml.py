# SPDX-License-Identifier: Apache-2.0
"""A configuration file as TOML has it: what no parser takes is an error of the file, too."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

from gigastream.config import ConfigError
from gigastream.gsql.source import UNDECODED, read_text

_TOML_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", re.DOTALL)
_MANY_BRACKETS = re.compile(r"[\[{][\s\[{]{98}[\[{]")
_NO_VALUE = re.compile(r"Invalid value|Expected newline or end of document after a statement")
_MANY_DIGITS = re.compile(r"[0-9_]{4300}")


def read_toml(name: str) -> tuple[str, dict[str, Any]]:
    """Read a file: its text, and what that says. ConfigError."""
    try:
        text = read_text(name, is_regular=True)
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror}", "-c FILE.toml") from None
    if UNDECODED.search(text):
        raise ConfigError(f"{name}: this is no UTF-8")
    return text, _parsed(name, text)


def _parsed(name: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _no_toml(name, text, str(error)) from None
    except RecursionError:
        where = f"{name}:{_first_line(text, _MANY_BRACKETS)}"
        raise ConfigError(f"{where}: this is no TOML: too many brackets in each other") from None
    except ValueError:
        where = f"{name}:{_first_line(text, _MANY_DIGITS)}"
        raise ConfigError(f"{where}: this is no TOML: a number has too many digits") from None


def _first_line(text: str, pattern: re.Pattern[str]) -> int:
    found = pattern.search(text)
    return 1 + text.count("\n", 0, found.start()) if found else 1


def _no_toml(name: str, text: str, message: str) -> ConfigError:
    found = _TOML_PLACE.fullmatch(message)
    what = found[1] if found else message
    line = found[2] if found and found[2] else len(text.splitlines())
    return ConfigError(f"{name}:{line}: this is no TOML: {what}", _toml_hint(what))


def _toml_hint(what: str) -> str | None:
    if what == "Cannot overwrite a value":
        return "a key stands once in its table"
    return 'texts, times and sizes stand in quotes: "30s"' if _NO_VALUE.match(what) else None


def refuse_all(wrong: Sequence[ConfigError]) -> None:
    """Raise one error that tells all of them."""
    if not wrong:
        return
    *others, last = wrong
    told = [f"{each}\nhint: {each.hint}" if each.hint else str(each) for each in others]
    raise ConfigError("\n".join([*told, str(last)]), last.hint)
