# SPDX-License-Identifier: Apache-2.0
"""What a run can be told besides its queries and sources; the same names everywhere.

A setting is a field of Settings, an option of the command line and a key of a configuration file:
OPTIONS (options.py) is the only list of them. Here is what it may be, and how its text is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import index

from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.late_dataclass import dataclass
from gigastream.link_types import LinkTypes, check_link_types
from gigastream.liveness import POLICIES, Liveness
from gigastream.timestamps import EXTERNAL, TIMESTAMPS, Timestamps

_BYTES = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BYTES |= {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_BYTES |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "": 10**9, "s": 10**9}
_NANOSECONDS |= {"min": 60 * 10**9, "h": 3600 * 10**9, "d": 86_400 * 10**9}
_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", re.ASCII)
MAX_BURST_PACKETS = 256
MAX_COUNT = 2**32 - 1
"""What the engine's counts hold."""
GREATEST_PRIORITY = 1_000_000_000
"""Of a daemon's query set; the least is minus so much."""
MAX_SIZE = 2**63 - 1
"""What its sizes and times hold."""
MAX_DIGITS = 30
"""Of a number that is read: int() refuses thousands of them, and more than this is too much."""
LEAST_MEMORY = 1 << 20
MOST_JOBS = 64
_HASH_KEY_WORDS = 2
_MAX_SHOWN = 80


DEFAULT_SLACK_NS = 1_000_000_000
TIME_MODES = ("periodic", "on-demand", "both", "none")
"""Heartbeats by a timer, requests of operators that wait for time, both of them, or neither."""
RANGES = {
    "disorder_bytes": (0, MAX_SIZE),
    "slack_ns": (0, MAX_SIZE),
    "heartbeat_ns": (0, MAX_SIZE),
    "heartbeat_packets": (0, MAX_COUNT),
    "slots": (1, MAX_COUNT),
    "burst": (1, MAX_BURST_PACKETS),
    "batch_rows": (1, MAX_COUNT),
    "memory_bytes": (LEAST_MEMORY, MAX_SIZE),
    "max_groups": (1, MAX_COUNT),
    "max_rows": (1, MAX_COUNT),
    "output_queue_bytes": (0, MAX_SIZE),
    "liveness_ns": (1, MAX_SIZE),
    "packets_max": (1, MAX_COUNT),
    "jobs": (1, MOST_JOBS),
}
"""Of the settings that are whole numbers: the least and the most that options take, too."""
MAYBE_NONE = (
    *("slack_ns", "slots", "batch_rows", "memory_bytes", "max_groups", "max_rows", "packets_max"),
    "liveness_ns",
)


