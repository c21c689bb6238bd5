# SPDX-License-Identifier: Apache-2.0
"""A streaming query whose Python process did not start within Spark's ten seconds starts again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from spark_sink import sinks

SLOW = "[STREAM_FAILED] terminated with exception: Python worker failed to connect back. XX000"
DAMAGED = "[STREAM_FAILED] terminated with exception: a segment is lost"


@dataclass
class Query:
    """One that begins for two looks, and then runs or has failed."""

    error: str | None
    looks: int = 2
    is_stopped: bool = False

    @property
    def isActive(self) -> bool:  # noqa: N802
        return self.error is None

    @property
    def status(self) -> dict[str, str]:
        self.looks -= 1
        return {"message": "Initializing sources" if self.looks else "Waiting for data"}

    def exception(self) -> Exception | None:
        return None if self.error is None else RuntimeError(self.error)

    def stop(self) -> None:
        self.is_stopped = True


@dataclass
class Writer:
    """Starts queries with these errors, one after the other."""

    errors: list[str | None]
    made: list[Query] = field(default_factory=list)
    checkpoint: Path | None = None

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: self

    def start(self) -> Query:
        assert self.checkpoint is not None
        assert all(query.is_stopped for query in self.made), "two of one name"
        assert not (self.checkpoint / "metadata").exists(), "Spark would take it for another's"
        self.checkpoint.mkdir(exist_ok=True)
        (self.checkpoint / "metadata").touch()
        self.made.append(Query(self.errors[len(self.made)]))
        return self.made[-1]


@pytest.mark.parametrize(
    ("errors", "starts"),
    [
        ([None], 1),
        ([SLOW, SLOW, None], 3),
        ([DAMAGED, None], 1),
        ([SLOW, DAMAGED, None], 2),
        ([SLOW] * 9, 5),
    ],
)
def test_it_starts_again(errors: list[str | None], starts: int, tmp_path: Path) -> None:
    writer = Writer(errors, checkpoint=tmp_path / "checkpoint")
    query: Any = sinks.start(writer, str(writer.checkpoint), "query", {"availableNow": True})  # type: ignore[arg-type]
    assert len(writer.made) == starts
    assert query is writer.made[-1]
    assert not query.is_stopped
    assert query.error == errors[starts - 1]
