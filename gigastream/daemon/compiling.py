# SPDX-License-Identifier: Apache-2.0
"""The compile helper: text in, a shared object that carries its plan out; or what is wrong.

It is forked for one query set and ends with it. A text comes from a client: whatever it does to who
checks and compiles it, it does to a process that reads no packets and has no privileges.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import resource
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gigastream.daemon.framing import FrameReader, frame
from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import CheckAnswer, QuerySetSpec, ShownColumn
from gigastream.daemon.output_queries import output_queries
from gigastream.daemon.places import is_spool
from gigastream.daemon.room import file_words
from gigastream.gsql.catalog.catalog import RecordLayout
from gigastream.sinks import is_sink

if TYPE_CHECKING:
    from gigastream.daemon.python_files import Code
    from gigastream.plan import Plan
    from gigastream.query_texts import QueryTexts

_READ_BYTES = 1 << 16
_STDERR = 2
_PR_SET_DUMPABLE = 4
_NICENESS = 10
_OOM_SCORE = 500
"""Of 1,000: where memory ends, it is ended before who reads packets."""
MEMORY_MAX = 2 << 30
"""Of addresses, in bytes: more than what the launcher had already."""
CPU_MAX_S = 120


class CompileRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the supervisor asks of a compile helper."""

    spec: QuerySetSpec
    interfaces: Mapping[str, Mapping[str, str]]
    """That there are, with their properties."""
    definitions: tuple[str, ...] = ()
    library: str | None = None
    is_finite: bool = False
    streams: tuple[RecordLayout, ...] = ()
    """That there are, as their records are written."""
    folder: str | None = None
    """Where the object goes; None: nothing but a check is asked for."""


class CompileResult(msgspec.Struct, frozen=True, kw_only=True):
    """What it says."""

    check: CheckAnswer
    hint: str | None = None
    object_path: str = ""
    python: dict[str, str] = {}
    """By file in Python that it calls functions of, what stands for the text."""


def request_reader() -> FrameReader[CompileRequest]:
    """Of what is asked."""
    return FrameReader(msgspec.msgpack.Decoder(CompileRequest))


def result_reader() -> FrameReader[CompileResult]:
    """Of what is answered."""
    return FrameReader(msgspec.msgpack.Decoder(CompileResult))


def run_compiler(descriptor: int) -> int:
    """Answer the one request that comes over a channel."""
    keep_only(descriptor)
    _limit()
    reader = request_reader()
    while received := os.read(descriptor, _READ_BYTES):
        for request in reader.feed(received):
            _confine(request)
            write_all(descriptor, frame(answer(request)))
            return 0
    return 1


def _limit() -> None:
    """Each program that it runs has the same limits."""
    stand_back()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY_MAX
    for limit, value in ((resource.RLIMIT_AS, most), (resource.RLIMIT_CPU, CPU_MAX_S)):
        hard = resource.getrlimit(limit)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (value, value))


def stand_back() -> None:
    """Let who reads packets go first, and be ended before it where memory ends."""
    os.nice(_NICENESS)
    _end_first()


def _end_first() -> None:
    """Be who is ended where memory ends; where that cannot be said, memory is limited all the same.

    What root has begun as another user has its files in /proc owned by root, but while it may be
    dumped: for a moment, with nothing in it yet but what is everybody's.
    """
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(_OOM_SCORE))
    prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _confine(request: CompileRequest) -> None:
    """It writes objects, and what the compiler needs for a while; it connects to nobody."""
    from gigastream.engine.privileges import confine
    from gigastream.paths import cache_directory

    own = () if request.folder is None else (Path(request.folder),)
    confine([*own, cache_directory(), Path(tempfile.gettempdir()), Path("/dev")], "compiler")


def answer(request: CompileRequest) -> CompileResult:
    """Check and plan, and compile where that is asked for; errors are part of the answer."""
    try:
        return _answered(request)
    except Exception as error:
        return _refused(error)


