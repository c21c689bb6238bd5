# SPDX-License-Identifier: Apache-2.0
"""The Spark session of a job, with the settings that measured best, and quiet.

What Java and its Python workers print goes to a log file, since stdout is the rows' and stderr the
account's. A session that is already there (a notebook's, spark-submit's) is taken as it is.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from spark_sink.class_archive import ClassArchive
from spark_sink.connect import connected, is_wanted, refuse_for_job
from spark_sink.gateway import JavaEndedError, can_start, class_path, start_java
from spark_sink.java import find_java, use_java
from spark_sink.java_words import cause_of, text_of
from spark_sink.job_errors import JobError
from spark_sink.programs import worker_python
from spark_sink.starting import WatchStart, unwatched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPOOL = "spool"
"""No state store: the spool is the state (window_complete/)."""
MEMORY = "memory"
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by spark-submit, whose Java is there already."""
_STATE = "spark.sql.streaming.stateStore"
_ROCKSDB = {
    f"{_STATE}.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
}
ROOM_FOR_CODE = "-XX:ReservedCodeCacheSize=240m"
"""As a Java with both of its compilers has it: with one it has 48 MB, which a session that goes on
fills with the code of query after query; then Java ends."""
QUICK_START = {
    "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 {ROOM_FOR_CODE} -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
}
"""For a job that is over within seconds, before code that is compiled better pays."""
WARM = {"spark.driver.extraJavaOptions": "-XX:+UseSerialGC"}
"""For a session that stays, for jobs of any size."""
_NO_MASTER = "All masters are unresponsive"
_STOPPED = "stopped SparkContext"
_TEMPORARY = ("/tmp", "/var/tmp")
_PACKAGES = Path(__file__).resolve().parent.parent


def session_settings(cores: int | None, state: str = "memory") -> dict[str, str]:
    """Return the settings of a session.

    `cores` are those of this machine that it has; None where it runs on a cluster. `state` is where
    groups wait: `memory` is faster below about a million groups, `rocksdb` above.
    """
    settings = {
        "spark.app.name": "gigastream",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        # else each call of a function asks Java several times, to note where it stands
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.driver.memory": f"{_memory_mib()}m",
    }
    if cores is not None:
        settings["spark.sql.shuffle.partitions"] = str(cores)
        settings["spark.driver.host"] = settings["spark.driver.bindAddress"] = "127.0.0.1"
    return settings | (_ROCKSDB if state == "rocksdb" else {})


def make_session(
    master: str | None = None,
    *,
    state: str = "memory",
    settings: Mapping[str, str] | None = None,
    log: Path | None = None,
    class_names: Path | None = None,
    watch: WatchStart = unwatched,
) -> SparkSession:
    """Return the session that is there, or start one at `master` (default: here, on all cores).

    A `master` sc://…, or SPARK_REMOTE in the environment, makes it a client of Spark Connect.
    `state` is MEMORY, "rocksdb" or SPOOL. `settings` are Spark's own and go before ours. `log` is
    the file for what Java prints; none: a temporary one. `class_names`: where Java writes what it
    loads, if it has no archive of it. `watch` stands around the start in a Java of ours. Raises
    JobError where PySpark or Java is missing, or Java or the session does not start.
    """
    require_pyspark()
    from pyspark.sql import SparkSession

    there = SparkSession.getActiveSession()
    if there is not None:
        return there
    if is_wanted(master):
        return connected(master, {**(_ROCKSDB if state == "rocksdb" else {}), **(settings or {})})
    cores = _cores(master)
    at = master or f"local[{cores}]"
    wanted = {**session_settings(cores, state), "spark.master": at, **(settings or {})}
    is_submitted = _SUBMITTED in os.environ
    if is_submitted:
        session = _submitted(wanted, master)
        _partition_by_cores(session)
        return session
    return _started(wanted, log or _new_log(), class_names, watch)


