# SPDX-License-Identifier: Apache-2.0
"""Functions in Python as C: the host makes the columns, which the schema says."""

from __future__ import annotations

from gigastream.codegen.operators.high_code import same_for_every_query

CODE = same_for_every_query("host_map")
