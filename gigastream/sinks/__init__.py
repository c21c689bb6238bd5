# SPDX-License-Identifier: Apache-2.0
"""Tables that rows go to in transactions: each row once, whatever is killed and started again.

A sink's module has one public function, `open_table(place, name, schema)`, whose result is a
SinkTable; adding a sink is its file and a line in SINKS. Whoever writes gives each transaction a
key, which the table keeps together with the rows: of a run here how far its windows are over
(windows.py), of a job on Spark its micro-batch (spark_sink/sinks.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from gigastream.late_dataclass import dataclass
from gigastream.sinks.secrets import names_secret

if TYPE_CHECKING:
    import pyarrow

COMMITS = "gigastream_commits"
"""What sinks call the table in which databases keep the keys."""
TABLE_MARK = "#"


class SinkError(Exception):
    """A table that cannot be written: the message says why, the hint what to do."""

    def __init__(self, message: str, hint: str | None = None, exit_code: int = 1) -> None:
        """`exit_code` is 2 where something wrong was asked for, 1 where a write failed."""
        super().__init__(message)
        self.hint = hint
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Key:
    """Names a transaction: a writer's numbers grow, and say what it need not write again."""

    writer: str
    """A run or a streaming query, by the same name when it comes back."""
    number: int
    """Below 2^63."""


class SinkTable(Protocol):
    """A table that takes rows in transactions. Every method raises SinkError."""

    def last(self, writer: str) -> int | None:
        """Return the greatest number that a writer has committed."""

    def write(self, rows: pyarrow.Table, key: Key | None) -> bool:
        """Add rows, in the engine's Arrow types, and their key: both or neither.

        False, and nothing is done, where the writer has committed that number or a greater one.
        Without a key the rows are added as they are.
        """

    def close(self) -> None:
        """Let go of it."""


@dataclass(frozen=True, slots=True)
class SinkKind:
    """One line of the table of sinks."""

    module: str
    form: str
    """As it is written behind -o."""
    package: str
    """What it needs to be installed, by its name in Python."""
    secrets: str = "the environment"
    """Where a password may be, instead of on the command line."""
    has_folders: bool = False
    """Whether each table is a folder of its own below the place."""
    has_server: bool = False
    """Whether the place is no path."""


SINKS = {
    "duckdb": SinkKind("gigastream.sinks.duckdb", "duckdb:PATH[#TABLE]", "duckdb"),
    "postgres": SinkKind(
        "gigastream.sinks.postgres",
        "postgres:URI[#TABLE]",
        "psycopg",
        "PGPASSWORD, ~/.pgpass, or postgres:service=NAME of ~/.pg_service.conf",
        has_server=True,
    ),
    "delta": SinkKind(
        "gigastream.sinks.delta", "delta:PATH[#TABLE]", "deltalake", has_folders=True
    ),
    "dataset": SinkKind(
        "gigastream.sinks.dataset", "dataset:PATH[#TABLE]", "pyarrow", has_folders=True
    ),
    "iceberg": SinkKind("gigastream.sinks.iceberg", "iceberg:PATH[#TABLE]", "pyiceberg"),
}


@dataclass(frozen=True, slots=True)
class SinkPlace:
    """Where tables are: `SINK:PLACE[#TABLE]`."""

    text: str
    sink: str
    place: str
    table: str | None
    """None: tables are called as their queries."""

    def names(self, queries: Sequence[str]) -> Mapping[str, str]:
        """Return the name of each query's table. SinkError where several would share one."""
        if self.table is None:
            return {query: query for query in queries}
        if len(queries) > 1:
            raise SinkError(
                f"{self.text}: {len(queries)} queries do not go into one table",
                f"-o {self.sink}:{self.place}, where each has a table of its name",
                exit_code=2,
            )
        return {queries[0]: self.table}

    @property
    def has_folders(self) -> bool:
        """Whether each table is a folder of its own."""
        return SINKS[self.sink].has_folders

    def paths(self, queries: Sequence[str]) -> list[str]:
        """Return what is written for queries: paths or URIs, none of a server. SinkError."""
        if SINKS[self.sink].has_server:
            return []
        names = self.names(queries).values()
        return [f"{self.place}/{name}" for name in names] if self.has_folders else [self.place]

    def open(self, name: str, schema: pyarrow.Schema) -> SinkTable:
        """Open a table, made where it is not there; `schema` is that of the engine's batches."""
        if name == COMMITS:
            raise SinkError(f"{COMMITS} is where commits are kept", "another name", exit_code=2)
        sink = SINKS[self.sink]
        if find_spec(sink.package) is None:
            raise SinkError(
                f"{sink.package} is not installed",
                f"pip install 'gigastream[{self.sink}]'",
                exit_code=2,
            )
        table: SinkTable = import_module(sink.module).open_table(self.place, name, schema)
        return table


def is_sink(text: str) -> bool:
    """Whether an output is a table's."""
    return text.partition(":")[0] in SINKS


def parse_sink_place(text: str) -> SinkPlace:
    """Read `SINK:PLACE[#TABLE]` of a sink there is. SinkError."""
    name, _, rest = text.partition(":")
    if names_secret(rest):
        raise SinkError(
            f"{name}: a password on the command line is read by everybody on this machine",
            SINKS[name].secrets,
            exit_code=2,
        )
    place, mark, table = rest.partition(TABLE_MARK)
    if not place or (mark and not table):
        missing = "table" if place else "place"
        raise SinkError(f"{text} names no {missing}", f"-o {SINKS[name].form}", exit_code=2)
    return SinkPlace(text, name, place, table or None)


def check_columns(
    label: str, there: Mapping[str, str], ours: Mapping[str, str], *, may_have_more: bool = False
) -> None:
    """Raise SinkError unless a table has our columns, by name and type."""
    more = [] if may_have_more else [name for name in there if name not in ours]
    for name in (*ours, *more):
        if there.get(name) != ours.get(name):
            differs = f"{there.get(name, 'none')} there, {ours.get(name, 'none')} here"
            raise SinkError(
                f"{label} is there with other columns: {name} is {differs}",
                f"another table: …{TABLE_MARK}TABLE",
                exit_code=2,
            )


@contextmanager
def telling(label: str, errors: tuple[type[BaseException], ...], exit_code: int) -> Iterator[None]:
    """Turn a library's errors into SinkErrors: their first line, behind the table's name."""
    try:
        yield
    except errors as error:
        lines = str(error).strip().splitlines()
        reason = lines[0] if lines else type(error).__name__
        raise SinkError(f"{label}: {reason}", exit_code=exit_code) from None
