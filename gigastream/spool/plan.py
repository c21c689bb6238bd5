# SPDX-License-Identifier: Apache-2.0
"""The plan of a spool: its queries were written beside its segments, and make the plan again.

Another query may be answered from a spool too, if the streams that it needs of the low level are
there as it needs them; only what is above the border is then new.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gigastream.arrow_schema import arrow_schema
from gigastream.gsql.catalog.build import (
    STORED_CODE,
    StoredDefinitions,
    code_hash,
    is_python,
    store_definitions,
)
from gigastream.gsql.source import SourceFile
from gigastream.late_dataclass import asdict, replace
from gigastream.query_texts import QueryTexts, check_texts, library_texts
from gigastream.spool import StreamDescription, layout
from gigastream.spool.errors import printable

if TYPE_CHECKING:
    from gigastream.gsql.expressions import FunctionCall
    from gigastream.gsql.types import Column
    from gigastream.plan import Plan
    from gigastream.plan.operators.low_node import LowNode
    from gigastream.spool import Spool

_OF_CONSUMERS = ("name", "signature", "needs", "options")
"""What a low node's JSON says of the rest of its query set, and of how fast it goes.

Its signature is numbers of predicates, which stand for these.
"""


_READ_FILES = ("getlpmid",)
"""Functions that prepare a file which a query names."""


class SpooledPlanError(Exception):
    """Spools that do not belong together, or that cannot answer a query."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def queries_to_json(texts: QueryTexts) -> dict[str, Any]:
    """Return what makes the plan again, whole by itself, as plain data: a spool's queries.json.

    Of definition files it has the text, and of their code only the hash. Raises OSError.
    """
    stored = map(_stored, texts.definitions)
    return {
        "files": [{"name": file.name, "text": file.text} for file in texts.files],
        "parameters": dict(texts.parameters),
        "definitions": [asdict(file) for file in stored],
        "library": library_texts(texts),
        "interfaces": {name: dict(found) for name, found in texts.interfaces.items()},
    }


def queries_from_json(value: Mapping[str, Any]) -> QueryTexts:
    """Return the queries that `queries_to_json` was given. Raises ValueError for anything else."""
    return QueryTexts(
        files=tuple(
            SourceFile(printable(file["name"]), file["text"])
            for file in _objects(value, "files", ("name", "text"))
        ),
        parameters=_texts(value, "parameters"),
        definitions=tuple(
            StoredDefinitions(printable(file["name"]), file["text"], file["header"])
            for file in _objects(value, "definitions", ("name", "text", "header"))
        ),
        library=_texts(value, "library"),
        interfaces=_interfaces(value.get("interfaces")),
    )


def queries_of(spool: Spool) -> QueryTexts:
    """Return the queries that a spool was written for. Raises SpoolReadError, SpooledPlanError."""
    try:
        return queries_from_json(spool.queries())
    except ValueError as error:
        message = f"{spool.path} does not say what its queries were: queries.json: {error}"
        raise SpooledPlanError(message, "what it holds can be read by Spark alone") from None


def _objects(value: Mapping[str, Any], key: str, names: Sequence[str]) -> list[dict[str, str]]:
    found = value.get(key)
    if not isinstance(found, list):
        raise ValueError(f"{key} is not a list")
    for item in found:
        if not isinstance(item, dict) or not all(isinstance(item.get(n), str) for n in names):
            raise ValueError(f"{key} has something without {' or '.join(names)}")
    return found


def _texts(value: Mapping[str, Any], key: str) -> dict[str, str]:
    found = value.get(key)
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise ValueError(f"{key} are not texts")
    return found


def _interfaces(value: object) -> dict[str, dict[str, str]]:
    if not isinstance(value, dict) or not all(map(layout.is_name, value)):
        raise ValueError("interfaces have no names")
    return {name: _texts(value, name) for name in value}


def stream_descriptions(plan: Plan) -> dict[str, StreamDescription]:
    """Return what a spool says of each stream of the low level.

    The hash is of all that its rows depend on, and of nothing else.
    """
    found = _low_nodes(plan)
    return {
        node.name: StreamDescription(
            layout.hash_of(found[node.name]),
            [described(column) for column in node.schema.columns],
            arrow_schema(node.schema),
        )
        for node in plan.low
    }


