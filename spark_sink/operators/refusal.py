# SPDX-License-Identifier: Apache-2.0
"""What Spark cannot run, as an error for a person."""

from gigastream.gsql.diagnostics import Diagnostic
from gigastream.gsql.source import Span

_HINT = "--on here runs it"


def refused(message: str, span: Span) -> Diagnostic:
    """The error, with what to do instead."""
    return Diagnostic("error", "not-on-spark", message, span, _HINT)
