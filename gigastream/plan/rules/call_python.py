# SPDX-License-Identifier: Apache-2.0
"""What calls functions in Python reads rows that have passed through them."""

from __future__ import annotations

from gigastream.gsql.expressions import PythonCall
from gigastream.late_dataclass import replace
from gigastream.plan.builders import NodeNames
from gigastream.plan.nodes import Node, topological
from gigastream.plan.plan import Plan
from gigastream.plan.python_calls import CalledRows


def call_python(plan: Plan) -> Plan:
    """Put a PythonMap before each operator whose expressions call functions in Python.

    Raises GsqlError where an operator can call none.

    Query:
        SELECT network(srcIP) AS n FROM IPV4 WHERE len > 100
    Before:
           |    n  = network(srcIP)  IP  varying
           `- LFTA query_low, below the border
    After:
           |    n  = network(srcIP)  IP  varying
           `- functions in Python query_python
    """
    if not any(map(_calls, plan.nodes)):
        return plan
    names = NodeNames({node.name.lower() for node in plan.nodes})
    made: dict[int, Node] = {}
    for node in plan.nodes:
        changed = node.with_inputs(tuple(made[id(child)] for child in node.inputs))
        if _calls(node):
            changed = changed.over_called(CalledRows(changed.inputs[0], names, node.name))
        made[id(node)] = changed
    outputs = tuple(made[id(output)] for output in plan.outputs)
    return replace(plan, nodes=topological(outputs))


def _calls(node: Node) -> bool:
    """Whether it reads the result of one that it does not make itself."""
    return any(isinstance(c, PythonCall) and c not in node.host_calls for c in node.calls)
