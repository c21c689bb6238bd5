# SPDX-License-Identifier: Apache-2.0
"""What the daemon's processes and its clients say to each other, a type each.

Clients send the supervisor one request a line, in JSON, and get one answer each; a tail has one for
each batch. The supervisor sends the capture process orders, with a number that comes back, and gets
reports: frames of msgpack (framing.py). A client's are hostile: a key not named here is refused.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from gigastream.daemon.input_messages import LinkSpec, PeerOrder, StreamSpec
from gigastream.daemon.loader_messages import TableState
from gigastream.engine.statistics import (
    LftaStatistics,
    ListStatistics,
    MemoryStatistics,
    OperatorStatistics,
    SourceStatistics,
)
from gigastream.settings import GREATEST_PRIORITY, MAX_SIZE, Settings

MAX_REQUEST_BYTES = 1 << 20
"""Of a client's line."""
FirstWindow = Literal["edge", "cut"]
"""Whether a set's first window is the first whole one, or the one that is running, marked."""
OverloadPolicy = Literal["drop", "sample", "shed"]


class _Told(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message."""


# ---- from clients ----


class _Asked(_Told, tag_field="do", frozen=True, kw_only=True):
    """A request of a client."""


class AskStatus(_Asked, tag="status", frozen=True, kw_only=True):
    """Everything there is to know: StatusAnswer."""


class AskQueries(_Asked, tag="queries", frozen=True, kw_only=True):
    """The query sets with their texts and outputs: QueriesAnswer."""


class CheckText(_Asked, tag="check", frozen=True, kw_only=True):
    """What a text would be: its columns and plan, or what is wrong with it: CheckAnswer."""

    text: str
    parameters: dict[str, str] = {}


Name = Annotated[str, msgspec.Meta(max_length=255)]
"""That a client says: none is longer."""
_Positive = Annotated[int, msgspec.Meta(ge=1, le=MAX_SIZE)]
_Amount = Annotated[int, msgspec.Meta(ge=0, le=MAX_SIZE)]


class SpoolSpec(_Told, frozen=True, kw_only=True, omit_defaults=True):
    """How a spool is written: as gigastream.spool.SpoolSettings has it, where it says nothing."""

    segment_rows: _Positive | None = None
    segment_bytes: _Positive | None = None
    segment_age_ns: _Positive | None = None
    sync: Literal["segment"] | _Positive | None = None
    keep_bytes: _Amount | None = None
    keep_age_ns: _Amount | None = None
    keep_margin_ns: _Amount | None = None


class QuerySetSpec(_Told, frozen=True, kw_only=True):
    """A query set as a user gives it."""

    name: str
    text: str
    """GSQL."""
    file: str = "query.gsql"
    """What its diagnostics call it."""
    parameters: dict[str, str] = {}
    outputs: tuple[str, ...] = ()
    """FORMAT:PATH each, as `gigastream run -o` has them; spool:PATH takes the low level."""
    first_window: FirstWindow = "edge"
    priority: Annotated[int, msgspec.Meta(ge=-GREATEST_PRIORITY, le=GREATEST_PRIORITY)] = 0
    """What is shed first under overload is the least."""
    low_level_only: bool = False
    """Nothing but the spool is asked for: no high level runs here."""
    rotate_bytes: _Positive | None = None
    rotate_ns: _Positive | None = None
    keep: _Amount | None = None
    """Of its files, as OutputSpec has them; all None: they are written in place."""
    cut_column: bool = False
    """Rows in csv and JSON say in a column, gs.cut, whether their window was cut."""
    spool: SpoolSpec = SpoolSpec()
    """Of its spools."""


class AddSet(_Asked, tag="add", frozen=True, kw_only=True):
    """Compile a set and attach it. A set that fails changes nothing."""

    query_set: QuerySetSpec


class DropSet(_Asked, tag="drop", frozen=True, kw_only=True):
    """Detach a set: its open windows are answered, marked as cut."""

    name: Name


class SetParameter(_Asked, tag="set", frozen=True, kw_only=True):
    """Give a set a parameter's new value, from a window's edge on."""

    name: Name
    parameter: Name
    value: str


class RotateOutputs(_Asked, tag="rotate", frozen=True, kw_only=True):
    """Begin new files for the outputs of a set, or of all."""

    name: Name | None = None


class ReloadConfig(_Asked, tag="reload", frozen=True, kw_only=True):
    """Read the configuration again; what is the same in it is not disturbed."""


class StopDaemon(_Asked, tag="stop", frozen=True, kw_only=True):
    """Answer the open windows, end the outputs, and end."""


class TailQuery(_Asked, tag="tail", frozen=True, kw_only=True):
    """Subscribe to a query's rows: an Answered, then TailLine after TailLine."""

    query: Name
    set_name: Name | None = None
    """Where two sets have a query of that name."""


Request = (
    AskStatus
    | AskQueries
    | CheckText
    | AddSet
    | DropSet
    | SetParameter
    | RotateOutputs
    | ReloadConfig
    | StopDaemon
    | TailQuery
)


# ---- to clients ----


class Answered(_Told, frozen=True, kw_only=True):
    """The answer to a request that needs no other."""

    ok: bool
    message: str = ""
    """For a person; where it is not ok, what is wrong: the front end's diagnostics with carets."""
    hint: str | None = None


class ShownColumn(_Told, frozen=True, kw_only=True):
    """A column of a query, for a person."""

    name: str
    type: str


class CheckAnswer(_Told, frozen=True, kw_only=True):
    """What a text would be; where it is not ok, `message` has its diagnostics."""

    ok: bool
    message: str = ""
    columns: dict[str, tuple[ShownColumn, ...]] = {}
    """By query."""
    explain: str = ""


class TailLine(_Told, frozen=True, kw_only=True):
    """Rows of a tail, on the way to a client."""

    arrow: str
    """Base64 of an Arrow IPC stream: the schema, and a batch."""
    lost: int = 0
    """Rows before these that the client was too slow for, or a crash took."""
    over: bool = False
    """The set has been dropped, or the daemon ends: nothing follows."""


# ---- supervisor to capture process ----


class OutputSpec(_Told, frozen=True, kw_only=True):
    """Where rows of a set go, checked and made absolute by the supervisor."""

    format: str
    path: str
    rotate_bytes: int | None = None
    rotate_ns: int | None = None
    keep: int | None = None
    """How many ended files are kept; None: all."""
    cut_column: bool = False
    spool: SpoolSpec = SpoolSpec()


class OverloadSettings(_Told, frozen=True, kw_only=True):
    """What is done when the high level or a disk cannot follow."""

    policy: OverloadPolicy = "drop"
    high_percent: int = 60
    """Of a ring that is occupied: more is overload."""
    low_percent: int = 10
    """Less, for calm_ns, is none."""
    calm_ns: int = 5_000_000_000
    most: int = 10
    """Sampling at the most 1 in 2^most flows."""


class CaptureStart(_Told, frozen=True, kw_only=True):
    """What a capture process is begun with."""

    incarnation: int
    """0, and one more for each that crashed."""
    links: tuple[LinkSpec, ...]
    files: tuple[tuple[str, str], ...] = ()
    """(interface, path)."""
    streams: tuple[StreamSpec, ...] = ()
    settings: Settings
    folders: tuple[str, ...] = ()
    """Below which files are written; the kernel refuses others."""
    cache: str
    """Where the objects of query sets are."""
    user: str
    overload: OverloadSettings = OverloadSettings()
    promises: dict[str, int] = {}
    """By interface: packet time (ns) below which rows have gone out already."""
    sets: tuple[AttachOrder, ...] = ()
    """Attached before the first packet is read, with an OrderDone each as if they were ordered."""
    report_ns: int = 1_000_000_000


class AttachOrder(_Told, tag=True, frozen=True, kw_only=True):
    """Attach a set that was compiled: `object_path` carries its plan (gigastream/compiled.py)."""

    number: int
    name: str
    object_path: str
    outputs: tuple[OutputSpec, ...] = ()
    first_window: FirstWindow = "edge"
    priority: int = 0
    low_level_only: bool = False
    """Its high level is not run: all of its outputs are spools."""
    replaces: bool = False
    """The set of that name goes on until this one's first whole window."""


class DetachOrder(_Told, tag=True, frozen=True, kw_only=True):
    """Detach a set."""

    number: int
    name: str


class RotateOrder(_Told, tag=True, frozen=True, kw_only=True):
    """Begin new files."""

    number: int
    name: str | None


class TailOrder(_Told, tag=True, frozen=True, kw_only=True):
    """Send a query's rows, too, as TailRows of this number."""

    number: int
    query: str
    set_name: str | None


class UntailOrder(_Told, tag=True, frozen=True, kw_only=True):
    """Send them no more."""

    number: int
    tail: int


class RenewOrder(_Told, tag=True, frozen=True, kw_only=True):
    """Go on with other rings of a link, which was removed, whose sockets come with this."""

    number: int
    link: int
    """Its place in CaptureStart.links."""


class EndOrder(_Told, tag=True, frozen=True, kw_only=True):
    """End the input, answer the open windows, end the outputs, exit."""

    number: int


Order = (
    AttachOrder
    | DetachOrder
    | RotateOrder
    | TailOrder
    | UntailOrder
    | RenewOrder
    | PeerOrder
    | EndOrder
)


# ---- capture process to supervisor ----


class OrderDone(_Told, tag=True, frozen=True, kw_only=True):
    """An order was carried out, or refused, perhaps as too early, and nothing is changed."""

    number: int
    is_too_early: bool = False
    error: str | None = None
    hint: str | None = None


class CaptureReady(_Told, tag=True, frozen=True, kw_only=True):
    """The links are open and privileges given up; orders are read from here on."""

    incarnation: int
    pid: int
    seccomp: bool
    landlock: int


class TailRows(_Told, tag=True, frozen=True, kw_only=True):
    """Rows for a tail."""

    tail: int
    """The number of its TailOrder."""
    arrow: bytes
    """An Arrow IPC stream: the schema, and a batch."""
    rows: int = 0
    lost: int = 0
    over: bool = False


class RingStatistics(_Told, frozen=True, kw_only=True):
    """A ring of a link."""

    label: str
    blocks: int
    used: int
    """Of them, filled by the kernel and not given back."""


class OutputStatistics(_Told, frozen=True, kw_only=True):
    """An output of a set."""

    format: str
    path: str
    rows: int = 0
    lost: int = 0
    """Rows that could not be written."""
    bytes: int = 0
    files: int = 0
    failure: str | None = None
    oldest_ns: int | None = None
    """CLOCK_REALTIME at which the oldest segment of a spool that deletes any was listed."""


class SetStatistics(_Told, frozen=True, kw_only=True):
    """A set at work."""

    name: str
    queries: tuple[str, ...]
    lftas: tuple[LftaStatistics, ...]
    operators: tuple[OperatorStatistics, ...]
    outputs: tuple[OutputStatistics, ...]
    rows: dict[str, int]
    """That came out, by query."""
    newest_ns: dict[str, int] = {}
    """By query: what its output promises in packet time (heartbeat lag is the clock less that)."""
    cut_rows: int = 0
    """Of windows that it did not see whole, left out."""
    shed: bool = False
    """It rests, since the host is overloaded."""
    failure: str | None = None
    lists: tuple[ListStatistics, ...] = ()


class CaptureReport(_Told, tag=True, frozen=True, kw_only=True):
    """All counters of this incarnation so far, once a second."""

    incarnation: int
    at_ns: int
    """CLOCK_REALTIME."""
    sources: tuple[SourceStatistics, ...]
    sets: tuple[SetStatistics, ...]
    rings: tuple[RingStatistics, ...] = ()
    memory: MemoryStatistics | None = None
    cpu_ns: int = 0
    """Of the process."""
    rss_anon_bytes: int = 0
    descriptors: int = 0
    sampling_shift: int = 0
    """1 in 2^shift flows is looked at."""
    promises: dict[str, int] = {}
    """By interface, what a next incarnation must not go behind."""


class CaptureNote(_Told, tag=True, frozen=True, kw_only=True):
    """Something that a person is to hear of: an output fails, or goes on."""

    text: str


class CaptureOver(_Told, tag=True, frozen=True, kw_only=True):
    """All is ended well: the last frame. `report` has the last counters."""

    report: CaptureReport
    error: str | None = None
    hint: str | None = None


Report = OrderDone | CaptureReady | TailRows | CaptureReport | CaptureNote | CaptureOver


# ---- what a status is ----


class Loss(_Told, frozen=True, kw_only=True):
    """What a crash took."""

    incarnation: int
    at_ns: int
    """When the crash was seen."""
    away_ns: int
    """From the last report of that incarnation to the first packet that could be read again."""
    packets: dict[str, int]
    """By interface: what was taken of our rings, or dropped by the kernel, and no report tells of:
    with these, all reports together tell of each packet that the links' sockets received."""
    reason: str
    """The signal or exit code."""
    held: dict[str, int] | None = None
    """By SET/NAME: groups and rows held at the last report, lost with it. None: it had none."""


class SetState(_Told, frozen=True, kw_only=True):
    """A set as the supervisor knows it."""

    spec: QuerySetSpec
    since_ns: int
    by_uid: int
    from_config: bool
    python: dict[str, str] = {}  # the SHA-256 of its text by file that it calls functions of


class StatusAnswer(_Told, frozen=True, kw_only=True):
    """What `ctl status`, metrics, top and the console show."""

    ok: bool = True
    version: str
    started_ns: int
    incarnation: int
    restarts: int
    capture_pid: int | None
    sets: dict[str, SetState]
    report: CaptureReport | None
    """Of the capture process of now, or the last one."""
    sources: tuple[SourceStatistics, ...] = ()
    """Their counters since the daemon began, over all capture processes."""
    set_totals: tuple[SetStatistics, ...] = ()
    """The sets of the report, with counters since the daemon began, or the set came."""
    losses: tuple[Loss, ...] = ()
    """The last of them."""
    lost_packets: dict[str, int] = {}
    """By interface, what all crashes took: in none of the sources' counters."""
    overload: OverloadSettings = OverloadSettings()
    tables: tuple[TableState, ...] = ()
    notices: tuple[str, ...] = ()
    """The last things that were told, newest last."""


class QueriesAnswer(_Told, frozen=True, kw_only=True):
    """The sets with their texts."""

    ok: bool = True
    sets: dict[str, SetState]


def encoded_line(message: Any) -> bytes:
    """A message as a line of JSON."""
    return msgspec.json.encode(message) + b"\n"
