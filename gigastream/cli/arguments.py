# SPDX-License-Identifier: Apache-2.0
"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from gigastream.cli.errors import UsageError
from gigastream.gsql.python_code import PYTHON_SUFFIX
from gigastream.options import Option
from gigastream.paths import CONTROL_SOCKET
from gigastream.shipped_queries import OBJECT_SUFFIX, QUERY_SUFFIX, shipped_queries

SOCKET_VARIABLE = "GIGASTREAM_SOCKET"
_NEGATIVE = re.compile(r"-[0-9.]")
_LONG_OPTION = re.compile(r"--[a-z][a-z-]*")


class CommandParser(argparse.ArgumentParser):
    """argparse whose errors are values, and whose options are never guessed from a beginning."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def parse_intermixed_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Words and options in any order; a command of several actions has its action first."""
        if self._subparsers is not None:
            return self.parse_args(args, namespace)
        return super().parse_intermixed_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"{self.prog} --help")


def add_socket(parser: argparse.ArgumentParser, *, is_again: bool = False) -> None:
    """Which daemon is asked. `is_again`: what stands before an action holds, too."""
    found = os.environ.get(SOCKET_VARIABLE) or str(CONTROL_SOCKET)
    parser.add_argument(
        "--socket",
        default=argparse.SUPPRESS if is_again else found,
        metavar="PATH",
        help=f"of the daemon's control (${SOCKET_VARIABLE}, else {CONTROL_SOCKET})",
    )


def with_negative_values(words: Sequence[str]) -> list[str]:
    """Join `--slack -1s` to `--slack=-1s`: its value, which argparse takes for an option.

    That there is none would be said; so the option's own parser says what is wrong with it.
    """
    joined: list[str] = []
    for word in words:
        before = joined[-1] if joined else ""
        if _NEGATIVE.match(word) and _LONG_OPTION.fullmatch(before) and "--" not in joined:
            joined[-1] = f"{before}={word}"
        else:
            joined.append(word)
    return joined


def argument_type(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a parser whose ValueError is what the user reads."""

    def parse_argument(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse_argument


def add_query_options(parser: argparse.ArgumentParser) -> None:
    """Add what says which queries are meant: -e, --param, --definitions, --library, -c."""
    group = parser.add_argument_group("queries")
    group.add_argument(
        "-e", "--expression", action="append", default=[], metavar="GSQL", help="a query's text"
    )
    group.add_argument(
        "--param",
        action="append",
        default=[],
        type=argument_type(parse_parameter),
        metavar="[QUERY.]NAME=VALUE",
        help="a parameter's value",
    )
    add_definitions(group)
    add_python(group)
    group.add_argument("--library", metavar="DIR", help="where FROM dir/name looks for queries")
    group.add_argument("-c", "--config", metavar="FILE.toml", help="settings from a file")


def add_definitions(group: argparse._ActionsContainer) -> None:
    """Add --definitions."""
    group.add_argument(
        "--definitions",
        action="append",
        default=[],
        metavar="FILE.gsql",
        help="protocols, functions and interface sets of your own",
    )


def add_python(group: argparse._ActionsContainer) -> None:
    """Add --python: a definition file in Python is one of the definition files."""
    group.add_argument(
        "--python",
        dest="definitions",
        action="append",
        type=argument_type(parse_python_file),
        metavar="FILE.py",
        help="functions of your own in Python, marked @gigastream.udf or udaf",
    )


def add_query_files(parser: argparse.ArgumentParser) -> None:
    """Add the query files, for commands that take nothing else."""
    parser.add_argument(
        "words", nargs="*", metavar="QUERY", help="a file of queries, or the name of one that ships"
    )


class _OnePlace(argparse.Action):
    """A later value takes an earlier one's place, an alias's, unless that named a place, too."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest)
        if before is not None and ":" in before and before != values:
            raise UsageError(
                f"the rows have one place: -o {before}, or -o {values}",
                "a command for each",
            )
        setattr(namespace, self.dest, values)


def add_output(parser: argparse._ActionsContainer, help_text: str) -> None:
    """Add -o of a command whose rows have one place."""
    parser.add_argument("-o", "--output", action=_OnePlace, metavar="FORMAT[:PATH]", help=help_text)


def add_options(group: argparse._ActionsContainer, options: Sequence[Option]) -> None:
    """Add options that are declared once, for whoever reads them."""
    for option in options:
        group.add_argument(
            f"--{option.name}",
            dest=option.field,
            type=argument_type(option.parse),
            metavar=option.metavar,
            help=option.help,
        )


def add_access_options(parser: argparse._ActionsContainer) -> None:
    """Add what opens spools that other hosts serve: --token-file, --ca-file."""
    parser.add_argument(
        "--token-file",
        type=os.path.abspath,
        metavar="FILE",
        help="the token that their servers want (else $GIGASTREAM_TOKEN)",
    )
    parser.add_argument(
        "--ca-file",
        type=os.path.abspath,
        metavar="FILE",
        help="the certificates that are believed (the system's authorities)",
    )


def parse_python_file(text: str) -> str:
    """Read the name of a file in Python."""
    if not text.endswith(PYTHON_SUFFIX):
        raise ValueError(f"'{text}' is not named as Python: FILE{PYTHON_SUFFIX}")
    return text


def parse_parameter(text: str) -> tuple[str, str]:
    """Read `[query.]name=value`."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"'{text}' is not NAME=VALUE")
    return name, value


def split_words(words: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Split what stands without an option: queries first, then the words of a BPF filter.

    A filter never begins with a bare name, so that the name of a query is no word of a filter.
    """
    shipped = shipped_queries() if words else {}
    count = 0
    suffixes = (QUERY_SUFFIX, OBJECT_SUFFIX)
    while count < len(words) and (words[count].endswith(suffixes) or words[count] in shipped):
        count += 1
    return tuple(words[:count]), " ".join(words[count:])
