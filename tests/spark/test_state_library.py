# SPDX-License-Identifier: Apache-2.0
"""What workers do with the C of UDAFs, over Arrow as Spark hands it to them, of every type."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from gigastream.codegen.compiler import compile_query_set
from gigastream.codegen.state_library import state_library
from gigastream.gsql.source import SourceFile
from gigastream.plan import plan_queries
from gigastream.plan.operators.aggregate import Aggregate
from gigastream.query_texts import QueryTexts, check_texts
from spark_sink.state_library import (
    Loaded,
    merged_states,
    states_of_rows,
    valid_states,
    values_of_states,
)
from tests.extensions.tops import TYPES, definitions

HIGH = """
DEFINE { query_name rows; visibility internal; }
SELECT time AS t, top(%s) AS x FROM %s GROUP BY time;
DEFINE { query_name asked; }
SELECT t, top(x) AS a FROM rows GROUP BY t
"""
VALUES: dict[str, tuple[list[Any], pa.DataType]] = {
    "bool": ([False, True, False], pa.bool_()),
    "ushort": ([7, 65535, 9], pa.int32()),
    "uint": ([7, (1 << 32) - 1, 9], pa.int64()),
    "int": ([-(1 << 31), (1 << 31) - 1, 9], pa.int32()),
    "ullong": ([Decimal(7), Decimal((1 << 64) - 1), Decimal(9)], pa.decimal128(20, 0)),
    "llong": ([-(1 << 63), (1 << 63) - 1, 9], pa.int64()),
    "timestamp": ([-5, 1 << 62, 9], pa.int64()),
    "float": ([-1e300, 1e300, 0.5], pa.float64()),
    "IP": ([7, (1 << 32) - 1, 9], pa.int64()),
    "IPV6": ([bytes(16), b"\xff" * 16, b"\x20" * 16], pa.binary()),
    "INET": ([bytes(16), b"\xff" * 16, b"\x20" * 16], pa.binary()),
}
STATE = 32


def aggregate(declared: Path, text: str, name: str) -> Aggregate:
    texts = QueryTexts(
        (SourceFile("query", text),), definitions=(str(declared),), interfaces={"default": {}}
    )
    plan = plan_queries(check_texts(texts).queries)
    (found,) = (n for n in plan.nodes if isinstance(n, Aggregate) and n.name == name)
    return found


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return definitions(tmp_path_factory.mktemp("tops"))


@pytest.mark.parametrize("name", TYPES)
def test_rows_and_partial_states_of_a_type(name: str, declared: Path) -> None:
    values, type_ = VALUES[name]
    library = state_library(aggregate(declared, HIGH % TYPES[name][2:], "asked"))
    image = compile_query_set(library.text, headers=[declared.parent]).read_bytes()
    rows = [{"x0": value} for value in values]
    lists = pa.array(
        [None, rows[:1], [], rows, rows[2:]], pa.list_(pa.struct([("x0", type_)]))
    ).slice(1)
    states = states_of_rows(image, library.states[0], STATE, [name], lists)
    assert states.is_valid().to_pylist() == [True, False, True, True]
    found = values_of_states(image, library.values[0], STATE, name, states)
    assert found.to_pylist() == [values[0], None, values[1], values[2]]
    assert found.type == type_

    library = state_library(aggregate(declared, HIGH % TYPES[name][2:], "rows"))
    image = compile_query_set(library.text, headers=[declared.parent]).read_bytes()
    partials = pa.array([*states.drop_null().to_pylist(), bytes(STATE), b"short"], pa.binary())
    valid = valid_states(image, library.valid[0], STATE, partials)
    assert valid.to_pylist() == [True, True, True, False, False]
    merged = merged_states(
        image,
        library.states[0],
        (STATE, STATE),
        pa.array([partials.to_pylist()[:3], []], pa.list_(pa.binary())),
    )
    found = values_of_states(image, library.values[0], STATE, name, merged)
    assert found.to_pylist() == [values[1], None]


def test_texts_are_of_any_length(declared: Path) -> None:
    query = "SELECT t, longest(x) AS a FROM rows GROUP BY t;" + (
        "DEFINE { query_name rows; visibility internal; } SELECT time AS t, TCP_data AS x FROM TCP"
    )
    library = state_library(aggregate(declared, query, "query"))
    image = compile_query_set(library.text, headers=[declared.parent]).read_bytes()
    texts = [[f"{at:030}".encode(), b"", b"a"][: at % 4] for at in range(9000)]
    lists = pa.array(
        [[{"x0": text} for text in each] for each in texts],
        pa.list_(pa.struct([("x0", pa.binary())])),
    )
    states = states_of_rows(image, library.states[0], 31, ["string"], lists)
    found = values_of_states(image, library.values[0], 31, "string", states)
    assert found.to_pylist() == [max(each, default=None) or None for each in texts]


def test_two_libraries_are_two(declared: Path) -> None:
    """The loader knows objects by their paths."""
    library = state_library(aggregate(declared, HIGH % TYPES["uint"][2:], "asked"))
    other = state_library(aggregate(declared, HIGH % TYPES["int"][2:], "asked"))
    for each in (library, other):
        image = compile_query_set(each.text, headers=[declared.parent]).read_bytes()
        with pytest.raises(AttributeError):
            Loaded(image).call((other if each is library else library).values[0])
