# SPDX-License-Identifier: Apache-2.0
"""Functions in C of one's own on Spark: Python workers call the same C over Arrow's columns.

The driver compiles it (gigastream/codegen/function_library.py), a small object for each call, which
goes with the tasks as those of UDAFs do.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from gigastream.codegen.compiler import CompileError, compile_query_set
from gigastream.codegen.function_library import NAME, function_library
from gigastream.gsql.catalog.build import STORED_CODE
from gigastream.gsql.expressions import FunctionCall
from spark_sink.expressions.values import SPARK_TYPE
from spark_sink.state_library import HandleError, loaded, values_of_calls

if TYPE_CHECKING:
    from pyspark.sql import Column


def called(e: FunctionCall, arguments: list[Column]) -> Column:
    """The result of a call; NULL where it has no value. Raises CompileError, OSError."""
    library = function_library(e)
    image, type_ = _compiled(library.text, Path(e.header).parent), str(e.type)
    types = tuple(str(e.arguments[index].type) for index in library.columns)
    given = [arguments[index] for index in library.columns] or [F.lit(True)]

    def values(rows: pa.Array) -> pa.Array:
        return values_of_calls(image, NAME, type_, types, rows)

    row = F.struct(*(column.alias(f"x{at}") for at, column in enumerate(given)))
    result: Column = F.arrow_udf(values, SPARK_TYPE[e.type])(row)
    return result


def why_not(e: FunctionCall) -> str | None:
    """Why it cannot be called here; None if it can."""
    if e.header.startswith(STORED_CODE):
        return f"{e.name} is code of a definition file that is not here"
    try:
        loaded(_compiled(function_library(e).text, Path(e.header).parent))
    except (CompileError, HandleError, OSError) as error:
        return f"{e.name}: {error}"
    return None


@lru_cache(maxsize=64)
def _compiled(text: str, folder: Path) -> bytes:
    return compile_query_set(text, headers=(folder,), portable=True).read_bytes()
