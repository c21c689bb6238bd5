# SPDX-License-Identifier: Apache-2.0
"""`gigastream compile` here, `gigastream run OBJECT.so` on a host without a compiler."""

from __future__ import annotations

import os
import random
import resource
import shutil
from enum import Enum
from functools import partial
from pathlib import Path

import pytest

from gigastream import compiled
from gigastream.codegen.query_set import generate
from gigastream.gsql.source import SourceFile
from gigastream.gsql.types import Order, Temporal, Type
from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from tests.captures import DEMO_CAPTURE
from tests.cli.command import Result, gigastream

OF_SANITIZERS = ("LD_PRELOAD", "ASAN_OPTIONS", "LSAN_OPTIONS")
QUERIES = """
DEFINE { query_name talkers; }
PARAM { least uint; }
SELECT tb, srcIP, sum(twice(len)) AS bytes FROM IPV4
GROUP BY time/600 AS tb, srcIP HAVING count(*) > $least;
"""
HEADER = """
#include "gs_functions.h"
static inline uint32_t gs_function_twice_uint(uint32_t x) { return 2 * x; }
"""
QUERY = """SELECT tb, srcIP, sum(len*2) AS bytes FROM IPV4
GROUP BY time/600 AS tb, srcIP HAVING count(*) > 9"""


@pytest.fixture(scope="module")
def object_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of queries with a parameter, a definition and C of their own, all of which are gone."""
    folder = tmp_path_factory.mktemp("compiled")
    made, sources = folder / "talkers.so", folder / "sources"
    sources.mkdir()
    (sources / "talkers.gsql").write_text(QUERIES)
    (sources / "own.gsql").write_text("uint FUN [LFTA_LEGAL] twice(uint);\n")
    (sources / "own.h").write_text(HEADER)
    words = (sources / "talkers.gsql", "--definitions", sources / "own.gsql", "--param", "least=9")
    done = gigastream("compile", *words, "-o", made)
    assert (done.code, done.lines) == (0, [str(made)]), done.err
    shutil.rmtree(sources)
    return made


def test_what_it_carries_is_the_same_for_each_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian 12's Python 3.11.2 writes members of enumerations otherwise than 3.11.4 does."""

    def as_early_versions_do(member: Enum, _: int) -> tuple[object, tuple[object, str]]:
        return getattr, (type(member), member.name)

    for enumeration in (Type, Temporal, Order):
        monkeypatch.setattr(enumeration, "__reduce_ex__", as_early_versions_do)
    texts = QueryTexts((SourceFile("talkers.gsql", QUERY),))
    plan = plan_queries(check_texts(texts).queries)
    made = compiled.write_object(plan, texts, tmp_path / "talkers.so")
    read, read_texts = compiled.read_object(made)
    assert generate(read) == generate(plan)
    assert [file.text for file in read_texts.files] == [QUERY]


def run_without_compiler(made: Path, *words: str, **options: object) -> Result:
    nowhere = {"PATH": "/nowhere", "XDG_CACHE_HOME": str(made.parent / "cache")}
    nowhere |= {name: os.environ[name] for name in OF_SANITIZERS if name in os.environ}
    read = ("-q", "-o", "csv", "-r", DEMO_CAPTURE)
    return gigastream("run", made, *read, *words, env=nowhere, **options)  # type: ignore[arg-type]


def test_it_answers_without_a_compiler(object_file: Path) -> None:
    done = run_without_compiler(object_file)
    plain = gigastream("run", "-q", "-o", "csv", "-r", DEMO_CAPTURE, "-e", QUERY)
    assert (done.code, sorted(done.lines)) == (0, sorted(plain.lines)), done.err
    assert len(done.lines) > 1
    assert not (object_file.parent / "cache").exists()


