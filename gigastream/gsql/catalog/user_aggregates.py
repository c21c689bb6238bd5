# SPDX-License-Identifier: Apache-2.0
"""UDAFs and extractors of definition files (GSQL.md §2): C functions over a state of one size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gigastream.gsql.catalog.catalog import Extractor, Function, UserAggregate
from gigastream.gsql.catalog.protocols import OPAQUE_HINT, resolved_type
from gigastream.gsql.diagnostics import DiagnosticSink, did_you_mean
from gigastream.gsql.source import Span
from gigastream.gsql.syntax import ast, declarations
from gigastream.gsql.types import Type
from gigastream.late_dataclass import dataclass, fields, replace


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration, and what it says as that of a function would."""

    node: declarations.Declaration
    function: Function

    def modifier(self, name: str) -> declarations.Modifier | None:
        """The modifier of that name."""
        return next((m for m in self.node.modifiers if m.name == name), None)


Overloads = Mapping[str, tuple[UserAggregate, ...]]


def state_type(node: ast.TypeName, sink: DiagnosticSink) -> Type | None:
    """The type of a state, or None after an error."""
    found = resolved_type(node, sink)
    if found is Type.STRING:
        message = "a state is of one size, and strings are not"
        sink.error("wrong-type", message, node.span, OPAQUE_HINT)
        return None
    return found


def user_aggregates(
    declared: Iterable[Declared], sink: DiagnosticSink
) -> dict[str, tuple[UserAggregate, ...]]:
    """The UDAFs, by lower-case name; those that others name are found in any order."""
    found: dict[str, tuple[UserAggregate, ...]] = {}
    waiting = []
    for item in declared:
        aggregate = _aggregate(item, sink)
        if aggregate is not None and _added(found, aggregate, sink):
            waiting.append((item, aggregate))
    for item, aggregate in waiting:
        parts = _parts(item, aggregate, found, sink)
        if parts is not None:
            whole = replace(aggregate, below=parts[0], above=parts[1])
            _put(found, aggregate, whole)
    return found


def extractors(
    declared: Iterable[Declared], aggregates: Overloads, sink: DiagnosticSink
) -> dict[str, tuple[Extractor, ...]]:
    """The extractors, by lower-case name."""
    found: dict[str, tuple[Extractor, ...]] = {}
    for item in declared:
        extractor = _extractor(item, aggregates, sink)
        if extractor is None:
            continue
        others = found.get(extractor.name.lower(), ())
        if is_new(extractor, (*others, *aggregates.get(extractor.name.lower(), ())), sink):
            found[extractor.name.lower()] = (*others, extractor)
    return found


# UDAFs


def _aggregate(item: Declared, sink: DiagnosticSink) -> UserAggregate | None:
    assert isinstance(item.node, declarations.AggregateDeclaration)
    state = state_type(item.node.storage, sink)
    only = item.modifier("LFTA_ONLY")
    if only is not None:
        hint = "LFTA_LEGAL lets it begin below it"
        sink.error("bad-modifier", "an aggregate is completed above the border", only.span, hint)
    if state is None or only is not None:
        return None
    own = {part.name: getattr(item.function, part.name) for part in fields(Function)}
    return UserAggregate(**own, state=state, is_running=item.modifier("RUNNING") is not None)


def _added(
    found: dict[str, tuple[UserAggregate, ...]], aggregate: UserAggregate, sink: DiagnosticSink
) -> bool:
    others = found.get(aggregate.name.lower(), ())
    if not is_new(aggregate, others, sink):
        return False
    found[aggregate.name.lower()] = (*others, aggregate)
    return True


def is_new(function: Function, others: Sequence[Function], sink: DiagnosticSink) -> bool:
    """Whether no other has its arguments; an error where one has."""
    if any(other.parameters == function.parameters for other in others):
        message = f"{function.signature} is declared twice"
        sink.error("duplicate-name", message, function.span)
        return False
    return True


def _put(
    found: dict[str, tuple[UserAggregate, ...]], old: UserAggregate, new: UserAggregate
) -> None:
    key = old.name.lower()
    found[key] = tuple(new if other is old else other for other in found[key])


# SUBAGGR and SUPERAGGR