def described(column: Column) -> dict[str, Any]:
    """Return what a spool says of a column."""
    return {
        "name": column.name,
        "type": str(column.type),
        "temporal": column.temporal.value,
        "nullable": column.nullable,
        "subtype": column.subtype,
        "clock": column.clock,
    }


def plan_of_spools(
    spools: Sequence[Spool],
    texts: QueryTexts | None = None,
    *,
    definitions: Sequence[str] = (),
    is_finite: bool = False,
    newer_python: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Plan:
    """Return the plan whose low level wrote the spools, or that of other queries over them.

    Code is taken from `definitions` alone (those of `texts`, where there are any), which are files
    here, and never from what a spool says. `is_finite` says that the spools have ended and that who
    asks waits for their end. With `newer_python` a file in Python stands for the spool's of its
    name, though the text is another by now. Raises SpooledPlanError where the spools were written
    for different query sets, have no stream that `texts` need, or lack what their queries name;
    SpoolReadError where columns of a stream have one name; GsqlError for what is wrong in `texts`.
    """
    from gigastream.plan import plan_queries

    first = spools[0]
    _check_together(spools)
    theirs = queries_of(first)
    given = definitions if texts is None else texts.definitions
    asked = replace(theirs if texts is None else texts, interfaces=_all_interfaces(spools))
    known = _definitions(theirs.definitions, given, first, newer_python)
    asked = replace(asked, definitions=known, is_finite=is_finite)
    checked = check_texts(asked)
    for warning in checked.warnings:
        tell(warning.render())
    plan = plan_queries(checked.queries, is_finite=is_finite)
    for warning in plan.warnings:
        tell(warning.render())
    if texts is not None:
        plan = _with_their_names(plan, first)
    _check_streams(plan, first, is_other=texts is not None)
    check_is_here(plan, first.path, is_theirs=texts is None)
    return plan


def _definitions(
    theirs: Sequence[str | StoredDefinitions],
    given: Sequence[str | StoredDefinitions],
    spool: Spool,
    newer_python: bool,
) -> tuple[str | StoredDefinitions, ...]:
    """Return the reader's files in the place of those that they are, and the spool's for the rest.

    A file with the name of one of the spool's must be that one, or is taken for it.
    """
    here = {path: _stored(path) for path in given}
    written = {file.name: file for file in theirs if isinstance(file, StoredDefinitions)}
    older = {name: file for name, file in written.items() if file not in here.values()}
    for path, file in here.items():
        if newer_python and is_python(file):
            here[path] = file if file in theirs else older.get(file.name, file)
        elif file.name in written and file not in theirs:
            raise SpooledPlanError(
                f"{path} is not the {file.name} that {spool.path} was written with",
                "give the definition file, and the header beside it, that its writer had",
            )
    replaced = {file: path for path, file in here.items()}
    known = [
        replaced.get(file, file) if isinstance(file, StoredDefinitions) else file for file in theirs
    ]
    return (*known, *(path for path in given if path not in known))


def changed_python(files: Sequence[str], spool: Spool) -> tuple[str, ...]:
    """Files in Python of which a spool's queries have another text. SpooledPlanError."""
    theirs = queries_of(spool).definitions
    names = {file.name for file in theirs if isinstance(file, StoredDefinitions)}
    here = ((path, _stored(path)) for path in filter(is_python, files))
    return tuple(path for path, file in here if file.name in names and file not in theirs)


def _stored(file: str | StoredDefinitions) -> StoredDefinitions:
    if isinstance(file, StoredDefinitions):
        return file
    try:
        return store_definitions(file)
    except OSError as error:
        raise SpooledPlanError(f"{file}: {error.strerror}") from None


def _all_interfaces(spools: Sequence[Spool]) -> dict[str, dict[str, str]]:
    """Return the interfaces of several hosts; of two with one name the first one's properties."""
    found: dict[str, dict[str, str]] = {}
    for spool in spools:
        for name, properties in queries_of(spool).interfaces.items():
            found.setdefault(name, dict(properties))
    return found


def _check_together(spools: Sequence[Spool]) -> None:
    first = spools[0]
    for other in spools[1:]:
        if other.query_set != first.query_set:
            raise SpooledPlanError(
                f"{first.path} and {other.path} were written for different query sets",
                "run the same queries on every host",
            )


def _check_streams(plan: Plan, spool: Spool, *, is_other: bool) -> None:
    written = spool.stream_hashes()
    for name, description in stream_descriptions(plan).items():
        spool.check_names(name)
        if written.get(name) != description.identity:
            raise SpooledPlanError(*_why_not(name, name in written, spool, is_other))


def _with_their_names(plan: Plan, spool: Spool) -> Plan:
    """Return the plan over the spool's streams: low nodes that are one stream are one node.

    Of queries that want the same of the low level, the stream is named after the first; here they
    may differ in options of a table that is not made here, or be parts of unions. Raises
    SpooledPlanError for a node that is no stream.
    """
    from gigastream.plan.rules.rebuild import change_low

    written, ours = spool.stream_hashes(), stream_descriptions(plan)
    names = {identity: name for name, identity in reversed(written.items())}
    streams: dict[str, LowNode] = {}

    def change(node: LowNode) -> LowNode:
        own = ours[node.name].identity
        name = node.name if node.name in plan.texts else names.get(own, node.name)
        spool.check_names(name)
        if written.get(name) != own:
            raise SpooledPlanError(*_why_not(node.name, node.name in written, spool, True))
        return streams.setdefault(name, replace(node, name=name).with_table(()))

    changed = change_low(plan, change)
    return replace(changed, nodes=tuple({id(node): node for node in changed.nodes}.values()))


def _low_nodes(plan: Plan) -> dict[str, dict[str, Any]]:
    """By name, each low node with what decides on its rows."""
    from gigastream.plan.to_json import to_json

    value = to_json(plan)
    low = {type(node).__name__ for node in plan.low}  # a query may be named as a spool's stream
    return {
        node["name"]: {
            "format": value["format"],
            "node": _anywhere({k: item for k, item in node.items() if k not in _OF_CONSUMERS}),
            "prefilter": [_anywhere(value["prefilter"][bit]) for bit in node["signature"]],
        }
        for node in value["nodes"]
        if node["kind"] in low
    }


def _why_not(name: str, is_there: bool, spool: Spool, is_other: bool) -> tuple[str, str]:
    if not is_other:
        message = f"{spool.path} was written by another version: its queries now give another plan"
        return message, "read it with that version, or write it again"
    what = f"its stream {name} is another one" if is_there else f"it has no stream {name}"
    hint = "name the query as it was named, and change only what is above the border (explain)"
    return f"{spool.path} cannot answer the query: {what}", hint


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """Return a plan as plain data that is the same on every host: a spool's plan.json."""
    from gigastream.plan.to_json import to_json

    value: dict[str, Any] = _anywhere(to_json(plan))
    return value


def _anywhere(value: Any) -> Any:
    """Return plain data of a plan with the hashes of C headers in place of their paths."""
    if isinstance(value, list):
        return [_anywhere(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _anywhere(item) for key, item in value.items()}
    if found.get("header"):
        found["header"] = code_hash(found["header"])
    if found.get("headers"):
        found["headers"] = [code_hash(header) for header in found["headers"]]
    return found


def reads_files(plan: Plan) -> bool:
    """Whether the high level reads files of this host that the queries name."""
    high = (node for node in plan.nodes if not node.is_low)
    return any(_reads_a_file(call) for node in high for call in node.calls)


def _reads_a_file(call: FunctionCall) -> bool:
    return call.name.lower() in _READ_FILES and call.handle is not None


def check_is_here(plan: Plan, path: str, *, is_theirs: bool) -> None:
    """Refuse what a high level would need of this host, and nobody here has named."""
    for node in plan.nodes:
        for call in () if node.is_low else node.calls:
            if call.header.startswith(STORED_CODE):
                raise SpooledPlanError(
                    f"{call.name} is code of a definition file, which {path} does not bring along",
                    "--definitions FILE names the file that its writer had, with its header beside",
                )
            if is_theirs and _reads_a_file(call):
                raise SpooledPlanError(
                    f"a query of {path} reads the file {_file_of(call)} of this host",
                    "a spool's own queries are given no file; name the query, as in "
                    "--spool PATH QUERY.gsql",
                )


def _file_of(call: FunctionCall) -> str:
    argument = call.arguments[call.handle or 0]
    value = getattr(argument, "value", b"")
    return repr(value.decode(errors="replace") if isinstance(value, bytes) else value)
