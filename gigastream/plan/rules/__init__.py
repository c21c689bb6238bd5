# SPDX-License-Identifier: Apache-2.0
"""The optimizer is this tuple: rules in order, a file each, every one a Plan to a Plan."""

from __future__ import annotations

from collections.abc import Callable

from gigastream.plan.plan import Plan
from gigastream.plan.rules.ask_joint import ask_joint
from gigastream.plan.rules.call_python import call_python
from gigastream.plan.rules.choose_prefilter import choose_prefilter
from gigastream.plan.rules.choose_unpacking import choose_unpacking
from gigastream.plan.rules.describe_needs import describe_needs
from gigastream.plan.rules.measure_steps import measure_steps
from gigastream.plan.rules.order_predicates import order_predicates
from gigastream.plan.rules.share_groups import share_groups
from gigastream.plan.rules.share_low import share_low
from gigastream.plan.rules.sort_inputs import sort_inputs

RULES: tuple[Callable[[Plan], Plan], ...] = (
    call_python,
    sort_inputs,
    order_predicates,
    share_low,
    choose_prefilter,
    share_groups,
    choose_unpacking,
    ask_joint,
    describe_needs,
    measure_steps,
)
