# SPDX-License-Identifier: Apache-2.0
"""What an operator with two inputs reads is known by its port, from the leaf to the C."""

from __future__ import annotations

from dataclasses import replace

from gigastream.codegen.c_text import Lines
from gigastream.codegen.columns import column_leaf, write_inputs
from gigastream.codegen.operators.high_parts import over_columns
from gigastream.gsql.expressions import ColumnRef, Expression, FieldRef, Operation, ports_of
from gigastream.gsql.order.inference import monotone
from gigastream.gsql.queries import UnionSource
from gigastream.gsql.source import NOWHERE
from gigastream.gsql.types import Temporal, Type
from gigastream.plan.accumulators import expression_key
from gigastream.plan.base_time import base_times, through
from gigastream.plan.costs import columns_of
from gigastream.plan.text import expression_text, punctuation_text
from gigastream.plan.to_json import KEYS
from tests.plan.planned import checked, planned


def clock(port: int, index: int = 0, name: str = "ts") -> ColumnRef:
    increasing = Temporal.INCREASING
    return ColumnRef(
        type=Type.UINT, temporal=increasing, span=NOWHERE, index=index, name=name, port=port
    )


def both(operator: str, *operands: Expression) -> Operation:
    is_sum = operator == "+"
    return Operation(
        type=Type.UINT if is_sum else Type.BOOL,
        temporal=Temporal.INCREASING if is_sum else Temporal.VARYING,
        span=NOWHERE,
        operator=operator,
        operands=operands,
    )


def test_columns_of_two_ports_are_two() -> None:
    assert clock(0) != clock(1)
    assert hash(clock(0)) != hash(clock(1))
    assert expression_key(clock(0)) != expression_key(clock(1))
    assert ports_of(both("=", clock(0), clock(1))) == {0, 1}


def test_a_port_is_printed_where_there_are_two() -> None:
    assert expression_text(both("=", clock(0), clock(1))) == "S0.ts = S1.ts"
    assert expression_text(both("=", clock(1), clock(1, 2, "us"))) == "ts = us"
    time = FieldRef(type=Type.UINT, span=NOWHERE, protocol="PKT", field="time", accessor="time")
    assert expression_text(both("<", time, replace(time, port=1))) == "S0.time < S1.time"


def test_a_bound_is_read_of_its_port() -> None:
    function = monotone(both("+", clock(0, 3), clock(1, 2)))
    assert function is not None
    assert [(item.port, item.index) for item in function.inputs] == [(0, 3), (1, 2)]
    assert function.forward_text.startswith("(S0.ts, S1.ts) -> ")
    assert punctuation_text(function).startswith("punctuation of S0.ts, S1.ts ")
    _, inputs = over_columns(both("+", clock(0, 3), clock(1, 2)))
    assert inputs == ["inputs[0].bounds[3]", "inputs[1].bounds[2]"]


def test_a_value_is_read_of_its_port_s_row() -> None:
    lines = Lines()
    write_inputs(lines, [both("=", clock(0, 3), clock(1, 3))], "left", "right")
    text = lines.text()
    assert "*c0_3 = left->columns[3].values;" in text
    assert "*c1_3 = right->columns[3].values;" in text
    leaf = column_leaf(("left", "i"), ("right", "j"))
    assert [leaf(clock(port, 3)).code for port in (0, 1)] == ["c0_3[i]", "c1_3[j]"]


def test_base_time_and_columns_are_asked_of_their_port() -> None:
    seconds, minutes = (
        base_times(planned(f"SELECT {column} AS ts FROM PKT"))["query"]
        for column in ("time", "time/60")
    )
    for port, expected in enumerate((seconds, minutes)):
        (found,) = through([monotone(clock(port))], [seconds, minutes])
        assert [f.forward_text for f in found] == [f.forward_text for f in expected[0]]
    read = both("=", clock(0, 3), clock(1, 2))
    assert [columns_of(read, port=port) for port in (0, 1)] == [{3}, {2}]


def test_the_plan_s_first_form_keeps_its_names() -> None:
    """Spools of before hold the hash of plans that call a port a source."""
    assert KEYS == {"port": "source"}


def test_a_union_is_one_source() -> None:
    text = "SELECT time FROM TCP UNION UDP"
    (query,) = checked(text)
    assert len(query.sources) == 1
    assert isinstance(query.sole_source, UnionSource)
    assert len(query.sole_source.inputs) == 2
