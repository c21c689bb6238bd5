# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint is of: Spark would go on with the state of another query, and answer wrongly.

A small file of ours beside Spark's own says which query set, spools and outputs a job has. One that
comes back must have the same.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow
import pyarrow.fs

from gigastream.plan.to_json import to_json
from spark_sink.job_errors import JobError

if TYPE_CHECKING:
    from gigastream.plan.plan import Plan

FORMAT = 1
"""Goes up when the state of a query changes: what is aggregated (aggregates.py), and by what."""
FILE = "gigastream.json"
_DIFFERENCES = (
    ("query_set", "other queries"),
    ("spools", "other spools"),
    ("outputs", "other outputs"),
    ("format", "another version of Gigastream"),
)


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

    def to_json(self) -> dict[str, Any]:
        """Return what the file holds."""
        plan = json.dumps(to_json(self.plan), sort_keys=True)
        return {
            "format": FORMAT,
            "query_set": hashlib.sha256(plan.encode()).hexdigest(),
            "spools": sorted(self.spools),
            "outputs": sorted(self.outputs),
        }


@dataclass(frozen=True, slots=True)
class Claim:
    """A checkpoint that is a job's own."""

    is_back: bool
    """Whether it has run there before."""
    reader: str
    """What spools know its queries by: no other checkpoint has it."""


def claim(folder: str, job: JobIdentity) -> Claim:
    """Write down what the checkpoint in `folder` is of.

    Raises JobError where it was another job, or the folder cannot be used.
    """
    system, path = filesystem(folder)
    wanted = job.to_json()
    try:
        before = read_json(system, f"{path}/{FILE}")
        reader = _reader(before)
        if before is not None:
            _check_same(folder, _with_identities(before, job), wanted)
        if before != wanted | {"reader": reader}:
            system.create_dir(path, recursive=True)
            write_json(system, f"{path}/{FILE}", wanted | {"reader": reader})
    except OSError as error:
        raise JobError(f"checkpoint {folder}: {error}", exit_code=2) from None
    return Claim(before is not None, reader)


def _reader(before: Mapping[str, Any] | None) -> str:
    said = None if before is None else before.get("reader")
    return said if isinstance(said, str) else f"spark-{secrets.token_hex(6)}"


def _with_identities(before: Mapping[str, Any], job: JobIdentity) -> Mapping[str, Any]:
    is_by_path = before.get("spools") == sorted(job.paths)
    return {**before, "spools": sorted(job.spools)} if is_by_path else before


def part_name(number: int, query: str, sink: str) -> str:
    """Return the name of one streaming query of a job, for an output and a sink."""
    return f"{number}-{quote(query, safe='')}-{quote(sink, safe='')}"


def part(folder: str, number: int, query: str, sink: str) -> str:
    """Return its folder."""
    return f"{folder.rstrip('/')}/{part_name(number, query, sink)}"


def _check_same(folder: str, before: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for key, what in _DIFFERENCES:
        if before.get(key) != wanted[key]:
            raise JobError(
                f"the checkpoint {folder} belongs to a job with {what}",
                "a job that is changed begins anew: name a --checkpoint that is not there yet",
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
