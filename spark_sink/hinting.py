# SPDX-License-Identifier: Apache-2.0
"""Errors where a notebook meets them: there is the text alone, so what to do is made part of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from gigastream.spool import SpoolReadError
from gigastream.spool.plan import SpooledPlanError
from spark_sink.job_errors import JobError

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def with_hints(called: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """Let the errors of a function for notebooks show their hints in their texts."""

    @wraps(called)
    def calling(*args: _Given.args, **kwargs: _Given.kwargs) -> _Found:
        try:
            return called(*args, **kwargs)
        except (JobError, SpoolReadError, SpooledPlanError) as error:
            shown = f"\nhint: {error.hint}"
            if error.hint is not None and not str(error).endswith(shown):
                error.args = (f"{error}{shown}",)
            raise

    return calling