@contextmanager
def open_session(
    master: str | None = None,
    *,
    state: str = "memory",
    settings: Mapping[str, str] | None = None,
    log: Path | None = None,
    when_making: Callable[[Path], None] | None = None,
    watch: WatchStart = unwatched,
) -> Iterator[SparkSession]:
    """Give what `make_session` gives; if it was started here, end it and leave nothing behind.

    If there is no archive of Java's classes, one is made behind it of what it has loaded, and
    `when_making` gets its folder; None: it is not made.
    For jobs: raises JobError where it would be a client of Spark Connect.
    """
    require_pyspark()
    refuse_for_job(master)
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is not None or _SUBMITTED in os.environ:
        yield make_session(master, state=state, settings=settings)
        return
    with tempfile.TemporaryDirectory(prefix="gigastream-spark-", dir=temporary_folder()) as name:
        folder = Path(name)
        wanted = {**_places(folder), **(settings or {})}
        log, names = log or folder / "log", folder / "classes" if when_making else None
        session = make_session(
            master, state=state, settings=wanted, log=log, class_names=names, watch=watch
        )
        try:
            yield session
        finally:
            _end(session)
            if names is not None and when_making is not None and names.exists():
                made_at = ClassArchive(find_java(), class_path(), names).make_later()
                if made_at is not None:
                    when_making(made_at)


def temporary_folder() -> str:
    """Return where Spark may write: `spark.local.dir` is a list with commas between its folders.

    Raises JobError where there is none.
    """
    for each in (tempfile.gettempdir(), *_TEMPORARY):
        if "," not in each and os.access(each, os.W_OK | os.X_OK):
            return each
    raise JobError(
        f"Spark takes no folder with a comma in its name: {tempfile.gettempdir()}",
        "set TMPDIR to another one",
    )


def _places(folder: Path) -> dict[str, str]:
    """What Spark writes by itself goes where we look after it."""
    return {
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }


def _end(session: SparkSession) -> None:
    """Stop a session and its Java, which may have ended by itself."""
    from py4j.protocol import Py4JError

    gateway = session.sparkContext._gateway
    for step in (session.stop, gateway.shutdown, gateway.proc.stdin.close):  # at which Java ends
        with suppress(Py4JError, OSError):
            step()
    gateway.proc.wait()


def require_pyspark() -> None:
    """Raise JobError if PySpark is not installed."""
    if importlib.util.find_spec("pyspark") is None:
        raise JobError("PySpark is not installed", "pip install 'gigastream[spark]'")


def _submitted(settings: Mapping[str, str], master: str | None) -> SparkSession:
    """The session of a program that spark-submit started: what it said stands."""
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    said = SparkConf()
    builder = SparkSession.builder
    for name, value in settings.items():
        if not said.contains(name) and (master or name != "spark.master"):
            builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _started(
    settings: Mapping[str, str], log: Path, class_names: Path | None, watch: WatchStart
) -> SparkSession:
    """A session over a Java of our own, which prints into `log`."""
    interrupt = signal.getsignal(signal.SIGINT)
    _let_workers_find_us(is_local=settings["spark.master"].startswith("local"))
    with log.open("ab") as stream:
        since = stream.tell()
        try:
            starts = _quick if can_start(settings) else _by_sparks_scripts
            gateway = starts(settings, stream, class_names)
            with watch(gateway.proc):
                session = _in_gateway(gateway, settings)
        except (JobError, OSError, RuntimeError) as error:
            if isinstance(error, JobError) and error.hint is not None:
                raise
            why = _why(text_of(log, since), error, settings["spark.master"])
            raise JobError(f"Spark did not start: {why}") from None
    if interrupt not in (signal.default_int_handler, signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, interrupt)  # SparkContext has set its own over it
    return session


def _in_gateway(gateway: Any, settings: Mapping[str, str]) -> SparkSession:
    """Raises JobError where Spark does not start in that Java, which has ended then."""
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    conf = SparkConf(_jvm=gateway.jvm).setAll(list(settings.items()))
    try:
        session = SparkSession(SparkContext(gateway=gateway, conf=conf))
        silence_hang_ups(session.sparkContext._accumulatorServer)
        _partition_by_cores(session)
    except (Py4JError, PySparkException) as error:
        why = cause_of(str(error))  # of which Java knows a part
        gateway.proc.kill()
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None  # else the next one is made in it
        raise JobError(why) from None
    return session


