# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint is of: Spark would go on with the state of another query, and answer wrongly.

A small file of ours beside Spark's own says what of each query is kept (kept_state.py), which
spools a job has, and which folder is whose progress. A job that comes back must have the same state
and spools; an output that is new begins where a new checkpoint would.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow
import pyarrow.fs

from gigastream.plan.to_json import to_json
from spark_sink.job_errors import JobError
from spark_sink.kept_state import kept_of, what_changed

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan

FORMAT = 1
"""Goes up when the state of a query changes: what is aggregated (aggregates.py), and by what."""
FILE = "gigastream.json"
_OF_DISKS = {"lost+found"}
"""What a disk that was just made has."""
_DIFFERENCES = (
    ("spools", "other spools"),
    ("format", "another version of Gigastream"),
)
_OF_EARLIER_VERSIONS = (("query_set", "other queries"), ("outputs", "other outputs"))
"""They wrote down neither what a query keeps nor which folder is whose."""


@dataclass(frozen=True, slots=True)
class JobIdentity:
    """What must not change while a checkpoint lives.

    `spools` are their identities, and not their paths: one that was moved is the same, and what a
    URI says of its user is in no checkpoint. `paths` are what earlier versions wrote down instead.
    """

    plan: Plan
    spools: Sequence[str]
    outputs: Sequence[str]
    paths: Sequence[str] = ()
    formats: Mapping[str, str] = field(default_factory=dict)
    """By output, what its folder is called by."""
    point: str | None = None
    """Where a new checkpoint takes up (savepoint.py)."""
    after_of: Callable[[str], dict[str, int]] = lambda _: {}
    """Gives what a point is, by query; asked once, since another checkpoint goes on."""

    def to_json(self) -> dict[str, Any]:
        """Return what the file holds."""
        plan = json.dumps(to_json(self.plan), sort_keys=True)
        return {
            "format": FORMAT,
            "query_set": hashlib.sha256(plan.encode()).hexdigest(),
            "spools": sorted(self.spools),
            "outputs": sorted(self.outputs),
            "kept": kept_of(self.plan),
        }


@dataclass(frozen=True, slots=True)
class Claim:
    """A checkpoint that is a job's own."""

    reader: str
    """What spools and tables know its queries by: no other checkpoint has it."""
    parts: Mapping[tuple[str, str], str]
    """By query and output, the folder of its progress."""
    known: frozenset[tuple[str, str]] = frozenset()
    """Those that have run there before."""
    after_ms: Mapping[str, int] = field(default_factory=dict)
    """By query, up to which base time windows are not its own; none: all are."""


def claim(folder: str, job: JobIdentity) -> Claim:
    """Write down what the checkpoint in `folder` is of.

    Raises JobError where it was another job, or the folder cannot be used.
    """
    system, path = filesystem(folder)
    wanted = job.to_json()
    try:
        said = read_json(system, f"{path}/{FILE}")
        reader = _reader(said)
        if said is None:
            _check_empty(folder, system, path)
        before = None if said is None else _with_identities(said, job)
        if before is not None:
            _check_same(folder, before, wanted)
        # an earlier version numbered them in the order in which they were given
        known = {} if before is None else known_parts(before) or _parts({}, job)
        parts = _parts(known, job)
        begun = _begun(folder, before, job)
        written = {**wanted, "parts": [[*key, name] for key, name in parts.items()], **begun}
        if said != written | {"reader": reader}:
            system.create_dir(path, recursive=True)
            write_json(system, f"{path}/{FILE}", written | {"reader": reader})
    except OSError as error:
        raise JobError(f"checkpoint {folder}: {error}", exit_code=2) from None
    return Claim(reader, parts, frozenset(known), begun.get("after_ms", {}))


def _check_empty(folder: str, system: pyarrow.fs.FileSystem, path: str) -> None:
    """A checkpoint is begun in no folder of something else: a spool, another job's rows."""
    found = system.get_file_info(pyarrow.fs.FileSelector(path, allow_not_found=True))
    others = sorted({info.base_name for info in found} - _OF_DISKS)
    others = [name for name in others if not name.startswith(".")]
    if others:
        raise JobError(
            f"{folder} is no checkpoint, and holds something else: {others[0]}",
            "name a --checkpoint that is not there yet",
            exit_code=2,
        )


def _reader(before: Mapping[str, Any] | None) -> str:
    said = None if before is None else before.get("reader")
    return said if isinstance(said, str) else f"spark-{secrets.token_hex(6)}"


