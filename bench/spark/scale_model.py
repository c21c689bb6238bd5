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
    commit_s_per_track: float
    """By the wall: the driver tells retention how far a micro-batch has read."""
    spark_s_per_segment: float
    """A task opens a segment, checks it and reads it: what it costs beside its rows."""
    spark_s_per_row: float
    """A partial row from the segment through the aggregation."""
    batch_s: float
    """By the wall, a micro-batch of next to nothing, from its plan to its rows at the driver."""
    batch_cpu_s: float
    """The same of the processor, in Java and Python's workers."""
    row_bytes: float
    """Of a partial row in a segment (time, two addresses, count, sum)."""
    offset_bytes_per_track: float
    """Of a micro-batch in the checkpoint, with a state store."""
    planned_bytes_per_track: float
    """The same without: where the next windows' rows begin, and how far the manifests were read."""
    state_bytes_per_group: float
    """Of Java's heap, an open group in memory (SPARK.md's 270 MB of 950,000 groups)."""


MEASURED = Costs(
    look_s_per_track=37e-6,
    news_s_per_segment=83e-6,
    commit_s_per_track=880e-6,
    spark_s_per_segment=650e-6,
    spark_s_per_row=3.1e-6,
    batch_s=1.04,
    batch_cpu_s=1.06,
    row_bytes=28,
    offset_bytes_per_track=97,
    planned_bytes_per_track=199,
    state_bytes_per_group=284,
)


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
        """Of the packets, those that find their group in neither slot; each lets a row go.

        How many groups have a pair of slots is Poisson-distributed about groups / pairs. Two of
        them are in it at any time: so a packet's own is, if it comes as often as the others, with
        2 / all of them.
        """
        return 1 - self._taken(self.groups) / self.groups

    @property
    def met(self) -> float:
        """Groups that a window has."""
        return distinct(self.groups, self.packets_per_s * self.window_s)

    @property
    def flushed(self) -> float:
        """Rows that leave with the window: one of each slot that is taken."""
        return self._taken(self.met)

    def _taken(self, groups: float) -> float:
        """Slots that so many groups take: of a pair one or two."""
        pairs = self.slots / 2
        each = groups / pairs
        return pairs * (-2 * math.expm1(-each) - each * math.exp(-each))

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
        return looks + self.serial_s / self.hosts.window_s

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

    @property
    def serial_s(self) -> float:
        """The driver alone is at work for a window: its segments, and the commits behind them."""
        segments = self.segments_per_s * self.hosts.window_s * self.costs.news_s_per_segment
        return segments + self.hosts.tracks * self.costs.commit_s_per_track

    def window_s(self, cores: float) -> float:
        """From the end of a window to its rows, where whole windows are read by so many cores."""
        rows = self.executor_cores * self.hosts.window_s / cores
        news = self.hosts.segment_age_s + self.look_pause_s + self.look_s
        return news + self.costs.batch_s + rows + self.serial_s


# ---- what breaks ----


@dataclass(frozen=True)
class Cluster:
    """What there is to be had, against which loads are held."""

    cores: int = 64
    driver_cores: float = 1.0
    """The driver's looks and plans are one thread's."""
    link_bytes_per_s: float = 10e9 / 8
    heap_bytes: float = 64e9
    """Of all executors."""
    answer_s: float = 10.0
    """From a window's end to its rows."""


def strains(load: Load, cluster: Cluster) -> dict[str, float]:
    """By what may break, how much is needed of what there is; above 1 it breaks."""
    return {
        "executors": load.executor_cores / cluster.cores,
        "driver, a window": load.serial_s / cluster.answer_s,
        "driver, looks": load.look_pause_s / cluster.answer_s,
        "network": load.bytes_per_s / cluster.link_bytes_per_s,
        "heaps (`--state memory`)": load.state_bytes / cluster.heap_bytes,
    }


# ---- the page ----

COUNTS = (1, 10, 100, 1_000, 10_000)
SETTINGS = {
    "as it comes": Hosts(1),
    "`--slots 4194304 --segment-age 10s`": Hosts(1, slots=1 << 22, segment_age_s=10.0),
}
_HEADING = (
    "hosts",
    "partial rows/s",
    "MB/s",
    "segments/s",
    "executor cores",
    "cores, `--state spool`",
    "driver cores",
    "look pause, s",
    "driver, s a window",
    "offsets, kB",
    "groups, GB",
    "most strained",
)


def page(cluster: Cluster | None = None) -> dict[str, str]:
    """The tables of docs/scale.md, by what is set."""
    return {title: _table(alike, cluster or Cluster()) for title, alike in SETTINGS.items()}


def _table(alike: Hosts, cluster: Cluster) -> str:
    loads = [Load(replace(alike, count=count), MEASURED) for count in COUNTS]
    rows = [_HEADING, ("---",) * len(_HEADING), *(_row(load, cluster) for load in loads)]
    return "\n".join(f"| {' | '.join(row)} |".replace("| --- ", "|---") for row in rows)


def _row(load: Load, cluster: Cluster) -> tuple[str, ...]:
    strained = strains(load, cluster)
    most = max(strained, key=lambda name: strained[name])
    return (
        f"{load.hosts.count:,}",
        _short(load.rows_per_s),
        _short(load.bytes_per_s / 1e6),
        _short(load.segments_per_s),
        _short(load.executor_cores),
        _short(load.executor_cores * load.hosts.window_s / cluster.answer_s),
        _short(load.driver_cores),
        _short(load.look_pause_s),
        _short(load.serial_s),
        _short(load.checkpoint_bytes / 1e3),
        _short(load.state_bytes / 1e9),
        f"{most}: {_short(strained[most])}",
    )


def _short(number: float) -> str:
    """Two digits that count."""
    if number <= 0:
        return "0"
    digits = 1 - math.floor(math.log10(number))
    return f"{round(number, digits):,.{max(0, digits)}f}"


def costs_table() -> str:
    """What was measured, in microseconds and bytes, with how it is said in the code."""
    rows = [
        f"| `{name}` | {value * 1e6:,.10g} µs |" if _is_time(name) else f"| `{name}` | {value:g} |"
        for name, value in vars(MEASURED).items()
    ]
    return "\n".join(["| cost | |", "|---|---|", *rows])


def _is_time(name: str) -> bool:
    return "_s_per_" in name or name.endswith("_s")


if __name__ == "__main__":
    for heading, shown in {"costs": costs_table(), **page()}.items():
        print(f"{heading}\n\n{shown}\n")
