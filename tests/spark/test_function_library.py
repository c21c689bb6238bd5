# SPDX-License-Identifier: Apache-2.0
"""Functions in C of one's own in workers: over Arrow as Spark hands it to them, of every type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from gigastream.codegen.compiler import compile_query_set
from gigastream.codegen.function_library import NAME, function_library
from gigastream.gsql.expressions import FunctionCall, walk
from gigastream.gsql.source import SourceFile
from gigastream.plan import plan_queries
from gigastream.plan.operators.select import Select
from gigastream.query_texts import QueryTexts, check_texts
from spark_sink.operators import operator_of
from spark_sink.state_library import values_of_calls
from tests.spark.test_state_library import VALUES

C_TYPES = {
    "bool": "uint8_t",
    "ushort": "uint16_t",
    "uint": "uint32_t",
    "int": "int32_t",
    "ullong": "uint64_t",
    "llong": "int64_t",
    "float": "double",
    "IP": "uint32_t",
    "timestamp": "int64_t",
}
COLUMNS = {
    "bool": "len > 9",
    "ushort": "srcPort",
    "uint": "len",
    "int": "INT(len)",
    "ullong": "ULLONG(len)",
    "llong": "LLONG(len)",
    "float": "FLOAT(len)",
    "IP": "srcIP",
    "timestamp": "timestamp",
    "string": "TCP_data",
}
ECHO = """static inline {c} gs_function_echo_{name}({c} x)
{{
    return x;
}}
"""
TEXTS = """static inline bool gs_function_echo_string_string(struct gs_scratch *scratch,
    struct gs_string x, const void *handle, struct gs_string *result)
{
    uint32_t more = *(const uint8_t *)handle - '0';
    uint8_t *made = gs_scratch_take(scratch, x.length * more);
    if (made == NULL || x.length == 0) return false;
    for (uint32_t at = 0; at < more; at++)
        memcpy(made + at * x.length, x.bytes, x.length);
    *result = (struct gs_string){made, x.length * more};
    return true;
}
static inline void *gs_handle_echo_string_string_new(struct gs_string x, char *message,
                                                     size_t message_size)
{
    uint8_t *made = x.length == 1 ? malloc(1) : NULL;
    if (made != NULL) *made = *x.bytes;
    if (made == NULL) snprintf(message, message_size, "one digit");
    return made;
}
static inline void gs_handle_echo_string_string_free(void *handle)
{
    free(handle);
}
"""


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("echo")
    types = [f"{name} FUN [HFTA_ONLY] echo({name});\n" for name in C_TYPES]
    texts = "string FUN [HFTA_ONLY, PARTIAL] echo(string, string HANDLE);\n"
    (folder / "echo.gsql").write_text("".join(types) + texts)
    code = "".join(ECHO.format(c=c, name=name.lower()) for name, c in C_TYPES.items())
    (folder / "echo.h").write_text(
        '#include "gs_extension.h"\n#include <stdlib.h>\n' + code + TEXTS
    )
    return folder / "echo.gsql"


def call_of(declared: Path, column: str, more: str = "") -> FunctionCall:
    """The call of a query above the border."""
    protocol = "IPV4" if column == "srcIP" else "TCP"
    text = (
        f"DEFINE {{ query_name rows; visibility internal; }} SELECT time AS t, {column} AS x "
        f"FROM {protocol}; DEFINE {{ query_name asked; }} SELECT t, echo(x{more}) AS a FROM rows"
    )
    texts = QueryTexts(
        (SourceFile("query", text),), definitions=(str(declared),), interfaces={"default": {}}
    )
    nodes = plan_queries(check_texts(texts).queries).nodes
    (asked,) = (node for node in nodes if isinstance(node, Select) and node.name == "asked")
    found = (part for each in operator_of(asked).expressions(asked) for part in walk(each))
    return next(part for part in found if isinstance(part, FunctionCall))


def called(declared: Path, call: FunctionCall, values: list[Any], type_: pa.DataType) -> pa.Array:
    library = function_library(call)
    image = compile_query_set(library.text, headers=[declared.parent]).read_bytes()
    types = [str(call.arguments[index].type) for index in library.columns]
    rows = pa.StructArray.from_arrays([pa.array(values, type_)], ["x0"]).slice(1)
    return values_of_calls(image, NAME, str(call.type), types, rows)


@pytest.mark.parametrize("name", C_TYPES)
def test_values_of_a_type(name: str, declared: Path) -> None:
    """What is NULL is not asked, and NULL."""
    values, type_ = VALUES[name]
    given = [values[0], *values, None, values[1]]
    found = called(declared, call_of(declared, COLUMNS[name]), given, type_)
    assert found.to_pylist() == [*values, None, values[1]]
    assert found.type == type_


def test_texts_are_of_any_length(declared: Path) -> None:
    """With a HANDLE; where a PARTIAL function has no value there is NULL."""
    call = call_of(declared, COLUMNS["string"], ", '3'")
    texts = [b"", b"a", None, *(bytes([65 + at % 26]) * (at % 700) for at in range(2000))]
    found = called(declared, call, texts, pa.binary())
    assert found.to_pylist() == [text * 3 if text else None for text in texts[1:]]