def _with_identities(before: Mapping[str, Any], job: JobIdentity) -> Mapping[str, Any]:
    is_by_path = before.get("spools") == sorted(job.paths)
    return {**before, "spools": sorted(job.spools)} if is_by_path else before


def _begun(folder: str, before: Mapping[str, Any] | None, job: JobIdentity) -> dict[str, Any]:
    """Where a checkpoint has taken up, or takes up now."""
    if before is None:
        return {} if job.point is None else {"from": job.point, "after_ms": job.after_of(job.point)}
    if job.point not in (None, before.get("from")):
        raise JobError(
            f"the checkpoint {folder} is there already, and has not begun at {job.point}",
            "it goes on without --from; a point is where a new checkpoint begins",
            exit_code=2,
        )
    return {key: before[key] for key in ("from", "after_ms") if key in before}


def known_parts(said: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """Return what a checkpoint's file says of its folders, by query and output."""
    return {(query, output): name for query, output, name in said.get("parts", ())}


def known_outputs(said: Mapping[str, Any]) -> frozenset[str]:
    """Return what a checkpoint's file calls its outputs, those of earlier runs included."""
    return frozenset((*said.get("outputs", ()), *(output for _, output in known_parts(said))))


def _parts(known: Mapping[tuple[str, str], str], job: JobIdentity) -> dict[tuple[str, str], str]:
    """Those that are known, and what is new behind them; who leaves may come back."""
    found = dict(known)
    for output in job.outputs:
        for node in job.plan.outputs:
            name = part_name(len(found), node.name, job.formats.get(output, output))
            found.setdefault((node.name, output), name)
    return found


def part_name(number: int, query: str, sink: str) -> str:
    """Return the name of one streaming query of a job, for an output and a sink."""
    return f"{number}-{quote(query, safe='')}-{quote(sink, safe='')}"


def part(folder: str, name: str) -> str:
    """Return its folder."""
    return f"{folder.rstrip('/')}/{name}"


def damage_log(folder: str) -> str:
    """Return where segments are written down that could not be read."""
    root = folder if "://" in folder else str(Path(folder).absolute())
    return f"{root.rstrip('/')}/damaged"


def _check_same(folder: str, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for key, what in _DIFFERENCES:
        if before.get(key) != wanted[key]:
            raise _refusal(folder, f"a job with {what}")
    if "kept" in before:
        _check_state(folder, before["kept"], wanted["kept"])
        return
    for key, what in _OF_EARLIER_VERSIONS:
        if before.get(key) != wanted[key]:
            raise _refusal(folder, f"a job with {what}")


def _check_state(folder: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    if set(before) != set(now):
        raise _refusal(folder, "a job with other queries")
    for query in sorted(now):
        if before[query] != now[query]:
            what = what_changed(before[query], now[query])
            raise _refusal(folder, f"another query {query}, which has changed in {what}")


def _refusal(folder: str, whose: str) -> JobError:
    return JobError(
        f"the checkpoint {folder} belongs to {whose}",
        "what keeps no state may change: a HAVING, an expression of the SELECT list, an output. "
        "Any other job begins anew: name a --checkpoint that is not there yet",
        exit_code=2,
    )


def read_json(system: pyarrow.fs.FileSystem, path: str) -> Mapping[str, Any] | None:
    """Return the object in a file: {} where it holds something else, None where it is not there."""
    if system.get_file_info(path).type == pyarrow.fs.FileType.NotFound:
        return None
    with system.open_input_stream(path) as stream:
        try:
            found = json.loads(stream.read())
        except ValueError:
            found = None
    return found if isinstance(found, dict) else {}


def write_json(system: pyarrow.fs.FileSystem, path: str, value: Mapping[str, Any]) -> None:
    """By rename: a file that is there is whole."""
    folder, _, name = path.rpartition("/")
    temporary = f"{folder}/.{name}.new"
    with system.open_output_stream(temporary) as stream:
        stream.write(json.dumps(value, indent=1).encode())
    system.move(temporary, path)


def filesystem(folder: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """Return where a checkpoint lies: a path here, or a URI. Raises JobError."""
    if "://" not in folder:
        return pyarrow.fs.LocalFileSystem(), str(Path(folder).absolute())
    try:
        system, path = pyarrow.fs.FileSystem.from_uri(folder)
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise JobError(f"checkpoint {folder}: {error}", exit_code=2) from None
    return system, path
