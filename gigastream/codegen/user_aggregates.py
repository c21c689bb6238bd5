# SPDX-License-Identifier: Apache-2.0
"""The C of UDAFs: what stands between a state's bytes and the functions of a definition file.

Each UDAF of a query set, with its constants, has functions of its own in the generated code, named
`u_…`: they know the type of its state and arguments, and where its handle is. docs/extensions.md
is the contract for what they call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from gigastream.codegen.c_text import C_TYPE, Lines, constant
from gigastream.codegen.context import CodeContext
from gigastream.gsql.expressions import Constant, StateFunction
from gigastream.gsql.queries import UserCall, UserState
from gigastream.gsql.types import Type, size_of

HANDLES = "void *const *handles"


def state_struct(function: StateFunction) -> str:
    """The C type of a state in a slot or a group."""
    return C_TYPE[Type.opaque(size_of(function.state))]


def name_of(function: StateFunction) -> str:
    """What the C functions of a UDAF or extractor begin with: one name for equal constants."""
    constants = (constant(e) for e in function.arguments if isinstance(e, Constant))
    digest = hashlib.sha256("\0".join((function.symbol, *constants)).encode()).hexdigest()
    return f"u_{function.name.lower()}_{digest[:16]}"


def note_rows(context: CodeContext, function: StateFunction, arguments: Sequence[Type]) -> None:
    """Rows are added to the state: `…_start` begins with one, `…_add` takes one more."""
    lines = Lines()
    for name, begins in (("start", True), ("add", False)):
        head = f"static inline void {name_of(function)}_{name}("
        head += ", ".join((f"{state_struct(function)} *state", HANDLES, *_parameters(arguments)))
        with lines.block(head + ")"):
            if begins:
                lines.add("memset(state->bytes, 0, sizeof state->bytes);")
                lines.add(_call(context, function, "init", _state(function)))
            lines.add(_call(context, function, "update", _state(function), *_names(arguments)))
        lines.add("")
    _keep(context, function, "rows", lines)


def note_below(context: CodeContext, state: UserState) -> None:
    """A SUBAGGR leaves when it is full, and says what crosses the border: `_full`, `_partial`."""
    if state.merges:
        return
    function, lines = state.below, Lines()
    head = f"({HANDLES}, const {state_struct(function)} *state)"
    with lines.block(f"static inline bool {name_of(function)}_full{head}"):
        lines.add("return " + _call(context, function, "full", _state(function, "const ")))
    lines.add("")
    partial = C_TYPE[Type.opaque(size_of(state.partial))]
    with lines.block(f"static inline {partial} {name_of(function)}_partial{head}"):
        lines.add(f"{partial} partial = {{{{0}}}};")
        if function.type.is_opaque:
            _write_value(lines, context, function, "partial.bytes")
        else:
            lines.add(f"{C_TYPE[function.type]} value;")
            _write_value(lines, context, function, "&value")
            lines.add("memcpy(partial.bytes, &value, sizeof value);")
        lines.add("return partial;")
    lines.add("")
    _keep(context, function, "below", lines)


def note_above(context: CodeContext, state: UserState) -> None:
    """What crossed the border is looked at, and taken: `…_valid`, and `…_take` or `…_merge`.

    What was in a spool may be anybody's bytes.
    """
    function, lines = state.above, Lines()
    partial = C_TYPE[Type.opaque(size_of(state.partial))]
    crossed = _pointer(state.partial, "partial->bytes", "const ")
    head = f"static inline bool {name_of(function)}_valid({HANDLES}, const {partial} *partial)"
    with lines.block(head):
        lines.add("return " + _call(context, function, "valid", crossed))
    lines.add("")
    _keep(context, function, "valid", lines)
    if state.merges:
        note_merge(context, function)
        return
    lines = Lines()
    for name, begins in (("take_first", True), ("take", False)):
        head = f"static inline void {name_of(function)}_{name}({state_struct(function)} *state, "
        with lines.block(f"{head}{HANDLES}, const {partial} *partial)"):
            if begins:
                lines.add("memset(state->bytes, 0, sizeof state->bytes);")
                lines.add(_call(context, function, "init", _state(function)))
            value = crossed if state.partial.is_opaque else f"*{crossed}"
            lines.add(_call(context, function, "update", _state(function), value))
        lines.add("")
    _keep(context, function, "take", lines)


def note_merge(context: CodeContext, function: StateFunction) -> None:
    """Two states become one: `…_merge`."""
    lines, struct = Lines(), state_struct(function)
    head = f"static inline void {name_of(function)}_merge({struct} *state, {HANDLES}, "
    with lines.block(f"{head}const {struct} *other)"):
        other = _state(function, "const ", "other")
        lines.add(_call(context, function, "merge", _state(function), other))
    lines.add("")
    _keep(context, function, "merge", lines)


def note_moved(context: CodeContext, function: StateFunction) -> None:
    """A group goes on, and its window has moved by so many: `…_moved`."""
    lines, head = Lines(), f"static inline void {name_of(function)}_moved"
    with lines.block(f"{head}({state_struct(function)} *state, {HANDLES}, uint64_t windows)"):
        lines.add(_call(context, function, "moved", _state(function), "windows"))
    lines.add("")
    _keep(context, function, "moved", lines)


def value_of(function: StateFunction, call: UserCall) -> str:
    """The C function that gives a state's value: by the UDAF, or its extractor."""
    return f"{name_of(function)}_{name_of(call.extractor or function)}"