class SettingsError(ValueError):
    """A setting has a value that it cannot have."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run, with their defaults; None: what the query or the engine says."""

    disorder_bytes: int = 16 << 20
    """How far a capture file may step back, in its own bytes; 0: as far as it likes."""
    slack_ns: int | None = None
    """How far a pipe may step back in time (default 1 s); given, files follow the same rule."""
    speed: float | None = None
    """Replay by the wall clock, so many times faster; None: as fast as it goes."""
    heartbeat_ns: int = 10**9
    """Capture time between heartbeats; 0: none."""
    heartbeat_packets: int = 1 << 17
    """Packets between heartbeats; 0: none."""
    time: str = "both"
    """How time passes where packets do not say it: one of TIME_MODES."""
    timestamps: Timestamps = EXTERNAL
    """Whose time packets have, of interfaces that do not say it: one of TIMESTAMPS."""
    link_types: LinkTypes = ()
    """What is meant by link types of files: pairs of the number there and a decoded one's."""
    flush: str | None = None
    """Flush policy of every LFTA table."""
    slots: int | None = None
    """Slots of every LFTA table; a power of two is taken."""
    burst: int = MAX_BURST_PACKETS
    """Packets that go through the low level together."""
    batch_rows: int | None = None
    """Rows of a batch between operators."""
    memory_bytes: int | None = None
    """Of all tables, groups and held rows of this process; None: half of what there is."""
    max_groups: int | None = None
    """Groups that one high-level aggregation may hold, whatever their size; None: no such limit."""
    max_rows: int | None = None
    """Rows that one operator may hold at once; None: no such limit."""
    output_queue_bytes: int = 64 << 20
    """Rows that wait to be written, on the command line; then the engine waits."""
    liveness_ns: int | None = None
    """How long a pipe or a link may say nothing before it has failed; None: for ever."""
    on_failure: str = "wait"
    """What then: wait for it, go on without it (go-on), or end the run."""
    livenesses: tuple[tuple[str, Liveness], ...] = ()
    """The same of interfaces that have their own. No option, but their properties in a file."""
    use_mmap: bool = False
    """Map plain files instead of reading them."""
    hash_key: tuple[int, int] | None = None
    """Of the group hash; None: random for each process. Fixed, a run can be repeated exactly
    (by one thread)."""
    jobs: int = 1
    """Threads that divide a capture file among themselves, where its answer is the same then."""
    low_level_only: bool = False
    """Only count what the low level puts out: how fast it is alone."""
    share_groups: bool = True
    """LFTAs of the same groups fill one table; without it each has its own. No option."""
    output_punctuation: bool = False
    """Outputs give heartbeats and other batches without rows too."""
    fast_path: bool = True
    """An LFTA that alone sees packets decodes them itself; False: they are decoded ahead of it."""
    deliver_every_burst: bool = False
    """Rows do not wait for a fuller batch, and outputs give their punctuation."""
    packets_max: int | None = None
    """After so many packets the input ends; None: when it does. No option of a file."""
    filter: str = ""
    """A BPF filter (pcap-filter(7)) that packets must pass; no option, but the trailing words."""

    def __post_init__(self) -> None:
        for name, (least, most) in RANGES.items():
            value = getattr(self, name)
            if value is not None or name not in MAYBE_NONE:
                _check_whole(name, value, least, most)
        if self.speed is not None:
            _check_speed(self.speed)
        if self.time not in TIME_MODES:
            raise _wrong("time", self.time, f"one of {', '.join(TIME_MODES)}")
        if self.timestamps not in TIMESTAMPS:
            raise _wrong("timestamps", self.timestamps, f"one of {', '.join(TIMESTAMPS)}")
        if not check_link_types(self.link_types):
            raise _wrong("link_types", self.link_types, "pairs of link types, as ((147, 1),)")
        if self.flush is not None and self.flush not in FLUSH_POLICIES:
            raise _wrong("flush", self.flush, f"one of {', '.join(FLUSH_POLICIES)}")
        for policy in (self.on_failure, *(own.on_failure for _, own in self.livenesses)):
            if policy not in POLICIES:
                raise _wrong("on_failure", policy, f"one of {', '.join(POLICIES)}")
        if self.hash_key is not None:
            _check_hash_key(self.hash_key)

    @property
    def is_periodic(self) -> bool:
        """Whether a timer sends heartbeats, if it has a period."""
        return self.time in ("periodic", "both")

    @property
    def is_on_demand(self) -> bool:
        """Whether operators that wait ask for time."""
        return self.time in ("on-demand", "both")

    @property
    def liveness(self) -> Liveness:
        """Of interfaces that have none of their own."""
        return Liveness(self.liveness_ns, self.on_failure)

    def liveness_of(self, interface: str) -> Liveness:
        """How long a source of an interface may say nothing, and what then."""
        return dict(self.livenesses).get(interface, self.liveness)

    @property
    def file_slack_ns(self) -> int | None:
        """The slack of a capture file; None: it goes by blocks."""
        if self.slack_ns is None and self.speed is not None:
            return DEFAULT_SLACK_NS
        return self.slack_ns


def _check_whole(name: str, value: object, least: int, most: int) -> None:
    if not least <= _whole(value) <= most:
        raise _wrong(name, value, f"a whole number from {least:,} to {most:,}")


def _whole(value: object) -> int:
    """The number that it is; below all of them where it is none, as True or 1.5."""
    try:
        return -1 if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        return -1


def _check_speed(value: object) -> None:
    is_number = isinstance(value, float | int) and not isinstance(value, bool)
    if not is_number or not 0 < value < float("inf"):  # type: ignore[operator]
        raise _wrong("speed", value, "a factor above 0, such as 1 or 0.5")


def _check_hash_key(value: object) -> None:
    if not isinstance(value, tuple | list) or len(value) != _HASH_KEY_WORDS:
        raise _wrong("hash_key", value, "two whole numbers")
    for word in value:
        _check_whole("hash_key", word, 0, 2**64 - 1)


