# SPDX-License-Identifier: Apache-2.0
"""The only file of the benchmarks that calls the engine.

Every run is a process of its own, so that one run leaves nothing to the next and memory can be read
from outside: the runner starts this file with a request on its standard input and reads one line of
JSON. The time goes from the call until the last batch is here; before it are the start of the
interpreter and what a program does once, as it asks its first query: imports, the catalog. The
compiled query comes from the cache because an unmeasured run went first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
FEW_PACKETS = ROOT / "demo" / "demo.pcap"

MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Measurement:
    """How long a run took, by the wall and by the processor, and how many rows it gave."""

    seconds: float
    processor_seconds: float
    rows: int


@dataclass(frozen=True)
class Answer:
    """A run's rows folded like those of the loops (loops/output.h), to compare the two."""

    rows: int
    tuple_packets: int
    tuple_bytes: int
    checksum: int


def low_level(path: str, query: str, **settings: Any) -> Measurement:
    """Run only the low level: partial rows leave it and are counted."""
    return _measure(path, query, low_level_only=True, **settings)


def whole_path(path: str, query: str, **settings: Any) -> Measurement:
    """Run both levels: exact rows as Arrow record batches."""
    return _measure(path, query, **settings)


def piped(path: str, query: str) -> Measurement:
    """Run both levels over what another process writes into a pipe."""
    _warm(query)
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        return _measure(f"/dev/fd/{writer.stdout.fileno()}", query)


def two_processes(path: str, query: str) -> dict[str, float]:
    """Run both levels in two processes at once, over all of the capture each: half of the time.

    So much two cores are worth to work that shares nothing but the machine.
    """
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    _warm(query)
    ready, go = os.pipe()
    others = [_other_process(path, query, ready) for _ in range(2)]
    start = time.perf_counter()
    os.write(go, b"go")
    ends = [os.waitpid(other, 0)[1] for other in others]
    if any(ends):
        raise ChildProcessError("one of two processes failed")
    return {"seconds": (time.perf_counter() - start) / 2}


def _other_process(path: str, query: str, ready: int) -> int:
    """Begin as soon as there is a byte to read."""
    other = os.fork()
    if other:
        return other
    status = 1
    try:
        os.read(ready, 1)
        for _ in _batches(path, query):
            pass
        status = 0
    finally:
        os._exit(status)


def unavailable() -> str | None:
    """Why the engine cannot be measured here; None if it can."""
    try:
        from gigastream import run  # noqa: F401
    except ImportError as error:
        return str(error)
    return None


def _measure(path: str, query: str, **settings: Any) -> Measurement:
    if settings.get("jobs", 1) > 1:  # the runner keeps its children on one core
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # of numpy, which pyarrow loads: they would spin
    _warm(query, **settings)
    start, processor = time.perf_counter(), time.process_time()
    batches = _batches(path, query, **settings)
    rows = sum(batch.num_rows for batch in batches)
    return Measurement(time.perf_counter() - start, time.process_time() - processor, rows)


def _warm(query: str, **settings: Any) -> None:
    """Do what a program does once, not for each query: it asks this one of a few packets."""
    os.environ["GIGASTREAM_OPTIMIZE"] = "always"  # few packets or many: of one object in the cache
    for _ in _batches(str(FEW_PACKETS), query, **settings):
        pass


def _batches(path: str, query: str, **settings: Any) -> Iterator[Any]:
    import gigastream
    from gigastream.settings import Settings

    return gigastream.run(query, [path], settings=Settings(**settings))


def talkers_answer(path: str, query: str, **settings: Any) -> Answer:
    """The rows of (minute, source, destination, packets, bytes), folded."""
    return _fold(_batches(path, query, **settings), _talkers_row)


def selection_answer(path: str, query: str, **settings: Any) -> Answer:
    """The rows of (timestamp, source, destination, length), folded."""
    return _fold(_batches(path, query, **settings), _selection_row)


