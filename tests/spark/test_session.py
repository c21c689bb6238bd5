# SPDX-License-Identifier: Apache-2.0
"""The session that all tests share is there, and its workers run our Python."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from spark_session import why_no_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_it_answers(spark: SparkSession) -> None:
    assert spark.range(10).selectExpr("sum(id)").first()[0] == 45


def test_java_has_room_for_the_code_of_many_queries() -> None:
    """Without the second compiler it keeps 48 MB, which one session has filled: it ended."""
    if why_no_spark() is not None:
        pytest.skip(why_no_spark())
    from spark_sink.java import java_home
    from spark_sink.session import QUICK_START

    words = QUICK_START["spark.driver.extraJavaOptions"].split()
    java = java_home() / "bin" / "java"
    flags = subprocess.run(
        [java, *words, "-XX:+PrintFlagsFinal", "-version"], capture_output=True, check=True
    ).stdout
    found = re.search(rb"ReservedCodeCacheSize\s*=\s*(\d+)", flags)
    assert found is not None
    assert int(found.group(1)) >= 240 << 20
