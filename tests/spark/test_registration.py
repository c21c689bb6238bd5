# SPDX-License-Identifier: Apache-2.0
"""The source is found by name, registered by import, and shipped where nothing is installed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from captures import ROOT
from spark.readers import packets
from spark.written import Written, seconds
from spark_session import why_no_spark

import spark_sink
from spark_sink import registration
from spark_sink.java import use_java
from spark_sink.sinks import start
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(
    program: str, *arguments: str, folder: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("module", ["pyspark", "pyarrow", "gigastream"])
def test_importing_the_package_loads_nothing_heavy(module: str) -> None:
    program = f"import spark_sink, sys; sys.exit('{module}' in sys.modules)"
    assert run(program, PYTHONPATH=str(ROOT)).returncode == 0


@pytest.mark.parametrize("module", ["address_text", "apart"])
def test_a_module_needs_no_other_to_be_imported_before_it(module: str) -> None:
    """As the first test of a run imports it."""
    done = run(f"import spark_sink.{module}", PYTHONPATH=str(ROOT))
    assert (done.returncode, done.stderr) == (0, "")


def test_every_name_is_where_it_is_said_to_be() -> None:
    for name in spark_sink.__all__:
        assert getattr(spark_sink, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        spark_sink.nothing  # noqa: B018


def test_all_that_the_source_imports_is_shipped() -> None:
    """Tasks unpack our code without our packages: every module that it uses must travel."""
    program = (
        "import spark_sink.source, sys;"
        "print(*(m for m in sys.modules if m.startswith(('spark_sink.', 'gigastream.'))))"
    )
    loaded = run(program, PYTHONPATH=str(ROOT)).stdout.split()
    assert "spark_sink.segments" in loaded
    for module in loaded:
        parts = module.split(".")
        prefixes = {".".join(parts[: n + 1]) for n in range(len(parts))}
        assert prefixes & set(registration.SHIPPED), f"{module} stays behind"


_SENT = """
import io
import pickle
import pyspark.sql.functions as F
from pyspark.cloudpickle import dumps
import spark_sink
from spark_sink.arrow_text import printing
from spark_sink.expressions import prefix_files, regular_expressions
from spark_sink.ip_functions import _FUNCTIONS
spark_sink.ship_with_tasks()
sent = [function for function, _ in _FUNCTIONS.values()]
F.arrow_udf = lambda function, _: sent.append(function)
regular_expressions.matching(b"a+b")
regular_expressions.extracting(b"a+b")
empty = prefix_files.PrefixTable(*(prefix_files._ranges("", [], bits) for bits in (32, 128)))
prefix_files.finding(empty)
sent += [printing("INET"), spark_sink.GigastreamSource]
class Reader(pickle.Unpickler):
    def find_class(self, module, name):
        if module.partition(".")[0] in ("gigastream", "spark_sink"):
            print("stays behind:", module, name)
        return super().find_class(module, name)
for each in sent:
    Reader(io.BytesIO(dumps(each))).load()
print(len(sent), "sent")
"""


_SENT_IN_PYTHON = """
import pickle
import sys
import pyarrow as pa
from pyspark.cloudpickle import dumps
import spark_sink
from gigastream.batch_calls import BatchCall
from gigastream.gsql.python_code import PythonCode
from spark_sink.python_functions import answering
spark_sink.ship_with_tasks()
text = "import gigastream\\n@gigastream.udf\\ndef f(x):\\n    return x.take([1, 0])"
call = BatchCall("f", pa.uint32(), (False,), False, False, PythonCode("f.py", text))
sent = dumps(answering(call, (pa.uint32(),)))
for module in [m for m in sys.modules if m.partition(".")[0] in ("gigastream", "spark_sink")]:
    sys.modules[module] = None
print(pickle.loads(sent)(pa.array([7, 8])).field("value").to_pylist())
"""


def test_a_function_in_python_runs_where_nothing_of_ours_is() -> None:
    assert run(_SENT_IN_PYTHON, PYTHONPATH=str(ROOT)).stdout == "[8, 7]\n"


def test_what_is_sent_names_no_module_of_ours() -> None:
    """Source and functions: where they arrive there is none."""
    assert run(_SENT, PYTHONPATH=str(ROOT)).stdout == "10 sent\n"


_WITHOUT_OUR_PACKAGES = """
import sys
root, repository = sys.argv[1:]
sys.path.insert(0, repository)
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
import spark_sink
spark_sink.ship_with_tasks()
spark_sink.register(spark)
rows = spark.readStream.format("gigastream").load(root)
query = rows.writeStream.format("memory").queryName("t").trigger(availableNow=True).start()
query.awaitTermination()
def sees_us(_):
    import importlib.util
    return importlib.util.find_spec("spark_sink") is not None
print(spark.table("t").count(), spark.read.format("gigastream").load(root).count(),
      spark.sparkContext.parallelize([0], 1).map(sees_us).collect())
