# SPDX-License-Identifier: Apache-2.0
"""What all parts of the analysis of one query share."""

from __future__ import annotations

from collections.abc import Mapping

from gigastream.gsql.catalog.catalog import Catalog
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.expressions import Constant
from gigastream.late_dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class BindingContext:
    """One query's surroundings."""

    sink: DiagnosticSink
    catalog: Catalog
    parameters: Mapping[str, Constant | None] = field(default_factory=dict)
    """By lower-case name; None is one that was wrong, and reported."""
    defines: Mapping[str, str] = field(default_factory=dict)
    """The entries of DEFINE, by lower-case name."""
    properties: Mapping[str, Mapping[str, str]] | None = None
    """Of the interfaces of packets, by name; None: they are not known yet."""
    aggregate_names: tuple[str, ...] = ()
    is_finite: bool = False
    """All input has an end, at which groups without a clock are complete."""
