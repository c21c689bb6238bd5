# SPDX-License-Identifier: Apache-2.0
"""The query sets of queries/: each is compiled once and asked of every capture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gigastream.gsql.source import SourceFile

HERE = Path(__file__).parent
PREFIXES = HERE.parent / "functions" / "prefixes.csv"
_INTERFACES = "-- interfaces "


@dataclass(frozen=True)
class QuerySet:
    """A file of queries; a comment line `-- interfaces a b` names what it reads."""

    path: Path
    text: str
    interfaces: tuple[str, ...]

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.stem

    @property
    def source_file(self) -> SourceFile:
        """The text for the checker."""
        return SourceFile(str(self.path), self.text)

    @property
    def parameters(self) -> dict[str, str]:
        """What its queries must be given."""
        return {"table": str(PREFIXES)} if "$table" in self.text else {}


def read_query_set(path: str | Path) -> QuerySet:
    """Read a query set."""
    text = Path(path).read_text()
    named = [line for line in text.splitlines() if line.startswith(_INTERFACES)]
    interfaces = named[0].removeprefix(_INTERFACES).split() if named else ["default"]
    return QuerySet(Path(path), text, tuple(interfaces))


def query_sets() -> list[QuerySet]:
    """All of them."""
    return [read_query_set(path) for path in sorted((HERE / "queries").glob("*.gsql"))]