"""


@pytest.mark.slow
def test_executors_need_no_install(tmp_path: Path) -> None:
    """The driver alone has the package on its path; no Python worker can import it."""
    Written(tmp_path).write("eth0", [(packets(1, 2), seconds(2))])
    bare = tmp_path / "bare"
    _make_environment_without_us(bare)
    # Workers look into the current folder, too.
    result = run(
        _WITHOUT_OUR_PACKAGES,
        str(tmp_path),
        str(ROOT),
        folder=tmp_path,
        PYSPARK_PYTHON=str(bare),
        PYTHONPATH="",
    )
    assert result.stdout.splitlines()[-1:] == ["3 2 [False]"], result.stderr


def _make_environment_without_us(interpreter: Path) -> None:
    """A `python` that finds pyspark and pyarrow, and nothing that is installed beside them."""
    from importlib.util import find_spec

    homes = {}
    for name in ("pyspark", "py4j", "pyarrow"):
        spec = find_spec(name)
        assert spec is not None
        assert spec.submodule_search_locations
        homes[name] = Path(spec.submodule_search_locations[0])
    site = interpreter.with_suffix(".site")
    site.mkdir()
    for name, home in homes.items():
        (site / name).symlink_to(home)
    interpreter.write_text(
        f"#!/bin/sh\nPYTHONPATH={shlex.quote(str(site))}:$PYTHONPATH "
        f'exec {shlex.quote(sys.executable)} -S "$@"\n'
    )
    interpreter.chmod(0o755)


_BY_NAME = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
print(spark.read.format("gigastream").load(sys.argv[1]).count())
"""


@pytest.mark.long
def test_spark_finds_the_source_by_its_name(tmp_path: Path) -> None:
    """Nothing of ours is imported where the session is.

    The worker by which Spark looks for sources has ten seconds to start: a busy machine may need
    another session.
    """
    if (reason := why_no_spark()) is not None:
        pytest.skip(reason)
    use_java()
    spool = tmp_path / "spool"
    Written(spool).write("eth0", [(packets(1, 2), seconds(2))])
    # Spark asks a shell whether the interpreter is there, and does not quote its path.
    environment = tmp_path / "environment"
    environment.symlink_to(sys.prefix)
    python = str(environment / "bin" / "python")
    deadline = time.monotonic() + PATIENCE_S
    while True:
        result = run(_BY_NAME, str(spool), PYTHONPATH=str(ROOT), PYSPARK_PYTHON=python)
        if "DATA_SOURCE_NOT_FOUND" not in result.stderr or time.monotonic() > deadline:
            break
    assert result.stdout.splitlines()[-1:] == ["2"], result.stderr


def test_what_spark_looks_for_is_there() -> None:
    """A top-level module pyspark_… with a DefaultSource."""
    program = (
        "import pkgutil, pyspark_gigastream as ours;"
        "from pyspark.sql.datasource import DataSource;"
        "assert ours.__name__ in [module.name for module in pkgutil.iter_modules()];"
        "assert issubclass(ours.DefaultSource, DataSource);"
        "print(ours.DefaultSource.name())"
    )
    assert run(program, PYTHONPATH=str(ROOT)).stdout == "gigastream\n"


def test_spark_would_find_the_module_where_we_are_installed(tmp_path: Path) -> None:
    """From any folder, with nothing on PYTHONPATH: also where `make` installs the working tree."""
    program = "import pkgutil; print([m.name for m in pkgutil.iter_modules()])"
    found = run(program, folder=tmp_path, PYTHONPATH="").stdout
    assert "'pyspark_gigastream'" in found


def test_a_session_that_is_there_learns_the_name(spark: SparkSession, tmp_path: Path) -> None:
    Written(tmp_path).write("eth0", [(packets(1), seconds(1))])
    spark_sink.register(spark)
    assert spark.read.format("gigastream").load(str(tmp_path)).count() == 1


def test_a_session_without_a_context_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of Spark Connect: what is shared there is the server's, and our code goes there."""
    sent: list[str] = []
    monkeypatch.setattr(registration, "ship_with_tasks", lambda: sent.append("code"))
    told: list[type] = []
    names: list[str] = []
    session = SimpleNamespace(
        dataSource=SimpleNamespace(register=told.append),
        udf=SimpleNamespace(register=lambda name, _: names.append(name)),
    )
    spark_sink.register(session)  # type: ignore[arg-type]
    assert told == [spark_sink.GigastreamSource]
    assert "ip_in" in names
    assert sent == ["code"]


def test_what_another_thread_is_sending_does_not_change_under_it() -> None:
    sent = {"PYTHONHASHSEED": "0"}
    during: list[tuple[dict[str, str], set[str]]] = []
    context = SimpleNamespace(environment=sent, master="local[2]")

    def told(_: type) -> None:
        during.append((dict(sent), set(context.environment)))

    session = SimpleNamespace(
        sparkContext=context,
        dataSource=SimpleNamespace(register=told),
        udf=SimpleNamespace(register=lambda name, _: None),
    )
    spark_sink.register(session)  # type: ignore[arg-type]
    ((others, ours),) = during
    assert others == {"PYTHONHASHSEED": "0"}
    assert {"PYTHONHASHSEED", "SPARK_BUFFER_SIZE"} < ours
    assert context.environment is sent


def test_a_stream_that_starts_changes_nothing_that_others_send(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What a source's tasks are sent with does not grow, which would tear what is being sent."""
    Written(tmp_path / "spool").write("eth0", [(packets(1), seconds(1))])
    before = dict(spark.sparkContext.environment)
    spark_sink.register(spark)
    assert spark.sparkContext.environment == before
    manager = spark._jsparkSession.sessionState().dataSourceManager()
    function = manager.lookupDataSource("gigastream").dataSourceCls()
    names = set(function.envVars())
    rows = spark.readStream.format("gigastream").load(str(tmp_path / "spool"))
    writer = rows.writeStream.format("noop")
    query = start(writer, str(tmp_path / "checkpoint"), "noop", {"availableNow": True})
    query.awaitTermination()
    assert function.envVars()["SPARK_BUFFER_SIZE"], "Spark has set it"
    assert set(function.envVars()) == names
