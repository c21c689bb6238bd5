# SPDX-License-Identifier: Apache-2.0
"""Fuzz target: a spool of which one file is somebody else's, read as `run --spool` reads it.

An input is the name of the file within the spool, a line feed, and the file's bytes. Checksums are
put right again in every other input: who writes a spool can compute them.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import shutil
import tempfile
import time
import zlib
from argparse import Namespace
from collections import deque
from collections.abc import Callable, Iterator
from copy import copy
from functools import cache
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NoReturn
from unittest.mock import patch

from gigastream.cli import run
from gigastream.cli.arguments import CommandParser
from gigastream.cli.errors import report
from gigastream.cli.main import run_command_line
from gigastream.codegen.compiler import compile_query_set
from gigastream.codegen.query_set import generate
from gigastream.plan import plan_queries
from gigastream.query_texts import check_texts
from gigastream.spool import SegmentDamage, Spool
from gigastream.spool.plan import queries_of, stream_descriptions
from tests.captures import DEMO_CAPTURE
from tests.sanitize.mutations import mutate_bytes

QUERY = """SELECT tb, protocol, count(*) AS n, first(community_id) AS id
    FROM IP GROUP BY time/60 AS tb, protocol"""
PACKETS = "200"
MANIFEST = "manifest-000001"
ANSWERED = 8
_DONE, _FAILED, _WRONG = 0, 1, 2
_VALUES = (0, -1, 1 << 63, (1 << 63) - 1, 1 << 70, None, "", "x", [], {}, [None], True, 1.5, "../x")


@cache
def original() -> Path:
    """A spool of the demo's capture, that no input changes; in memory where that can be."""
    memory = Path("/dev/shm")
    root = Path(
        tempfile.mkdtemp(
            prefix="gigastream-fuzz-", dir=memory if os.access(memory, os.W_OK) else None
        )
    )
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    spool = root / "original"
    words = ["run", "-q", "-r", str(DEMO_CAPTURE), "--count", PACKETS, "-e", QUERY]
    assert run_command_line([*words, "-o", f"spool:{spool}"]) == _DONE
    shutil.copytree(spool, root / "changed")
    return spool


@cache
def files() -> tuple[Path, ...]:
    """The files of the spool, within it."""
    return tuple(sorted(p.relative_to(original()) for p in original().rglob("*") if p.is_file()))


def seeds() -> Iterator[bytes]:
    """Every file as it is."""
    for name in files():
        yield str(name).encode() + b"\n" + (original() / name).read_bytes()


