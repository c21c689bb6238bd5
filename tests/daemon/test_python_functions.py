# SPDX-License-Identifier: Apache-2.0
"""Functions in Python in a daemon: run by loaders alone, whatever they do, each row once."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from gigastream.daemon.client import RefusedError
from gigastream.daemon.loader_messages import TableState
from gigastream.daemon.messages import AddSet, DropSet, QuerySetSpec
from tests.captures import DEMO_CAPTURE
from tests.cli.command import gigastream
from tests.daemon.links import capture_pid
from tests.daemon.resident import Daemon, end, started
from tests.live.namespace import Namespace
from tests.waiting import wait_until

pytestmark = [pytest.mark.privileged, pytest.mark.long]

NOBODY = 65534
HEAD = "import os\nimport sys\nimport time\nimport gigastream\nimport pyarrow as pa\n"
SOUND = """
import pyarrow.compute as pc
@gigastream.udf
def half(x: pa.UInt32Array) -> pa.DoubleArray:
    return pc.divide(x.cast(pa.float64()), 2.0)
@gigastream.udaf
def middle(x: pa.UInt32Array) -> pa.UInt32Scalar:
    return x[(len(x) - 1) // 2]
@gigastream.udf
def odd(x: pa.UInt32Array) -> pa.UInt32Array:
    if any(v % 2 == 0 for v in x.to_pylist()):
        raise ValueError("even")
    return x
@gigastream.udf
def uid(x: pa.UInt32Array) -> pa.UInt32Array:
    return pa.array([os.getuid()] * len(x), pa.uint32())
"""
WILD = """
@gigastream.udf
def wild(x: pa.UInt32Array) -> pa.UInt32Array:
    {}
    return x
"""
TRIES = """said = []
    for each in (
        lambda: os.kill(os.getppid(), 0),
        lambda: os.execv("/bin/true", ["true"]),
        lambda: open("/var/tmp/rows", "w"),
    ):
        try:
            each()
        except PermissionError:
            said.append("refused")
    sys.exit(" ".join(said))"""
DECLARED = "STREAM told { uint at (increasing, clock s); uint size; string word; }"
RECORDS = "at,size,word\n" + "".join(f"{n // 10},{n},{'ab'[n % 2]}\n" for n in range(100))
PACKETS = (
    "DEFINE { query_name packets; } SELECT tb, half(uint(count(*))) AS h, middle(len) AS m "
    "FROM demo.IPV4 GROUP BY time/60 AS tb"
)
TOLD = (
    "DEFINE { query_name told_words; } SELECT tb, word, middle(size) AS m, half(max(size)) AS h "
    "FROM told WHERE half(size) >= 2.0 GROUP BY at AS tb, word"
)
ODD = "DEFINE { query_name odds; } SELECT at, odd(size) AS o, uid(size) AS u FROM told"
WILDLY = "DEFINE { query_name wildly; } SELECT at, wild(size) AS w FROM told"

SETS = {"sound": f"{TOLD};\n{PACKETS};\n{ODD}", "wild": WILDLY}


@dataclass
class Python:
    """A daemon on a link, a capture and a STREAM, whose configuration names a file in Python."""

    daemon: Daemon

    @property
    def folder(self) -> Path:
        """Of all of it."""
        return self.daemon.folder

    def write(self, text: str) -> None:
        """The file, in whose place the daemon finds another from its next reload on."""
        (self.folder / "own" / "functions.py").write_text(HEAD + SOUND + text)

    def add(self, name: str, text: str, **more: Any) -> str:
        """A set whose rows go into a database of its own."""
        outputs = (f"spool:{self.folder}/out/{name}", f"duckdb:{self.folder}/out/{name}.db")
        spec = QuerySetSpec(
            name=name, text=text, **{"outputs": outputs, "low_level_only": True, **more}
        )
        return self.daemon.ask(AddSet(query_set=spec)).message

    def state(self, name: str) -> TableState:
        """Of a set's table."""
        tables = [each for each in self.daemon.status().tables if each.set_name == name]
        return tables[0] if tables else TableState(set_name=name, table="", spool="")

    def wait(self, name: str, rows: int) -> TableState:
        """Until there are so many."""
        wait_until(lambda: self.state(name).rows >= rows, f"{rows} rows of {name}")
        return self.state(name)

    def waits(self, name: str, why: str) -> None:
        """Until its table waits, and says so."""
        wait_until(lambda: why in (self.state(name).why or ""), f"{name} to wait: {why}")

    def rows(self, name: str, *queries: str) -> list[list[dict[str, Any]]]:
        """Of a set's queries; it goes, so that no loader has its file open any more."""
        self.daemon.ask(DropSet(name=name))
        wait_until(lambda: not self.state(name).table, "the loader to be gone")
        with duckdb.connect(str(self.folder / "out" / f"{name}.db"), read_only=True) as opened:
            tables = [opened.sql(f"FROM {query}").to_arrow_table() for query in queries]
        return [in_order(table.to_pylist()) for table in tables]

    def change(self, to: str) -> str:
        """Another text, and a reload; what it says."""
        self.write(to)
        done = gigastream("ctl", "--socket", self.folder / "socket", "reload")
        return done.out.decode() + done.err


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As text, which JSON and Parquet have the same of."""
    shown = [{k: v.decode() if isinstance(v, bytes) else v for k, v in r.items()} for r in rows]
    return sorted(shown, key=repr)


@pytest.fixture
def python(
    space: Namespace, common_folder: Path, request: pytest.FixtureRequest
) -> Iterator[Python]:
    """With a set of sound functions, and one of a wild one where a test says what that does."""
    folder, wild = common_folder, getattr(request, "param", None)
    (folder / "own").mkdir()
    (folder / "told.gsql").write_text(DECLARED)
    (folder / "told.csv").write_text(RECORDS)
    shutil.copy(DEMO_CAPTURE, folder / "demo.pcap")
    (folder / "gigastream.toml").write_text(
        "definitions = ['told.gsql', 'own/functions.py']\ntables = true\n"
        f"[[link]]\ndevice = '{space.near}'\n"
        "[[file]]\nname = 'demo'\npath = 'demo.pcap'\n"
        "[[stream]]\nname = 'told'\nplace = 'told.csv'\n"
        + "".join(
            f"[[query]]\nname = '{name}'\ntext = '''{text}'''\nlow-level-only = true\n"
            f"output = ['spool:{folder}/out/{name}', 'duckdb:{folder}/out/{name}.db']\n"
            for name, text in SETS.items()
            if name == "sound" or wild is not None
        )
    )
    made = Python(Daemon(space, folder, None))  # type: ignore[arg-type]
    made.write(WILD.format(wild or "pass"))
    made.daemon = started(space, folder, "-c", folder / "gigastream.toml")
    try:
        yield made
    finally:
        end(made.daemon)


def answered(python: Python, query: str, *sources: object) -> list[dict[str, Any]]:
    """What `gigastream run` says."""
    files = ("--definitions", python.folder / "told.gsql")
    files += ("--python", python.folder / "own" / "functions.py")
    done = gigastream("run", "-q", "-o", "json", *files, *sources, "-e", query)
    assert done.code == 0, done.err
    return in_order([json.loads(line) for line in done.lines])


def test_the_rows_of_a_run(python: Python) -> None:
    """Of packets and of records; then a client adds a set, which may call what is named here."""
    told = answered(python, TOLD, "--stream", f"told={python.folder}/told.csv")
    packets = answered(python, PACKETS, "-r", f"demo={DEMO_CAPTURE}")
    odds = answered(python, ODD, "--stream", f"told={python.folder}/told.csv")
    python.wait("sound", len(told) + len(packets) + len(odds))
    assert python.state("sound").no_value_rows == 50
    assert "functions.py, line 17: ValueError: even" in python.daemon.told()
    assert python.daemon.told().count("odd raises, first") == 1
    check_added(python)
    found = python.rows("sound", "told_words", "packets", "odds")
    assert found[:2] == [told, packets]
    assert [row["o"] for row in found[2]] == [row["o"] for row in odds]
    assert {row["u"] for row in found[2]} == {NOBODY}


def check_added(python: Python) -> None:
    """It may call what the administrator has named, in a loader; where packets are read nothing."""
    text = "DEFINE { query_name sizes; } SELECT tb, middle(len) AS m FROM PKT GROUP BY time AS tb"
    with pytest.raises(RefusedError, match="where packets are read it would stop") as refused:
        python.add("sizes", text, outputs=(f"csv:{python.folder}/out/a.csv",), low_level_only=False)
    assert "middle is in Python" in str(refused.value)
    assert "hint: low-level-only" in str(refused.value)
    python.add("sizes", text)
    wait_until(lambda: python.state("sizes").state == "running", "its loader")
    shown = gigastream("ctl", "--socket", python.folder / "socket", "queries").out.decode()
    assert f"functions in Python of {python.folder}/own/functions.py" in shown


@pytest.mark.parametrize("python", ["os.kill(os.getpid(), 9)"], indirect=True)
def test_what_a_function_does_ends_nothing_but_its_loader(python: Python) -> None:
    """Each reload brings another text; of the last one all rows come, which have waited."""
    capture = capture_pid(python.daemon)
    python.waits("wild", "its loader ended: signal 9")
    assert "changed" in python.change(WILD.format(TRIES))
    python.waits("wild", "SystemExit: refused refused refused")
    python.change(WILD.format("raise MemoryError"))
    python.waits("wild", "functions.py, line 25: MemoryError")
    said = python.change(WILD.format("return x)"))
    assert "functions.py:25:13: error: no Python" in said
    python.change(WILD.format("told = open('/dev/zero')\n    while True: pass"))
    wait_until(lambda: hangs(python.state("wild").pid), "a loader that hangs")
    check_added(python)
    assert "changed sizes" in python.change(WILD.format("pass"))
    python.wait("wild", 100)
    assert python.daemon.status().restarts == 0
    assert capture_pid(python.daemon) == capture
    whole = answered(python, WILDLY, "--stream", f"told={python.folder}/told.csv")
    assert python.rows("wild", "wildly") == [whole]


def hangs(pid: int | None) -> bool:
    """Whether it has come to what the function opens before."""
    folder = Path(f"/proc/{pid}/fd")
    with suppress(OSError):
        return any(os.readlink(each) == "/dev/zero" for each in folder.iterdir())
    return False