def _wrong(name: str, value: object, wanted: str) -> SettingsError:
    try:
        text = repr(value)[:_MAX_SHOWN]
    except ValueError:  # Python writes no number of thousands of digits
        text = "too long to be shown"
    return SettingsError(f"the setting {name} is {text}: it must be {wanted}")


def parse_bytes(text: str) -> int:
    """Read `4096`, `64kB`, `16MiB`: bytes. ValueError says what was expected."""
    return round(_quantity(text, _BYTES, "a size such as 64kB or 16MiB"))


def parse_disorder(text: str) -> int:
    """Read a size of at least a byte, or `all`: 0."""
    if text == "all":
        return 0
    size = parse_bytes(text)
    if size == 0:
        raise ValueError("a disorder of 0 bytes is none at all: at least 1, or 'all'")
    return size


def parse_memory(text: str) -> int:
    """Read a size that is enough for something."""
    size = parse_bytes(text)
    if size < LEAST_MEMORY:
        raise ValueError(f"'{text}' is too little to begin with: at least 1MiB")
    return size


def parse_duration(text: str) -> int:
    """Read `10ms`, `1s`, `2 min`: nanoseconds; a bare number is seconds."""
    return round(_quantity(text, _NANOSECONDS, "a time such as 10ms or 1s"))


def parse_count(text: str) -> int:
    """Read a positive whole number."""
    count = _digits(text) or 0
    if count < 1:
        raise ValueError(f"'{text}' is not a positive number")
    return _at_most(count, MAX_COUNT)


def parse_jobs(text: str) -> int:
    """Read a number of threads."""
    return _at_most(parse_count(text), MOST_JOBS)


def parse_whole(text: str) -> int:
    """Read a whole number, 0 among them."""
    count = _digits(text)
    if count is None:
        raise ValueError(f"'{text}' is not a whole number")
    return _at_most(count, MAX_COUNT)


def _digits(text: str) -> int | None:
    """The number that ASCII digits write; None for all else (int() takes more)."""
    is_number = text.isascii() and text.isdigit()
    return int(text[:MAX_DIGITS]) if is_number else None


def _at_most(count: int, most: int) -> int:
    if count > most:
        raise ValueError(f"more than {most:,} is too much")
    return count


def parse_burst(text: str) -> int:
    """Read a number of packets that fits a burst."""
    count = parse_count(text)
    if count > MAX_BURST_PACKETS:
        raise ValueError(f"a burst has at most {MAX_BURST_PACKETS} packets, not {count}")
    return count


def parse_flush(text: str) -> str:
    """Read a flush policy."""
    if text not in FLUSH_POLICIES:
        raise ValueError(f"'{text}' is no flush policy: one of {', '.join(FLUSH_POLICIES)}")
    return text


def parse_time_mode(text: str) -> str:
    """Read how time passes."""
    return _one_of(TIME_MODES, text)


def parse_on_failure(text: str) -> str:
    """Read what becomes of a run when a source has failed."""
    return _one_of(POLICIES, text)


def _one_of(words: Sequence[str], text: str) -> str:
    if text not in words:
        raise ValueError(f"'{text}' is none of {', '.join(words)}")
    return text


def parse_period(text: str) -> int:
    """Read a time above 0."""
    period = parse_duration(text)
    if period == 0:
        raise ValueError("a time above 0, such as 5s")
    return period


def parse_speed(text: str) -> float:
    """Read a factor above 0."""
    try:
        factor = float(text) if text.isascii() and "_" not in text else 0.0
    except ValueError:
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise ValueError(f"'{text}' is not a factor such as 1 or 0.5")
    return factor


def parse_sync(text: str) -> int | str:
    """Read `segment`, or a time above 0: nanoseconds."""
    if text == "segment":
        return text
    period = parse_duration(text)
    if period == 0:
        raise ValueError("a period of 0: 'segment' is the safest, or a time such as 100ms")
    return period


def _quantity(text: str, units: dict[str, int], expected: str) -> float:
    found = _QUANTITY.fullmatch(text)
    if found is None or found[2].lower() not in units:
        raise ValueError(f"'{text}' is not {expected}")
    if len(found[1]) > MAX_DIGITS:
        raise ValueError(f"'{text[:MAX_DIGITS]}…' is too much")
    unit = units[found[2].lower()]
    value = int(found[1]) * unit if found[1].isdecimal() else float(found[1]) * unit
    if value >= 1 << 63:
        raise ValueError(f"'{text}' is too much")
    return value