def mutate(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Change the file's bytes, or what its JSON says."""
    name, _, content = data.partition(b"\n")
    if random.random() < 0.6 and (changed := _mutate_json(content, random)) is not None:
        return name + b"\n" + changed
    changed = mutate_bytes(content, [other.partition(b"\n")[2] for other in others], random)
    return name + b"\n" + (_repaired(changed) if random.random() < 0.5 else changed)


def attempt(data: bytes) -> None:
    """Read the spool, and answer its query from one input in so many."""
    execute(data, is_answered=zlib.crc32(data) % ANSWERED == 0)


def execute(data: bytes, *, is_answered: bool = True) -> None:
    """Read the spool; what is wrong is told, and never as a fault of ours."""
    name, _, content = data.partition(b"\n")
    folder = original().parent / "changed"
    changed = Path(name.decode(errors="replace"))
    if changed not in files():
        return  # of a spool that was laid out otherwise
    try:
        _replace(folder / changed, content)
        _list(folder / changed, content)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            code = _look(folder)
            if is_answered:
                code = _read(folder)
        assert code in (_DONE, _FAILED, _WRONG), said.getvalue()
        assert "a fault in Gigastream itself" not in said.getvalue(), said.getvalue()
    finally:
        for other in {changed, changed.with_name(MANIFEST)} & set(files()):
            _replace(folder / other, (original() / other).read_bytes())


def _look(folder: Path) -> int:
    """Every file of it, as readers here and on Spark do."""
    try:
        spool = Spool(folder)
        queries_of(spool)
        for track in spool.tracks():
            for entry in track.poll():
                with contextlib.suppress(SegmentDamage):
                    deque(track.read(entry) if entry.kind == "segment" else (), maxlen=0)
    except Exception as error:
        return report(error)
    return _DONE


class _WaitsError(BaseException):
    """The spool has not ended, and its reader would follow a writer that is not there."""


def _once(function: Callable[..., Any], key: Callable[[Any], object]) -> Callable[..., Any]:
    """Remember what it made of the last: the spool's queries, unless an input changes them."""
    last: tuple[object, object, object] = (None, None, None)

    def remembered(asked: Any, *others: Any, **options: Any) -> Any:
        nonlocal last
        if last[0] is None or last[1] != key(asked):
            last = (asked, key(asked), function(asked, *others, **options))
        return last[2]

    return remembered


# The front end has a target of its own.
_compiled = cache(compile_query_set)  # the cache on the disk hashes all headers for each input
_checked = _once(check_texts, repr)
_planned = _once(plan_queries, id)
_described = _once(stream_descriptions, id)
_generated = _once(generate, id)


def _read(spool: Path) -> int:
    def refuse_to_wait(seconds: float) -> NoReturn:
        raise _WaitsError

    waits = SimpleNamespace(monotonic=time.monotonic, sleep=refuse_to_wait)
    try:
        with (
            patch(
                "gigastream.sessions.spool_session.time", waits
            ),  # its own: other threads do sleep
            patch("gigastream.engine.opening.compile_query_set", _compiled),
            patch("gigastream.spool.plan.check_texts", _checked),
            patch("gigastream.plan.plan_queries", _planned),
            patch("gigastream.spool.plan.stream_descriptions", _described),
            patch("gigastream.engine.opening.generate", _generated),
        ):
            return run.execute(copy(_arguments(spool)))
    except _WaitsError:
        return _DONE
    except Exception as error:
        return report(error)


@cache
def _arguments(spool: Path) -> Namespace:
    parser = CommandParser(prog="gigastream run")
    run.add_arguments(parser)
    return parser.parse_args(["-q", "--spool", str(spool), "-o", "csv:/dev/null"])


def _replace(path: Path, content: bytes) -> None:
    path.unlink()  # never through a link
    path.write_bytes(content)


def _list(segment: Path, content: bytes) -> None:
    """Let the manifest list a changed segment as it is: its content is the lie."""
    manifest = segment.with_name(MANIFEST)
    if segment.suffix != ".arrows" or not manifest.is_file() or zlib.crc32(content) % 2:
        return
    lines = []
    for line in manifest.read_bytes().splitlines():
        entry = json.loads(line[9:])
        if entry["kind"] == "segment":
            entry |= {"size_bytes": len(content), "checksum": zlib.crc32(content)}
        lines.append(_line(json.dumps(entry).encode()))
    _replace(manifest, b"".join(lines))


def _line(text: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _repaired(content: bytes) -> bytes:
    """Put the checksum right in every line that has one."""
    return b"".join(
        _line(line[9:]) if line[8:9] == b" " else line + b"\n" for line in content.splitlines()
    )


def _mutate_json(content: bytes, random: Random) -> bytes | None:
    """Change a value somewhere in a JSON file, or in a line of a manifest; None: it is neither."""
    lines = content.splitlines(keepends=True)
    at = random.randrange(len(lines)) if lines else 0
    is_line = bool(lines) and lines[at][8:9] == b" "
    try:
        value = json.loads(lines[at][9:] if is_line else content)
    except (ValueError, RecursionError):
        return None
    changed = json.dumps(_changed(value, random)).encode()
    return b"".join([*lines[:at], _line(changed), *lines[at + 1 :]]) if is_line else changed


def _changed(value: object, random: Random) -> object:
    """Descend at random and put something else there."""
    if isinstance(value, dict) and value and random.random() < 0.85:
        name = random.choice(sorted(value))
        if random.random() < 0.1:
            return {key: item for key, item in value.items() if key != name}
        return value | {name: _changed(value[name], random)}
    if isinstance(value, list) and value and random.random() < 0.85:
        at = random.randrange(len(value))
        put = random.choice(([], [_changed(value[at], random)], [value[at]] * 2))
        return [*value[:at], *put, *value[at + 1 :]]
    if isinstance(value, int) and random.random() < 0.5:
        return value + random.choice((-1, 1, 256, -(1 << 31)))
    if isinstance(value, str) and random.random() < 0.5:
        return value[: random.randrange(len(value) + 1)] + random.choice(("", "\0", "x", value))
    return random.choice(_VALUES)
