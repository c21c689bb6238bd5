# SPDX-License-Identifier: Apache-2.0
"""Union as C: it is the same for every query."""

from __future__ import annotations

from gigastream.codegen.operators.high_code import same_for_every_query

CODE = same_for_every_query("union")
