# SPDX-License-Identifier: Apache-2.0
"""Gigastream as a library: the three functions of `import gigastream`, and what they raise.

Errors are exceptions with a text for people: GsqlError (the query), SourceError (a capture),
FilterError (the BPF filter), SettingsError (a setting), CompileError (the C compiler),
EngineError (the run).
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from inspect import GEN_RUNNING, getgeneratorstate
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gigastream.live_functions import live_functions
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from gigastream.settings import Settings, SettingsError
from gigastream.sources.files import (
    DamagedSourceError,
    FileSource,
    SourceError,
    are_finite,
    parse_source,
)
from gigastream.sources.packets import PacketSource

if TYPE_CHECKING:
    import pyarrow

    from gigastream.codegen.compiler import CompileError
    from gigastream.engine.batch import EngineError
    from gigastream.gsql.catalog.python_functions import PythonFunction
    from gigastream.gsql.diagnostics import GsqlError
    from gigastream.plan import Plan
    from gigastream.records.source import StreamSource
    from gigastream.sessions.divided_session import DividedSession
    from gigastream.sessions.session import Session
    from gigastream.sources.bpf import FilterError

__all__ = [
    "Answer",
    "CompileError",
    "DamagedSourceError",
    "EngineError",
    "FilterError",
    "GsqlError",
    "PacketSource",
    "Settings",
    "SettingsError",
    "SourceError",
    "compile",
    "explain",
    "run",
]

Source = str | Path | FileSource | PacketSource
Parameters = Mapping[str, str | int | float | IPv4Address | IPv6Address]
Sources = Source | Sequence[Source] | Iterable[Any]
Definitions = str | Path | Sequence[str | Path]
Functions = Sequence[Callable[..., Any]]
Streams = Mapping[str, str | Path | Iterable[Any]]


def run(
    query: str,
    sources: Sources | None = None,
    *,
    streams: Streams | None = None,
    definitions: Definitions = (),
    functions: Functions = (),
    parameters: Parameters | None = None,
    settings: Settings | None = None,
    link_type: int | str | None = None,
) -> Answer:
    """Answer a query over captures, or packets from memory; give its rows as windows close.

    `query` is GSQL text; of several queries in it, all that are not `visibility internal` are
    answered, and the metadata `gs.query` of a batch's schema says whose rows it has; `gs.partial`
    says that groups of their window were refused (memory, max_groups). `sources` is one or a list
    of files, each `[IFACE=]FILE` as on the command line, FileSources and PacketSources; or else an
    iterable of packets: pairs (time, bytes), scapy's packets, a reader of dpkt's (PacketSource says
    what times may be). `link_type` is that of such packets, where they do not say it themselves and
    are not Ethernet. `parameters` are texts as behind --param, numbers, bools or addresses;
    `settings` the options of the command line under longer names, gigastream.Settings.
    `definitions` are files of protocols, functions and STREAMs, and of functions in Python (.py);
    `functions` are such functions of the caller's own (gigastream.udf). `streams` says by
    name where their records come from: a text as behind --stream NAME=, or an iterable of mappings
    from fields to values, or of Arrow's record batches. One that has no length may be endless.

        question = "SELECT tb, count(*) AS packets FROM IPV4 GROUP BY time/60 AS tb"
        rows = [row for batch in gigastream.run(question, "a.pcap") for row in batch.to_pylist()]
        gigastream.run(question, [(1700000000.5, frame), (1700000001.0, other_frame)])

    Raises GsqlError, SourceError and FilterError before anything is read, and EngineError when the
    run fails. A damaged capture, an iterable that raises and a packet that is none raise
    DamagedSourceError, after the rows of what came before. What functions in Python raised of rows
    that have no value then is a RuntimeWarning at the end: how often, and where and what first.
    """
    from gigastream.sessions.replay import open_replay
    from gigastream.sessions.shape import SessionOptions

    packets = [] if sources is None else _sources(sources, link_type)
    files = _definitions(definitions)
    records = _streams(streams or {}, files)
    chosen = [*packets, *records]
    if not chosen:
        raise SourceError("nothing is to be read", "give a capture, or streams={name: place}")
    own = live_functions(functions)
    plan = _plan(query, parameters, chosen, files, own)
    options = SessionOptions(include=QueryTexts((), definitions=files).include)

    def made(values: Parameters) -> Plan:
        return _plan(query, values, chosen, files, own)

    session = open_replay(plan, chosen, settings or Settings(), options)
    return Answer(session, made, parameters or {})


class Answer(Iterator["pyarrow.RecordBatch"]):
    """The rows of a run, taken once.

    What it has open is given back at its end, by close(), at the end of a `with`, or when nobody
    refers to it any more, whether a row was taken or not.
    """

    def __init__(
        self,
        session: Session | DividedSession,
        made: Callable[[Parameters], Plan],
        parameters: Parameters,
    ) -> None:
        """Take over a session, and what makes its plan of parameters."""
        self._made, self._parameters = made, parameters
        self._batches = _batches(session)
        self._session = session
        self._finalizer = weakref.finalize(self, session.close)

    def __next__(self) -> pyarrow.RecordBatch:
        return next(self._batches)

    def set_parameters(self, parameters: Parameters) -> dict[str, int | None]:
        """Go on with other values, each from a window's edge on; those not given stay.

        Any parameter can be set: the queries are compiled anew, and both forms run until the last
        window before the edge is out. Between two batches, by the thread that takes them. All
        queries change at one moment, between the packets that have been read and those that come:
        a query with windows from the first one on that has no packet read before, so that each of
        its rows saw one value; one that passes rows from the next packet on. Returns by query that
        first window, the value of its first temporal column; None of one that passes rows, and of
        all where no packet has been read.

        Raises GsqlError for what is wrong with the values, gigastream.sessions.changes.ChangeError
        where a query has no such place: one answer of everything, LIMIT of rows, windows of rows, a
        column of windows that is not selected; and where a batch is being made, as in a function or
        an iterable of packets that the run calls. Nothing has changed then.
        """
        from gigastream.sessions.changes import ChangeError

        if getgeneratorstate(self._batches) == GEN_RUNNING:
            raise ChangeError("parameters are set between two batches, and one is being made")
        values = {**self._parameters, **parameters}
        firsts = self._session.change(self._made(values))
        self._parameters = values
        return dict(firsts)

    def close(self) -> None:
        """End the run; rows that were not taken are not answered."""
        self._batches.close()
        self._finalizer()

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _batches(session: Session | DividedSession) -> Generator[pyarrow.RecordBatch]:
    """Yield the rows, then say what was damaged."""
    try:
        for event in session.batches():
            if event.batch.row_count:
                batch = event.batch.to_arrow()
                marks = {"gs.partial": "true"} if event.batch.is_partial else {}
                if event.batch.missing:
                    marks["gs.missing"] = ",".join(event.batch.missing)
                yield batch.replace_schema_metadata({"gs.query": event.query, **marks})
        statistics = session.statistics()
        damaged = [source for source in statistics.sources if source.damage]
        failure = session.failure()
    finally:
        session.close()
    for raised in statistics.raised:
        warnings.warn(str(raised), RuntimeWarning, stacklevel=3)
    if damaged:
        told = "; ".join(f"{s.label} is damaged: {s.damage}" for s in damaged)
        raise DamagedSourceError(told) from failure


def _sources(given: Sources, link_type: int | str | None) -> list[FileSource | PacketSource]:
    listed = [given] if isinstance(given, _NAMED) else given
    if isinstance(listed, list | tuple) and listed and all(isinstance(s, _NAMED) for s in listed):
        if link_type is not None:
            raise SourceError("link_type is of packets from memory; a capture says its own")
        chosen = [_source(source) for source in listed]
    else:
        chosen = [PacketSource(given, link_type=link_type)]  # type: ignore[arg-type]
    for source in chosen:
        source.check()
    return chosen


_NAMED = (str, Path, FileSource, PacketSource)


def _source(given: Source) -> FileSource | PacketSource:
    return given if isinstance(given, FileSource | PacketSource) else parse_source(str(given))


def _definitions(given: Definitions) -> tuple[str, ...]:
    return tuple(map(str, [given] if isinstance(given, str | Path) else given))


def _streams(given: Streams, definitions: tuple[str, ...]) -> list[StreamSource]:
    """Return the sources of records. SourceError; GsqlError of the definitions."""
    if not given:
        return []
    from gigastream.gsql.catalog.build import load_catalog
    from gigastream.records.source import stream_sources

    found = stream_sources(given, load_catalog(definitions).streams)
    for source in found:
        source.check()
    return found


def _plan(
    query: str,
    parameters: Parameters | None,
    files: Sequence[FileSource | PacketSource | StreamSource] = (),
    definitions: tuple[str, ...] = (),
    functions: tuple[PythonFunction, ...] = (),
) -> Plan:
    from gigastream.engine.handles import check_handles
    from gigastream.plan import plan_queries

    if not isinstance(query, str):
        raise TypeError(f"a query is GSQL text, not {type(query).__name__}: path.read_text()?")
    interfaces: dict[str, dict[str, str]] = {file.interface: {} for file in files}
    texts = QueryTexts(
        inline_queries((query,)),
        _as_texts(parameters),
        definitions,
        functions,
        interfaces=interfaces,
        is_finite=bool(files) and are_finite(files),
        opens_lists=True,
    )
    plan = plan_queries(check_texts(texts).queries, is_finite=texts.is_finite)
    check_handles(plan)
    return plan


def _as_texts(parameters: Parameters | None) -> dict[str, str]:
    """Return values as they stand behind --param."""
    for name, value in (parameters or {}).items():
        if not isinstance(value, str | int | float | IPv4Address | IPv6Address):
            what = "a text, a number, a bool or an address"
            raise TypeError(f"the parameter {name} is {what}, not {type(value).__name__}")
    return {name: str(value) for name, value in (parameters or {}).items()}


EXPLANATIONS = {
    "text": "queries, prefilter, both levels, order and punctuation",
    "c": "the C that is generated",
    "json": "the plan as JSON",
    "dot": "the plan as a graph for Graphviz",
}


def explain(
    query: str,
    *,
    parameters: Parameters | None = None,
    definitions: Definitions = (),
    functions: Functions = (),
    form: str = "text",
) -> str:
    """Say what becomes of a query, in one of the forms of EXPLANATIONS. Raises GsqlError."""
    own = live_functions(functions)
    return explain_plan(_plan(query, parameters, (), _definitions(definitions), own), form)


def explain_plan(plan: Plan, form: str) -> str:
    """Say what a plan is, in one of the forms of EXPLANATIONS; ValueError names them."""
    if form not in EXPLANATIONS:
        raise ValueError(f"'{form}' is none of {', '.join(EXPLANATIONS)}")
    return _FORMS[form](plan)


def _as_text(plan: Plan) -> str:
    from gigastream.plan.explain import explain

    return explain(plan)


def _as_c(plan: Plan) -> str:
    from gigastream.codegen.query_set import generate

    return generate(plan)


def _as_json(plan: Plan) -> str:
    import json

    from gigastream.plan.to_json import to_json

    return json.dumps(to_json(plan), indent=2)


def _as_dot(plan: Plan) -> str:
    from gigastream.plan.to_dot import to_dot

    return to_dot(plan)


_FORMS = {"text": _as_text, "c": _as_c, "json": _as_json, "dot": _as_dot}


def compile(query: str, target: str | Path, *, parameters: Parameters | None = None) -> Path:
    """Make the shared object of a query, for hosts without a compiler; return its path.

    Raises GsqlError and CompileError.
    """
    from gigastream.compiled import write_object

    texts = QueryTexts(inline_queries((query,)), _as_texts(parameters))
    return write_object(_plan(query, parameters), texts, Path(target))


_RAISED = {
    "CompileError": "gigastream.codegen.compiler",
    "EngineError": "gigastream.engine.batch",
    "FilterError": "gigastream.sources.bpf",
    "GsqlError": "gigastream.gsql.diagnostics",
}
"""Errors of parts that are not loaded before they are used."""


def __getattr__(name: str) -> Any:
    if name not in _RAISED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_RAISED[name]), name)
