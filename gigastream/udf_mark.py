# SPDX-License-Identifier: Apache-2.0
"""What marks a function in Python as one of queries: `@gigastream.udf`, `@gigastream.udaf`.

They do nothing but that: the function stays what it was. What its annotations mean is read by
gigastream/gsql/catalog/python_files.py; gigastream/batch_calls.py gives it its batches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar, overload

OnError = Literal["no value", "end"]
ON_ERROR: tuple[OnError, ...] = ("no value", "end")
MAX_BYTES = 1 << 20
"""Of a group's rows, where an aggregate says nothing."""
GREATEST_MAX_BYTES = 1 << 26
MARK = "__gigastream_udf__"
"""The attribute of a function that is marked: its mark, as a file has it behind the @."""

F = TypeVar("F", bound=Callable[..., object])


@overload
def udf(function: F, /) -> F: ...
@overload
def udf(*, on_error: OnError = "no value") -> Callable[[F], F]: ...
def udf(function: F | None = None, /, *, on_error: OnError = "no value") -> F | Callable[[F], F]:
    """Let queries call a function over Arrow arrays, which gives an array of the same length.

    Its annotations are the types: Arrow's classes of arrays, `Annotated` with a type of GSQL where
    the class alone does not say it, `| None` where there may be NULLs. `on_error` is what an
    exception means: rows of which it raises one have no value, or the query ends.

        @gigastream.udf
        def entropy(payload: pa.BinaryArray) -> pa.DoubleArray: ...
    """
    _check(on_error)
    return _marked(function, f"udf(on_error={on_error!r})")


@overload
def udaf(function: F, /) -> F: ...
@overload
def udaf(*, on_error: OnError = "no value", max_bytes: int = MAX_BYTES) -> Callable[[F], F]: ...
def udaf(
    function: F | None = None,
    /,
    *,
    on_error: OnError = "no value",
    max_bytes: int = MAX_BYTES,
) -> F | Callable[[F], F]:
    """Let queries aggregate by a function over Arrow arrays, which gives one scalar.

    It is given a group's rows, in the order of their values. Its annotations are as those of `udf`,
    of its result one of Arrow's scalars. A group keeps at most `max_bytes` of rows; one that has
    more is as one that the function raises of: it has no value, or the query ends.

        @gigastream.udaf
        def median(x: pa.UInt32Array) -> pa.UInt32Scalar: ...
    """
    _check(on_error)
    if not 1 <= max_bytes <= GREATEST_MAX_BYTES:
        raise ValueError(f"max_bytes is from 1 to {GREATEST_MAX_BYTES:,}, not {max_bytes}")
    return _marked(function, f"udaf(on_error={on_error!r}, max_bytes={max_bytes})")


def _check(on_error: OnError) -> None:
    if on_error not in ON_ERROR:
        raise ValueError(f"on_error is one of {', '.join(map(repr, ON_ERROR))}, not {on_error!r}")


def _marked(function: F | None, mark: str) -> F | Callable[[F], F]:
    def marked(given: F) -> F:
        setattr(given, MARK, mark)
        return given

    return marked if function is None else marked(function)