def test_with_a_filter_and_by_a_name_without_a_folder(object_file: Path) -> None:
    words = ("tcp", "port", "80")
    done = run_without_compiler(Path(object_file.name), *words, cwd=object_file.parent)
    plain = gigastream("run", "-q", "-o", "csv", "-r", DEMO_CAPTURE, "-e", QUERY, *words)
    assert (done.code, sorted(done.lines)) == (0, sorted(plain.lines)), done.err
    assert len(done.lines) > 1


def test_into_a_spool(object_file: Path, tmp_path: Path) -> None:
    words = ("run", object_file, "-q", "-r", DEMO_CAPTURE, "-o", f"spool:{tmp_path}/spool")
    done = gigastream(*words)
    assert done.code == 0, done.err
    assert any((tmp_path / "spool").rglob("*.arrows"))


def broken(made: Path, folder: Path, change: str) -> Path:
    """An object that something is wrong with."""
    image = bytearray(made.read_bytes())
    start = image.index(b'{"format"')
    if change == "processor":
        image[18] ^= 0x55
    elif change == "text":
        image = bytearray(b"no object")
    elif change == "short":
        del image[200:]
    elif change == "end":
        del image[-1000:]
    elif change == "code":
        image[len(image) // 4] ^= 0xFF
    elif change == "version":
        image[start:] = image[start:].replace(b'"version": "0', b'"version": "9', 1)
    elif change == "headers":
        at = image.index(b'"headers": "') + 12
        image[at] ^= 1
    elif change == "plan":
        at = image.index(b"\n", start) + 40
        image[at] ^= 0xFF
    else:
        at = image.index(b'"text": "') + 9
        image[at] ^= 1
    path = folder / "broken.so"
    path.write_bytes(compiled._sealed(bytes(image)) if change in OTHERS else image)
    return path


OTHERS = ("version", "headers", "hash")
"""Changes of an object that is whole, as another Gigastream makes it."""
SAID = {
    "processor": "was compiled for another kind of processor",
    "text": "is no shared object",
    "short": "carries no queries",
    "end": "carries no queries: Gigastream has not made it, or it is damaged",
    "code": "is damaged: it is not what was compiled",
    "version": "was compiled by Gigastream 9",
    "headers": "the engine has changed between them",
    "plan": "is damaged: it is not what was compiled",
    "hash": "was compiled by another Gigastream",
}


@pytest.mark.parametrize("change", SAID)
def test_what_cannot_run_here_is_told(object_file: Path, tmp_path: Path, change: str) -> None:
    done = run_without_compiler(broken(object_file, tmp_path, change))
    assert (done.code, done.out) == (2, b"")
    assert SAID[change] in done.err
    hint = "copy it again, or compile it anew" if "not what was" in SAID[change] else "gigastream "
    assert f"hint: {hint}" in done.err


def test_no_byte_of_it_may_be_another(object_file: Path, tmp_path: Path) -> None:
    """The loader would map it, and the process end where it is read or called."""
    whole, path = object_file.read_bytes(), tmp_path / "broken.so"
    places = random.Random(1).sample(range(len(whole)), 100)
    for at in (*range(64), *places, whole.index(b'"checksum"') + 1, len(whole) - 1):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x80]) + whole[at + 1 :])
        with pytest.raises(compiled.CompiledError):
            compiled.read_object(path)
    for size in (*range(0, len(whole), len(whole) // 50), len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(compiled.CompiledError):
            compiled.read_object(path)


@pytest.mark.parametrize(
    "words", [("-e", QUERY), ("--param", "least=3"), ("other.so",), ("--definitions", "own.gsql")]
)
def test_an_object_goes_with_no_other_queries(object_file: Path, words: tuple[str, ...]) -> None:
    done = gigastream("run", object_file, *words, "-r", DEMO_CAPTURE)
    assert done.code == 2
    assert "is a whole query set" in done.err


@pytest.mark.privileged
@pytest.mark.parametrize("what", ["file", "folder"])
def test_root_runs_none_that_others_can_change(
    object_file: Path, tmp_path: Path, what: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    made = Path(shutil.copy(object_file, folder))
    (made if what == "file" else folder).chmod(0o777)
    done = run_without_compiler(made)
    assert (done.code, done.out) == (2, b"")
    assert "is not loaded" in done.err
    assert "hint: copy it to where only root can write" in done.err


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("gigastream.codegen.compiler_run", "subprocess.Popen"),
        ("gigastream.cli.stderr", "TextIOWrapper"),
    ],
)
def test_only_plans_are_read(module: str, name: str) -> None:
    """A pickle that calls something else is refused, not obeyed: not by way of ours, either."""
    import io
    import pickle

    called = b"\x80\x04" + b"".join(
        b"\x8c" + bytes([len(word)]) + word.encode() for word in (module, name)
    )
    called += b"\x93\x8c\x04true\x85R."
    with pytest.raises(pickle.UnpicklingError, match="is no part of a plan"):
        compiled._PlanUnpickler(io.BytesIO(called)).load()


@pytest.mark.long
@pytest.mark.parametrize(
    "query",
    [
        "SELECT tb, count(*) AS n FROM TCP WHERE str_regex_match(TCP_data, '^(GET|POST) ')"
        " GROUP BY time/600 AS tb",
        "SELECT tb, count(*) AS n FROM TCP WHERE destPort IN (80, 443, 8080, 53, 22)"
        " GROUP BY time/600 AS tb",
        "SELECT tb, CASE WHEN len > 100 THEN 'long' ELSE 'short' END AS kind, stddev(len) AS s"
        " FROM IPV4 GROUP BY time/600 AS tb, kind ORDER BY s DESC LIMIT 3",
    ],
)
def test_plans_of_all_kinds_are_carried(tmp_path: Path, query: str) -> None:
    made = tmp_path / "any.so"
    assert gigastream("compile", "-e", query, "-o", made).code == 0
    done = run_without_compiler(made)
    plain = gigastream("run", "-q", "-o", "csv", "-r", DEMO_CAPTURE, "-e", query)
    assert (done.code, sorted(done.lines)) == (plain.code, sorted(plain.lines)), done.err
    assert len(done.lines) > 1


def test_an_object_without_room_names_its_place(tmp_path: Path) -> None:
    words = ("compile", "-e", "SELECT time FROM PKT", "-o")
    assert gigastream(*words, tmp_path / "good.so").code == 0
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (1000, 1000))
    whole = (tmp_path / "good.so").read_bytes()
    for name in ("cut.so", "good.so"):
        result = gigastream(*words, tmp_path / name, preexec_fn=limit)
        assert result.code == 1
        assert f"{tmp_path / name}: File too large" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["good.so"], "nothing is left of it"
    assert (tmp_path / "good.so").read_bytes() == whole


def test_who_runs_an_object_keeps_it(tmp_path: Path) -> None:
    """It is mapped: cut and written anew, the process that runs it would end."""
    path = tmp_path / "own.so"
    path.write_bytes(b"of another run")
    with path.open("rb") as theirs:
        assert gigastream("compile", "-e", "SELECT time FROM PKT", "-o", path).code == 0
        assert theirs.read() == b"of another run"
    assert path.read_bytes().startswith(b"\x7fELF")
    path.unlink()
    path.mkdir()
    result = gigastream("compile", "-e", "SELECT time FROM PKT", "-o", path)
    assert (result.code, result.err) == (1, f"gigastream: {path}: Is a directory\n")
    assert [entry.name for entry in tmp_path.iterdir()] == ["own.so"]


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    """As root /dev/null itself would be."""
    special = tmp_path / "pipe.so"
    os.mkfifo(special)
    result = gigastream("compile", "talkers", "-o", special)
    assert (result.code, result.out) == (1, b"")
    assert f"{special}: it is there already, and no regular file" in result.err
    assert special.is_fifo()
    assert list(tmp_path.iterdir()) == [special]
