# SPDX-License-Identifier: Apache-2.0
"""Names of functions of definition files: whoever shares one with another kind is never called."""

from __future__ import annotations

from collections import Counter

from gigastream.gsql.binder.aggregates import NAMES
from gigastream.gsql.binder.language import LANGUAGE
from gigastream.gsql.catalog.catalog import Catalog
from gigastream.gsql.catalog.late_names import LateNames
from gigastream.gsql.diagnostics import DiagnosticSink

_BUILT_IN = frozenset((*NAMES, *(name.lower() for name in LANGUAGE)))
_HINT = "give yours another name"


def check_own_names(catalog: Catalog, sink: DiagnosticSink) -> None:
    """Report those that a call would not reach, or that would take one away from ours."""
    if isinstance(catalog.functions, LateNames):
        return  # nothing there is the user's
    kinds = (
        [each for each in catalog.all_functions if not each.is_predicate],
        list(catalog.all_aggregates),
        list(catalog.all_stateful),
    )
    found = Counter(name for kind in kinds for name in {each.name.lower() for each in kind})
    for each in (each for kind in kinds for each in kind if each.header):
        name = each.name.lower()
        if name in _BUILT_IN:
            message = f"{each.name} is of the language itself: yours would never be called"
            sink.error("duplicate-name", message, each.span, _HINT)
        elif found[name] > 1:
            message = f"{each.name} is a function of another kind, too: one would never be called"
            sink.error("duplicate-name", message, each.span, _HINT)
