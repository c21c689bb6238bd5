# SPDX-License-Identifier: Apache-2.0
"""What many hosts cost, computed from what one track, segment and row were measured to cost.

Prints the tables of docs/scale.md; what it says of a fleet on one machine stands beside what was
measured there (`python bench/spark/run.py scale`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Costs:
    """What was measured, by `python bench/spark/scale_costs.py` unless another command is named.

    Seconds are of a processor of the machine of docs/benchmarks.md, bytes are bytes.
    """

    look_s_per_track: float
    """The driver reads on in one track's manifest and progress, and finds nothing."""
    news_s_per_segment: float
    """The driver takes a segment's line, and gives it to a task."""
    spark_s_per_segment: float
    """A task opens a segment, reads it and checks it: what small segments cost beside their rows."""
    spark_s_per_row: float
    """A partial row from the segment through the aggregation."""
    batch_s: float
    """By the wall, a micro-batch of next to nothing, from its plan to its rows at the driver."""
    row_bytes: float
    """Of a partial row in a segment (time, two addresses, count, sum)."""
    offset_bytes_per_track: float
    """Of a micro-batch in the checkpoint, with a state store."""
    planned_bytes_per_track: float
    """The same without: where the next windows' rows begin, and how far the manifests were read."""
    state_bytes_per_group: float
    """Of Java's heap, an open group in memory (SPARK.md's 270 MB of 950,000 groups)."""


@dataclass(frozen=True)
class Hosts:
    """Monitoring hosts that are alike, and one query: count and sum by minute and two addresses."""

    count: int
    interfaces: int = 1
    packets_per_s: float = 1e6
    """Of an interface."""
    groups: int = 65_536
    """An interface meets in a window, each as often as any other: the worst for a table."""
    shared: float = 0.0
    """Of an interface's groups, the part that all others meet, too."""
    window_s: float = 60.0
    slots: int = 1 << 19
    """Of the low level's table (`--slots`; by itself it grows so far)."""
    segment_age_s: float = 1.0
    segment_rows: int = 1 << 20

    @property
    def tracks(self) -> int:
        return self.count * self.interfaces

    # ---- the low level ----

    @property
    def collision_rate(self) -> float:
        """Of the packets, those that find another group in their slot; each lets a row go.

        A slot has, besides a packet's own group, a number of others that is Poisson-distributed
        about groups / slots; the group of the slot's last packet is this one with 1 / all of them.
        """
        others = self.groups / self.slots
        return 1 - -math.expm1(-others) / others

    @property
    def met(self) -> float:
        """Groups that a window has."""
        return distinct(self.groups, self.packets_per_s * self.window_s)

    @property
    def flushed(self) -> float:
        """Rows that leave with the window: one of each slot that is taken."""
        return self.slots * -math.expm1(-self.met / self.slots)

    @property
    def rows_per_s(self) -> float:
        """Partial rows of an interface."""
        return self.packets_per_s * self.collision_rate + self.flushed / self.window_s

    @property
    def segments_per_s(self) -> float:
        """Of an interface: at an age, or a number of rows, whatever comes first."""
        return max(1 / self.segment_age_s, self.rows_per_s / self.segment_rows)

    @property
    def all_groups(self) -> float:
        """Of a window, over all interfaces."""
        return self.met * (self.shared + (1 - self.shared) * self.tracks)


def distinct(groups: float, draws: float) -> float:
    """How many of so many groups come in so many draws of them."""
    return -groups * math.expm1(draws * math.log1p(-1 / groups))


LOOKS_PER_S = 50.0
"""spark_sink.window_complete.query.LOOK_PERIOD_S."""
LOOK_SHARE = 0.1
"""spark_sink.look_pace.SHARE."""


@dataclass(frozen=True)
class Load:
    """What a fleet needs of the rest."""

    hosts: Hosts
    costs: Costs

    @property
    def rows_per_s(self) -> float:
        return self.hosts.tracks * self.hosts.rows_per_s

    @property
    def segments_per_s(self) -> float:
        return self.hosts.tracks * self.hosts.segments_per_s

    @property
    def bytes_per_s(self) -> float:
        """Over the network, and into the spools."""
        return self.rows_per_s * self.costs.row_bytes

    @property
    def look_s(self) -> float:
        """The driver looks at all tracks once."""
        return self.hosts.tracks * self.costs.look_s_per_track

    @property
    def look_pause_s(self) -> float:
        """Between two looks: they take a share of a core at most."""
        return max(1 / LOOKS_PER_S, self.look_s * (1 / LOOK_SHARE - 1))

    @property
    def driver_cores(self) -> float:
        """Looks, and what they find."""
        looks = self.look_s / (self.look_s + self.look_pause_s)
        return looks + self.segments_per_s * self.costs.news_s_per_segment

    @property
    def executor_cores(self) -> float:
        """Reading and aggregation, on average."""
        rows = self.rows_per_s * self.costs.spark_s_per_row
        return rows + self.segments_per_s * self.costs.spark_s_per_segment

    @property
    def checkpoint_bytes(self) -> float:
        """A micro-batch writes into the checkpoint, without a state store."""
        return self.hosts.tracks * self.costs.planned_bytes_per_track

    @property
    def state_bytes(self) -> float:
        """Of groups in the heaps, with Spark's state store: a window's are open."""
        return self.hosts.all_groups * self.costs.state_bytes_per_group

    def window_s(self, cores: float) -> float:
        """From the end of a window to its rows, where whole windows are read by so many cores."""
        rows = self.executor_cores * self.hosts.window_s / cores
        news = self.hosts.segment_age_s + self.look_pause_s + self.look_s
        planning = self.segments_per_s * self.hosts.window_s * self.costs.news_s_per_segment
        return news + self.costs.batch_s + rows + planning


def with_slots(hosts: Hosts, slots: int) -> Hosts:
    """The same hosts with larger tables."""
    return replace(hosts, slots=slots)
