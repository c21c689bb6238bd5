# SPDX-License-Identifier: Apache-2.0
"""Spark's Java, started as one program instead of three.

PySpark starts a shell script, which starts a Java that works out the command of a second one, whose
first class works out the settings. Where nobody but us has something to say about them all of it is
known before, and the class that Python talks to runs at once, with the settings as properties.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from spark_sink.class_archive import ClassArchive
from spark_sink.job_errors import JobError

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_MEMORY = "spark.driver.memory"
_GATEWAY = "org.apache.spark.api.python.PythonGatewayServer"
_OPENED = (
    *("java.base/java.lang", "java.base/java.lang.invoke", "java.base/java.lang.reflect"),
    *("java.base/java.io", "java.base/java.net", "java.base/java.nio", "java.base/java.util"),
    *("java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic"),
    *("java.base/jdk.internal.ref", "java.base/sun.nio.ch", "java.base/sun.nio.cs"),
    *("java.base/sun.security.action", "java.base/sun.util.calendar"),
    "java.security.jgss/sun.security.krb5",
)
_OF_THE_LAUNCHER = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)
"""What Spark's launcher says to Java, but for a module that only linear algebra uses."""
_SAYS_MORE = ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS")
"""Environment: what the scripts read, besides `conf` in Spark's folder."""
_KNOWN = (
    *("spark.app.name", "spark.master", "spark.log.level", "spark.ui.", "spark.sql."),
    *("spark.driver.host", "spark.driver.bindAddress", _MEMORY, JAVA_OPTIONS),
    *("spark.local.dir", "spark.python."),
)
"""Settings, or what they begin with, that mean the same to both ways."""
_CONNECTION = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")
_LOOK_PERIOD_S = 0.01


def can_start(settings: Mapping[str, str]) -> bool:
    """Whether nothing but these settings has a say in how Java starts."""
    return (
        settings["spark.master"].startswith("local")
        and all(name.startswith(_KNOWN) for name in settings)
        and not any(name in os.environ for name in _SAYS_MORE)
        and not (spark_home() / "conf").exists()
    )


def spark_home() -> Path:
    """Return the folder of PySpark, which has Spark in it, without importing it."""
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).resolve().parent


def class_path() -> tuple[Path, ...]:
    """Return Spark's jars, in an order that stays."""
    jars = sorted((spark_home() / "jars").glob("*.jar"))
    return tuple(sorted(jars, key=lambda jar: not jar.name.startswith("slf4j-api-")))


def start_java(
    settings: Mapping[str, str], archive: ClassArchive, *, from_archive: bool, log: IO[bytes]
) -> StartedJava:
    """Start Java, which prints into `log`; Python may do something else until it is connected."""
    options = shlex.split(settings.get(JAVA_OPTIONS, ""))
    said = (f"-D{name}={value}" for name, value in settings.items() if name != JAVA_OPTIONS)
    folder = tempfile.TemporaryDirectory(prefix="gigastream-java-")
    answer = Path(folder.name) / "connection"
    words = [
        *(str(archive.java.program), "-cp", os.pathsep.join(map(str, archive.class_path))),
        *(f"-Xmx{settings[_MEMORY]}", *options, *(archive.options() if from_archive else ())),
        *(*_OF_THE_LAUNCHER, *said),
        _GATEWAY,
    ]
    return StartedJava(_process(words, answer, log), folder, answer)


class JavaEndedError(JobError):
    """It has ended before it listened."""


class StartedJava:
    """A Java that is about to say where it listens."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        folder: tempfile.TemporaryDirectory[str],
        answer: Path,
    ) -> None:
        self.process = process
        self._folder = folder
        self._answer = answer

    def connect(self) -> Any:
        """Return PySpark's gateway to it, once it listens. Raises JavaEndedError."""
        try:
            while not self._answer.is_file():
                if self.process.poll() is not None:
                    raise JavaEndedError("Java ended")
                time.sleep(_LOOK_PERIOD_S)
            gateway = _connected(*_read(self._answer))
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self._folder.cleanup()
        gateway.proc = self.process
        return gateway


def _process(words: Sequence[str], answer: Path, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Ctrl-C is ours alone: what runs the job must still answer the open windows."""
    environment = {
        **os.environ,
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(answer),
        "SPARK_CONNECT_MODE": "0",
        "PYTHONHASHSEED": "0",
    }
    return subprocess.Popen(
        words,
        env=environment,
        stdin=subprocess.PIPE,  # at whose end Java ends
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=_without_interrupts,
    )


def _without_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _read(answer: Path) -> tuple[str, str]:
    from pyspark.serializers import UTF8Deserializer, read_int

    with answer.open("rb") as stream:
        return str(read_int(stream)), UTF8Deserializer().loads(stream)


def _connected(port: str, secret: str) -> Any:
    """PySpark looks for a Java that is there in the environment, and makes its imports itself."""
    from pyspark.java_gateway import launch_gateway

    os.environ.update(zip(_CONNECTION, (port, secret), strict=True))
    try:
        return launch_gateway()
    finally:
        for name in _CONNECTION:
            del os.environ[name]