def _answered(request: CompileRequest) -> CompileResult:
    from gigastream.daemon.python_files import called_code, refuse_at_work
    from gigastream.plan.explain import explain
    from gigastream.sessions.low_session import refuse_unspooled

    texts = _texts(request)
    plan, warnings = _planned(texts, request.streams)
    refuse_at_work(plan, request.spec)
    code = called_code(plan)
    if any(map(is_spool, request.spec.outputs)):
        refuse_unspooled(plan)
    if any(map(is_sink, request.spec.outputs)):
        _refuse_for_tables(plan)
    path = "" if request.folder is None else str(_written(request, plan, texts, code))
    columns = {
        query.name: tuple(
            ShownColumn(name=column.name, type=str(column.type)) for column in query.schema.columns
        )
        for query in plan.outputs
    }
    check = CheckAnswer(
        ok=True,
        message=warnings,
        columns=columns,
        explain=explain(plan) if request.folder is None else "",
    )
    return CompileResult(check=check, object_path=path, python=code)


def _refuse_for_tables(plan: Plan) -> None:
    """Raise DaemonError, SpooledPlanError for what no loader can write, or would hold for ever."""
    from gigastream.spool.plan import check_is_here

    check_is_here(plan, "the set's spool", is_theirs=True)
    for query in output_queries(plan):
        if query.time_column is None:
            raise DaemonError(
                f"{query.name} goes into a table, and none of its columns says when a window is "
                "over: its rows would wait for the end of the links",
                "a first column of time, as GROUP BY time_bucket('1 min', timestamp) AS minute",
            )


def _texts(request: CompileRequest) -> QueryTexts:
    from gigastream.gsql.source import SourceFile
    from gigastream.query_texts import QueryTexts

    return QueryTexts(
        files=(SourceFile(request.spec.file, request.spec.text),),
        parameters=request.spec.parameters,
        definitions=request.definitions,
        library=request.library,
        interfaces=request.interfaces,
        is_finite=request.is_finite,
    )


def _planned(texts: QueryTexts, streams: Sequence[RecordLayout]) -> tuple[Plan, str]:
    """The plan, and the warnings for a person."""
    from gigastream.engine.handles import check_handles
    from gigastream.plan import plan_queries
    from gigastream.query_texts import check_texts

    _check_streams(texts, streams)
    checked = check_texts(texts)
    plan = plan_queries(checked.queries, is_finite=texts.is_finite)
    check_handles(plan)
    return plan, "\n".join(w.render() for w in (*checked.warnings, *plan.warnings))


def _check_streams(texts: QueryTexts, streams: Sequence[RecordLayout]) -> None:
    """Raise DaemonError where a STREAM is declared otherwise than its records are written."""
    if not streams:
        return
    from gigastream.gsql.catalog.build import load_catalog

    declared = load_catalog(texts.definitions).streams
    for layout in streams:
        found = declared.get(layout.name.lower())
        if found is None or found.layout != layout:
            raise DaemonError(
                f"the declaration of STREAM {layout.name} has changed since the daemon began",
                "a restart reads its records as they are declared now",
            )


def _written(request: CompileRequest, plan: Plan, texts: QueryTexts, code: Code) -> Path:
    """The object, named by all that it is made of: one that a set runs is never written over."""
    from gigastream.compiled import write_object

    assert request.folder is not None
    digest = hashlib.sha256(msgspec.msgpack.encode((request, code))).hexdigest()[:16]
    target = Path(request.folder, f"{request.spec.name}-{digest}.so")
    is_low = request.spec.low_level_only
    return write_object(plan, texts, target, texts.include, low_level_only=is_low)


def _refused(error: Exception) -> CompileResult:
    """An error that is meant for a person is told; another is a fault of ours, and is called so."""
    if isinstance(error, MemoryError):
        told = f"it needs more memory than a query set may have, {MEMORY_MAX >> 30} GiB"
        return CompileResult(check=CheckAnswer(ok=False, message=told), hint="smaller sets")
    hint = getattr(error, "hint", None)
    if type(error).__module__.startswith("gigastream."):
        message = getattr(error, "message", str(error))
    elif isinstance(error, OSError):
        message, hint = file_words(error, "the cache of compiled sets")
    else:
        message = f"a fault in Gigastream itself: {type(error).__name__}: {error}"
    return CompileResult(check=CheckAnswer(ok=False, message=message), hint=hint)


def keep_only(descriptor: int) -> None:
    """Close the packet sockets, and all else that the launcher had open."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > _STDERR and int(name) != descriptor:
            with suppress(OSError):
                os.close(int(name))


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it to a channel. OSError."""
    waiting = memoryview(data)
    while waiting:
        waiting = waiting[os.write(descriptor, waiting) :]