def _why(printed: str, error: Exception, master: str) -> str:
    """What Java threw goes before what it printed, unless it stopped before."""
    if _NO_MASTER in printed:
        return f"no master answers at {master}"
    said = isinstance(error, JobError) and not isinstance(error, JavaEndedError)
    if said and str(error) and _STOPPED not in str(error):
        return str(error)
    return cause_of(printed) or str(error)


def _quick(settings: Mapping[str, str], log: IO[bytes], class_names: Path | None) -> Any:
    archive = ClassArchive(find_java(), class_path(), class_names)
    try:
        gateway = _java(settings, archive, from_archive=True, log=log)
    except JavaEndedError:
        if not archive.is_used:
            raise
        gateway = _java(settings, archive, from_archive=False, log=log)
        archive.discard()  # which was why
    return gateway


def _java(
    settings: Mapping[str, str], archive: ClassArchive, *, from_archive: bool, log: IO[bytes]
) -> Any:
    """Java loads its classes while Python imports PySpark."""
    java = start_java(settings, archive, from_archive=from_archive, log=log)
    import pyspark  # noqa: F401

    _silence_py4j()
    return java.connect()


def _by_sparks_scripts(
    settings: Mapping[str, str], log: IO[bytes], _class_names: Path | None
) -> Any:
    """Where environment, files or other settings have a say."""
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    use_java()
    _require_scripts()
    _silence_py4j()
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    return launch_gateway(conf, _process_options(log.fileno()))


def _require_scripts() -> None:
    """Raise JobError where SPARK_HOME says that Spark is where it is not."""
    home = os.environ.get("SPARK_HOME")
    if home is not None and not (Path(home) / "bin" / "spark-submit").is_file():
        raise JobError(
            f"SPARK_HOME={home} has no bin/spark-submit",
            "without SPARK_HOME it is the Spark that PySpark brings",
        )


def _partition_by_cores(session: SparkSession) -> None:
    """Spark's own number, 200, would be as many state stores for every aggregation."""
    name = "spark.sql.shuffle.partitions"
    if session.sparkContext.getConf().contains(name):
        return
    session.range(1).count()  # there are executors then, whose cores are known
    session.conf.set(name, str(session.sparkContext.defaultParallelism))


def _process_options(log: int) -> dict[str, object]:
    """Ctrl-C is ours alone: what runs the job must still answer the open windows."""
    return {"stdout": log, "stderr": subprocess.STDOUT, "start_new_session": True}


def _let_workers_find_us(*, is_local: bool) -> None:
    """Java starts the Python workers, which know this process's environment and no more.

    A program of ours is on this machine only: executors elsewhere get Python by its own path.
    """
    python = str(worker_python()) if is_local else sys.executable
    os.environ.setdefault("PYSPARK_PYTHON", python)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    paths = [str(_PACKAGES), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


def _silence_py4j() -> None:
    """What goes wrong in a call from Java is raised where it matters, and need not be logged."""
    logger = logging.getLogger("py4j")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False


def silence_hang_ups(server: Any) -> None:
    """Let PySpark's server of accumulators, which nothing of ours has, not print that Java left."""
    print_it = server.handle_error

    def handle_error(request: object, address: object) -> None:
        if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
            print_it(request, address)

    server.handle_error = handle_error


def _cores(master: str | None) -> int | None:
    """The cores of this machine that a local master uses; None for a cluster."""
    if master is None or master in ("local[*]", "local[*,1]"):
        return len(os.sched_getaffinity(0))
    if not master.startswith("local"):
        return None
    count = master.removeprefix("local").strip("[]").split(",")[0]
    return int(count) if count.isdecimal() else 1


def _memory_mib() -> int:
    """A quarter of the machine's memory for Java, at least Spark's own gigabyte, at most eight."""
    mib = (os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) >> 20
    return max(1024, min(8192, mib // 4))


def _new_log() -> Path:
    descriptor, name = tempfile.mkstemp(prefix="gigastream-spark-", suffix=".log")
    os.close(descriptor)
    return Path(name)
