# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint is of: Spark would go on with the state of another query, and answer wrongly.

A small file of ours beside Spark's own says what of each query is kept (kept_state.py), which
spools a job has, and which folder is whose progress. A job that comes back must have the same state
and spools; an output that is new begins where a new checkpoint would.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow
import pyarrow.fs

from gigastream.new_file import take_name
from gigastream.plan.to_json import to_json
from spark_sink.job_errors import JobError
from spark_sink.kept_state import kept_of, what_changed
from spark_sink.options import EARLIEST

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan

FORMAT = 1
"""Goes up when the state of a query changes: what is aggregated (aggregates.py), and by what."""
FILE = "gigastream.json"
BEGUN = ("planned", "offsets")
"""Where micro-batches are written down before they run: ours, and Spark's."""
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
    starting_at: str | None = None
    """Where it begins in the spools, if that is asked for."""

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

    One in which nothing was done yet is whoever's comes next, under the name that it reads by.
    Raises JobError where it was another job, or the folder cannot be used.
    """
    system, path = filesystem(folder)
    wanted = job.to_json()
    try:
        said = read_json(system, f"{path}/{FILE}")
        if said is None:
            _check_empty(folder, system, path)
        reader, said_of_begun = _reader(said), read_begun(system, path)
        before = None if said_of_begun is None else _with_identities(said_of_begun, job)
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
        start = {"starting_at": job.starting_at or EARLIEST}
        if job.point is None:
            return start
        return {**start, "from": job.point, "after_ms": job.after_of(job.point)}
    # an earlier version did not write down where it started
    for option, asked, was in (
        ("--from", job.point, before.get("from")),
        ("--starting-at", job.starting_at, before.get("starting_at", job.starting_at)),
    ):
        if asked not in (None, was):
            raise JobError(
                f"the checkpoint {folder} is there already, and has not begun at {asked}",
                f"it goes on without {option}; a point is where a new checkpoint begins",
                exit_code=2,
            )
    return {key: before[key] for key in ("starting_at", "from", "after_ms") if key in before}


def read_begun(system: pyarrow.fs.FileSystem, path: str) -> Mapping[str, Any] | None:
    """Return what a checkpoint's file says, if it does of micro-batches that have begun.

    Else none: a start that failed is no reason to refuse the next one. Raises OSError.
    """
    said = read_json(system, f"{path}/{FILE}")
    folders = known_parts(said or {}).values()
    is_begun = not folders or any(
        newest_number(system, f"{path}/{name}/{at}") is not None for name in folders for at in BEGUN
    )
    return said if is_begun else None


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


def write_new_json(system: pyarrow.fs.FileSystem, path: str, value: Mapping[str, Any]) -> bool:
    """Write a file that nobody has written; False where one is there. It is durable. OSError.

    Of two at once on one host one gets it; elsewhere both may, who look in the same moment.
    """
    if isinstance(system, pyarrow.fs.LocalFileSystem):
        return _is_written_first(Path(path), json.dumps(value, indent=1).encode())
    if system.get_file_info(path).type != pyarrow.fs.FileType.NotFound:
        return False
    write_json(system, path, value)
    return True


def _is_written_first(path: Path, content: bytes) -> bool:
    """By a second name, which takes the place of nothing."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.new")
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        take_name(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    _make_durable(path.parent)
    return True


def _make_durable(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def newest_number(system: pyarrow.fs.FileSystem, path: str) -> int | None:
    """Return the number of the last micro-batch that is written down in a folder. OSError."""
    found = system.get_file_info(pyarrow.fs.FileSelector(path, allow_not_found=True))
    return max((int(info.base_name) for info in found if info.base_name.isdecimal()), default=None)


def newest_begun(folder: str) -> int | None:
    """Return the number of the last micro-batch that a query's folder knows of. JobError."""
    system, path = filesystem(folder)
    try:
        found = [newest_number(system, f"{path}/{part}") for part in BEGUN]
    except OSError as error:
        raise JobError(f"checkpoint {folder}: {error}", exit_code=2) from None
    return max((number for number in found if number is not None), default=None)


def check_is_newer(folder: str, label: str, last: int | None) -> None:
    """Refuse a checkpoint that knows less than what it has written: JobError.

    `last` is the number of the last micro-batch that the place of its rows knows. What the query
    would make now under the numbers up to there is known there by them, and would be left out.
    """
    begun = newest_begun(folder)
    if last is None or (begun is not None and last <= begun):
        return
    knows = "none" if begun is None else f"up to {begun}"
    raise JobError(
        f"{label} has the rows of micro-batch {last} of this checkpoint, which knows of {knows}: "
        f"{folder} is an older copy, or was not whole when its disk lost power",
        "the newest copy of the checkpoint; or a new --checkpoint, which begins anew, into another "
        "table or folder",
        exit_code=2,
    )


def filesystem(folder: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """Return where a checkpoint lies: a path here, or a URI. Raises JobError."""
    if "://" not in folder:
        return pyarrow.fs.LocalFileSystem(), str(Path(folder).absolute())
    try:
        system, path = pyarrow.fs.FileSystem.from_uri(folder)
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise JobError(f"checkpoint {folder}: {error}", exit_code=2) from None
    return system, path
