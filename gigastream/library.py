# SPDX-License-Identifier: Apache-2.0
"""Gigastream as a library: the three functions of `import gigastream`.

Errors are exceptions with a text for people: GsqlError (the query), SourceError (a capture),
FilterError (the BPF filter).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from gigastream.settings import Settings
from gigastream.sources import DamagedSourceError, FileSource, parse_source

if TYPE_CHECKING:
    import pyarrow

    from gigastream.engine.session import Session
    from gigastream.plan import Plan

Sources = str | Path | FileSource | Sequence[str | Path | FileSource]


def run(
    query: str,
    sources: Sources,
    *,
    parameters: Mapping[str, str] | None = None,
    settings: Settings | None = None,
) -> Iterator[pyarrow.RecordBatch]:
    """Answer a query over captures; yield its rows as windows close.

    `query` is GSQL text; of several queries in it, all that are not `visibility internal` are
    answered, and the metadata `gs.query` of a batch's schema says whose rows it has; `gs.partial`
    says that groups of their window were refused (max_groups). `sources` are files, each
    `[IFACE=]FILE` as on the command line, or FileSources.

        question = "SELECT tb, count(*) AS packets FROM IPV4 GROUP BY time/60 AS tb"
        rows = [row for batch in gigastream.run(question, "a.pcap") for row in batch.to_pylist()]

    Raises GsqlError, SourceError and FilterError before anything is read, and EngineError when the
    run fails. A damaged capture raises DamagedSourceError, after the rows of what came before.
    """
    from gigastream.engine.session import Session

    files = _files(sources)
    session = Session(_plan(query, parameters, files), files, settings or Settings())
    return _batches(session)


def _batches(session: Session) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows, then say what was damaged; an iterator that is dropped ends the session."""
    try:
        for event in session.batches():
            if event.batch.row_count:
                batch = event.batch.to_arrow()
                marks = {"gs.partial": "true"} if event.batch.is_partial else {}
                yield batch.replace_schema_metadata({"gs.query": event.query, **marks})
        damaged = [source for source in session.statistics().sources if source.damage]
    finally:
        session.close()
    if damaged:
        raise DamagedSourceError("; ".join(f"{s.label} is damaged: {s.damage}" for s in damaged))


def _files(sources: Sources) -> list[FileSource]:
    given = [sources] if isinstance(sources, str | Path | FileSource) else sources
    files = [s if isinstance(s, FileSource) else parse_source(str(s)) for s in given]
    for file in files:
        file.check()
    return files


def _plan(
    query: str, parameters: Mapping[str, str] | None, files: Sequence[FileSource] = ()
) -> Plan:
    from gigastream.plan import plan_queries

    interfaces: dict[str, dict[str, str]] = {file.interface: {} for file in files}
    texts = QueryTexts(inline_queries((query,)), dict(parameters or {}), interfaces=interfaces)
    return plan_queries(check_texts(texts).queries)


EXPLANATIONS = {
    "text": "queries, prefilter, both levels, order and punctuation",
    "c": "the C that is generated",
    "json": "the plan as JSON",
    "dot": "the plan as a graph for Graphviz",
}


def explain(query: str, *, parameters: Mapping[str, str] | None = None, form: str = "text") -> str:
    """Say what becomes of a query, in one of the forms of EXPLANATIONS. Raises GsqlError."""
    return explain_plan(_plan(query, parameters), form)


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


def compile(query: str, target: str | Path, *, parameters: Mapping[str, str] | None = None) -> Path:
    """Make the shared object of a query, for hosts without a compiler; return its path.

    Raises GsqlError and CompileError.
    """
    return compile_plan(_plan(query, parameters), Path(target))


def compile_plan(plan: Plan, target: Path, include: Sequence[Path] = ()) -> Path:
    """Make the shared object of a plan; `include` are folders of the C headers of its protocols."""
    import shutil

    from gigastream.codegen.compiler import compile_query_set
    from gigastream.codegen.query_set import generate

    shutil.copyfile(compile_query_set(generate(plan), headers=include, portable=True), target)
    return target
