# SPDX-License-Identifier: Apache-2.0
"""The experiments, in the order in which they are run; a new one is a file and a line here."""

from experiments import (
    band_join,
    flow_join,
    flush_policies,
    heartbeat_cost,
    idle_waiting,
    joint_bounds,
    late_join,
    silent_merge,
    sliding_count,
    union_join,
    union_memory,
)

EXPERIMENTS = (
    silent_merge.EXPERIMENT,
    flow_join.EXPERIMENT,
    heartbeat_cost.EXPERIMENT,
    flush_policies.EXPERIMENT,
    union_memory.EXPERIMENT,
    union_join.EXPERIMENT,
    band_join.EXPERIMENT,
    late_join.EXPERIMENT,
    sliding_count.EXPERIMENT,
    joint_bounds.EXPERIMENT,
    idle_waiting.EXPERIMENT,
)
