# SPDX-License-Identifier: Apache-2.0
"""The query sets of queries/: each is compiled once and asked of every capture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gigastream.gsql.source import SourceFile

HERE = Path(__file__).parent
PREFIXES = HERE.parent / "functions" / "prefixes.csv"
ROOT = HERE.parent.parent
_INTERFACES, _DEFINITIONS = "-- interfaces ", "-- definitions "


@dataclass(frozen=True)
class QuerySet:
    """Queries; comment lines `-- interfaces a b`, `-- definitions a.gsql` say what they read."""

    path: Path
    text: str
    interfaces: tuple[str, ...]
    definitions: tuple[str, ...]

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.stem

    @property
    def include(self) -> tuple[Path, ...]:
        """Where the C of its definitions is."""
        return tuple(Path(path).parent for path in self.definitions)

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
    definitions = tuple(str(ROOT / name) for name in _words(text, _DEFINITIONS))
    return QuerySet(Path(path), text, _words(text, _INTERFACES) or ("default",), definitions)


def _words(text: str, begin: str) -> tuple[str, ...]:
    named = [line for line in text.splitlines() if line.startswith(begin)]
    return tuple(word for line in named for word in line.removeprefix(begin).split())


def query_sets() -> list[QuerySet]:
    """All of them."""
    return [read_query_set(path) for path in sorted((HERE / "queries").glob("*.gsql"))]