def _parts(
    item: Declared, aggregate: UserAggregate, found: Overloads, sink: DiagnosticSink
) -> tuple[UserAggregate, UserAggregate] | None:
    """What runs below the border and above it; None where nothing is said, or after an error."""
    sub, sup = item.modifier("SUBAGGR"), item.modifier("SUPERAGGR")
    given = sub or sup
    if given is None:
        return None
    if sub is None or sup is None or item.modifier("HFTA_ONLY") is not None:
        message = (
            f"{aggregate.name} is HFTA_ONLY, and has {given.name}"
            if sub is not None and sup is not None
            else f"{aggregate.name} has {given.name} alone"
        )
        hint = "SUBAGGR is what runs below the border, SUPERAGGR what completes it above"
        sink.error("bad-modifier", message, given.span, hint)
        return None
    constants = sorted(aggregate.constants)
    handle = None if aggregate.handle is None else 1 + constants.index(aggregate.handle)
    below = _named(found, sub, aggregate, sink)
    if below is None or not _crosses(below, sub.span, sink):
        return None
    wanted = replace(
        aggregate,
        parameters=(below.result, *(aggregate.parameters[at] for at in constants)),
        constants=frozenset(range(1, 1 + len(constants))),
        handle=handle,
    )
    above = _named(found, sup, wanted, sink)
    if above is None or not _gives(above, aggregate, sup.span, sink):
        return None
    return below, above


def _named(
    found: Overloads, modifier: declarations.Modifier, like: UserAggregate, sink: DiagnosticSink
) -> UserAggregate | None:
    """The UDAF that a modifier names, with the arguments of `like`; None after an error."""
    name = modifier.value or ""
    overloads = found.get(name.lower(), ())
    for aggregate in overloads:
        if _arguments(aggregate) == _arguments(like):
            return aggregate
    wanted = replace(like, name=name).signature
    hint = did_you_mean(name, tuple(found)) if not overloads else None
    hint = hint or ", ".join(f"there is {other.signature}" for other in overloads) or None
    sink.error("unknown-function", f"there is no UDAF {wanted}", modifier.span, hint)
    return None


def _arguments(aggregate: UserAggregate) -> tuple[object, ...]:
    return aggregate.parameters, aggregate.constants, aggregate.handle


def _crosses(below: UserAggregate, span: Span, sink: DiagnosticSink) -> bool:
    if below.result is Type.STRING:
        message = f"{below.name} gives a string: what crosses the border is of one size"
        sink.error("wrong-type", message, span, OPAQUE_HINT)
        return False
    if below.partial:
        message = f"{below.name} is PARTIAL: what it gives crosses the border always"
        sink.error("bad-modifier", message, span)
        return False
    return True


def _gives(
    above: UserAggregate, aggregate: UserAggregate, span: Span, sink: DiagnosticSink
) -> bool:
    if above.result is not aggregate.result:
        message = f"{above.name} gives {above.result}, and {aggregate.name} {aggregate.result}"
        sink.error("wrong-type", message, span)
        return False
    return True


# Extractors


def _extractor(item: Declared, aggregates: Overloads, sink: DiagnosticSink) -> Extractor | None:
    node, function = item.node, item.function
    assert isinstance(node, declarations.ExtractorDeclaration)
    aggregate = _read_aggregate(node.aggregate, function, aggregates, sink)
    if aggregate is None:
        return None
    own = len(aggregate.parameters)
    for at in range(own, len(function.parameters)):
        if at not in function.constants or at == function.handle:
            message = "an argument of an extractor behind those of its UDAF is a constant"
            hint = f"{function.parameters[at]} CONST"
            sink.error("wrong-type", message, node.parameters[at].span, hint)
            return None
    if aggregate.above is not None and aggregate.above.state is not aggregate.state:
        message = (
            f"{aggregate.name} keeps {aggregate.state} and its SUPERAGGR {aggregate.above.state}: "
            f"{function.name} could read one of them alone"
        )
        sink.error("wrong-type", message, node.aggregate.span)
        return None
    parts = {part.name: getattr(function, part.name) for part in fields(Function)}
    return Extractor(**parts, aggregate=aggregate, reads=node.extractor.name)


def _read_aggregate(
    name: ast.Name, function: Function, aggregates: Overloads, sink: DiagnosticSink
) -> UserAggregate | None:
    """The overload whose arguments an extractor's begin with; the longest, where there are two."""
    overloads = aggregates.get(name.name.lower(), ())
    fitting = [o for o in overloads if function.parameters[: len(o.parameters)] == o.parameters]
    if fitting:
        return max(fitting, key=lambda aggregate: len(aggregate.parameters))
    if overloads:
        message = f"the arguments of {function.name} begin with none of {name.name}"
        hint = ", ".join(f"there is {other.signature}" for other in overloads)
    else:
        message = f"there is no UDAF {name.name}"
        hint = did_you_mean(name.name, tuple(aggregates)) or ""
    sink.error("unknown-function", message, name.span, hint or None)
    return None
