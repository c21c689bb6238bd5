# SPDX-License-Identifier: Apache-2.0
"""Functions that remember what they found, in workers that do not have our modules too.

An lru_cache travels as the name of a module, which has to be there; this one as what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


class Remembered:
    """A function, with an lru_cache of `size` in each process; it travels without what is in it."""

    def __init__(self, size: int, compute: Callable[..., Any]) -> None:
        self._size, self._compute = size, compute
        self._known = lru_cache(size)(compute)

    def __call__(self, *given: Any) -> Any:
        return self._known(*given)

    def __reduce__(self) -> tuple[type[Remembered], tuple[int, Callable[..., Any]]]:
        return Remembered, (self._size, self._compute)


def remembered(size: int) -> Callable[[Function], Function]:
    """Decorate a function of arguments that can be compared."""

    def decorate(compute: Function) -> Function:
        return cast(Function, Remembered(size, compute))

    return decorate
