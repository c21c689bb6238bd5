# SPDX-License-Identifier: Apache-2.0
"""Checked queries to a plan of nodes below and above the border."""

from gigastream.plan.lowering import plan_queries
from gigastream.plan.plan import Plan

__all__ = ["Plan", "plan_queries"]
