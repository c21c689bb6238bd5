# SPDX-License-Identifier: Apache-2.0
"""STATE and SFUN of definition files (GSQL.md §2): C functions over what a supergroup keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gigastream.gsql.catalog.catalog import Function, StatefulFunction
from gigastream.gsql.catalog.user_aggregates import Declared, is_new, state_type
from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean
from gigastream.gsql.syntax import declarations
from gigastream.gsql.types import Type
from gigastream.late_dataclass import fields

States = Mapping[str, declarations.StateDeclaration]


def stateful_functions(
    declared: Iterable[Declared], states: States, sink: DiagnosticSink
) -> dict[str, tuple[StatefulFunction, ...]]:
    """The stateful functions, by lower-case name."""
    storage = {key: state_type(node.storage, sink) for key, node in states.items()}
    found: dict[str, tuple[StatefulFunction, ...]] = {}
    for item in declared:
        function = _function(item, states, storage, sink)
        if function is None:
            continue
        others = found.get(function.name.lower(), ())
        if is_new(function, others, sink):
            found[function.name.lower()] = (*others, function)
    return found


def _function(
    item: Declared, states: States, storage: Mapping[str, Type | None], sink: DiagnosticSink
) -> StatefulFunction | None:
    node = item.node
    assert isinstance(node, declarations.StatefulFunctionDeclaration)
    key = node.state.name.lower()
    if key not in states:
        hint = did_you_mean(node.state.name, tuple(states)) or "fstring16 STATE name;"
        sink.error("unknown-state", f"there is no state {node.state.name}", node.state.span, hint)
        return None
    low = item.modifier("LFTA_LEGAL") or item.modifier("LFTA_ONLY")
    if low is not None:
        message = "a stateful function runs above the border, where supergroups are"
        sink.error("bad-modifier", message, low.span)
        return None
    kept = storage[key]
    if kept is None:
        return None
    own = {part.name: getattr(item.function, part.name) for part in fields(Function)}
    return StatefulFunction(**own, state=states[key].name, storage=kept)