def total(path: str, query: str, **settings: Any) -> dict[str, float]:
    """The sum of all rows' last column."""
    batches = _batches(path, query, **settings)
    return {"total": float(sum(sum(batch.columns[-1].to_pylist()) for batch in batches))}


def text(path: str, query: str, format_: str, target: str, rows: str) -> Measurement:
    """Write a query's rows, which are in memory, as text into a file.

    `rows`: where its columns go, for the writer by hand; nowhere, if empty.
    """
    from gigastream.engine.arrow_rows import batch_of_arrow
    from gigastream.outputs import FORMATS, OutputQuery
    from gigastream.outputs.file import open_file

    answer = list(_batches(path, query))
    if rows:
        _write_columns(answer, Path(rows))
    columns = tuple(answer[0].schema.names)
    no = (False,) * len(columns)
    named = OutputQuery("text", columns, no, no, no, lambda: answer[0].schema)
    batches = [batch_of_arrow(batch) for batch in answer]
    start, processor = time.perf_counter(), time.process_time()
    with open_file(Path(target), {}) as file:
        writer = import_module(FORMATS[format_].module).open_writer(file, (named,))
        for batch in batches:
            writer.write(named, batch)
    seconds, processor_seconds = time.perf_counter() - start, time.process_time() - processor
    return Measurement(seconds, processor_seconds, sum(batch.num_rows for batch in answer))


def _write_columns(batches: list[Any], target: Path) -> None:
    """The number of rows, then whole columns, the widest first: minute and addresses come last."""
    import pyarrow

    columns = pyarrow.Table.from_batches(batches).combine_chunks().columns
    with target.open("wb") as file:
        file.write(len(columns[0]).to_bytes(8, "little"))
        for place in (3, 4, 0, 1, 2):
            file.write(columns[place].to_numpy().tobytes())


def _fold(batches: Iterator[Any], fold_row: Callable[..., tuple[int, int, int]]) -> Answer:
    rows = packets = size = checksum = 0
    for batch in batches:
        for row in zip(*(_numbers(column) for column in batch.columns), strict=True):
            row_packets, row_bytes, row_checksum = fold_row(*row)
            rows, packets, size = rows + 1, packets + row_packets, size + row_bytes
            checksum = (checksum + row_checksum) & MASK
    return Answer(rows, packets, size, checksum)


def _numbers(column: Any) -> list[Any]:
    numbers = column.cast("int64") if "timestamp" in str(column.type) else column
    return list(numbers.to_pylist())


def _mix(x: int) -> int:
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def _address_words(source: int | bytes, dest: int | bytes) -> tuple[int, ...]:
    if isinstance(source, int) and isinstance(dest, int):
        return (source << 32 | dest,)
    both = bytes(source) + bytes(dest)
    return tuple(int.from_bytes(both[i : i + 8], "big") for i in range(0, 32, 8))


def _talkers_row(
    minute: int, source: int | bytes, dest: int | bytes, packets: int, size: int
) -> tuple[int, int, int]:
    key = _mix(minute)
    for word in _address_words(source, dest):
        key = _mix(key ^ word)
    return packets, size, key * (packets * 1000003 + size) & MASK


def _selection_row(timestamp_ns: int, source: int, dest: int, length: int) -> tuple[int, int, int]:
    key = _mix(timestamp_ns) ^ (source << 32 | dest)
    return 1, length, _mix(_mix(key) ^ length)


FUNCTIONS: dict[str, Callable[..., Measurement | Answer | dict[str, float]]] = {
    function.__name__: function
    for function in (
        low_level,
        whole_path,
        piped,
        two_processes,
        talkers_answer,
        selection_answer,
        total,
        text,
    )
}


def main() -> int:
    """Answer the one request on standard input."""
    request = json.load(sys.stdin)
    function = FUNCTIONS[request["function"]]
    answer = function(request["path"], request["query"], **request["settings"])
    print(json.dumps(answer if isinstance(answer, dict) else asdict(answer)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