def note_value(context: CodeContext, function: StateFunction, call: UserCall) -> str:
    """A state's value, or none; the name of the C function."""
    made, name, lines = call.extractor or function, value_of(function, call), Lines()
    head = f"static inline bool {name}(struct gs_scratch *scratch, {HANDLES}, "
    with lines.block(f"{head}const {state_struct(function)} *state, {C_TYPE[made.type]} *result)"):
        if made.type.is_opaque:
            lines.add("memset(result->bytes, 0, sizeof result->bytes);")
        to = "result->bytes" if made.type.is_opaque else "result"
        lines.add(f"return {_write_value(lines, context, function, to, call.extractor)};")
    lines.add("")
    _keep(context, function, f"value {name}", lines)
    return name


# The parts of a call


def _keep(context: CodeContext, function: StateFunction, what: str, lines: Lines) -> None:
    context.called(function)
    context.of_states.setdefault((name_of(function), what), lines.text())
    context.opaque_sizes.add(size_of(function.state))


def _parameters(types: Sequence[Type]) -> list[str]:
    return [
        f"const {C_TYPE[type_]} *x{at}" if type_.is_opaque else f"{C_TYPE[type_]} x{at}"
        for at, type_ in enumerate(types)
    ]


def _names(types: Sequence[Type]) -> list[str]:
    return [f"x{at}->bytes" if type_.is_opaque else f"x{at}" for at, type_ in enumerate(types)]


def _state(function: StateFunction, const: str = "", name: str = "state") -> str:
    """A pointer to the state, as the user's functions know it."""
    return _pointer(function.state, f"{name}->bytes", const)


def _pointer(type_: Type, code: str, const: str) -> str:
    whole = f"({const}void *){code}"
    return whole if type_.is_opaque else f"({const}{C_TYPE[type_]} *){whole}"


def _call(context: CodeContext, function: StateFunction, what: str, *arguments: str) -> str:
    """A statement, or what is behind `return`."""
    given = (*arguments, *_constants(context, function))
    return f"{function.symbol}_{what}({', '.join(given)});"


def _constants(context: CodeContext, function: StateFunction) -> list[str]:
    found = []
    for at, argument in enumerate(function.arguments):
        assert isinstance(argument, Constant)
        is_handle = at == function.handle
        found.append(f"handles[{context.handle(function)}]" if is_handle else constant(argument))
    return found


def _write_value(
    lines: Lines,
    context: CodeContext,
    function: StateFunction,
    to: str,
    extractor: StateFunction | None = None,
) -> str:
    """A value of a state into `*to`; the C condition under which there is one."""
    made = extractor or function
    scratch = ["scratch"] if made.type is Type.STRING else []
    given = [*scratch, _state(function, "const "), *_constants(context, function)]
    given += [] if extractor is None else _constants(context, extractor)
    symbol = made.symbol if extractor else f"{made.symbol}_output"
    # an infinity and NaN are no value
    is_finite = f"isfinite(*({to}))" if made.type is Type.FLOAT else "true"
    if made.partial:
        return f"{symbol}({', '.join([*given, to])}) && {is_finite}"
    if made.type.is_opaque:
        lines.add(f"{symbol}({', '.join([*given, to])});")
    else:
        lines.add(f"*({to}) = {symbol}({', '.join(given)});")
    return is_finite
