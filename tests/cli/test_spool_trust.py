# SPDX-License-Identifier: Apache-2.0
"""A spool is data: whole by itself wherever it is moved to, and nothing of it is run or opened."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.captures import DEMO_CAPTURE
from tests.cli.command import Result, gigastream

DECLARED = """PROTOCOL OWN (IPV4) { uint twice own_twice; }
ullong FUN [LFTA_LEGAL, COST LOW] thrice(ullong);
"""
HEADER = """#include "gs_fields.h"
static inline bool gs_field_own_twice(const struct gs_packet *packet, uint32_t *value)
{ if (!gs_field_len(packet, value)) return false; *value *= 2; return true; }
static inline uint64_t gs_function_thrice_ullong(uint64_t x) { return 3 * x; }
"""
CODE = (
    '#include <stdio.h>\n__attribute__((constructor)) static void run(void) { fopen("%s", "w"); }\n'
)
LOW = """SELECT tb, sum(twice) AS a, sum(thrice(ULLONG(len))) AS b
    FROM OWN WHERE getlpmid(srcIP, 'list') >= 0 GROUP BY time/60 AS tb"""
HIGH = "SELECT tb, thrice(count(*)) AS n FROM IPV4 GROUP BY time/60 AS tb"
OF_A_LIST = """SELECT tb, getlpmid(destIP, 'list') AS x FROM
    (SELECT tb, destIP, count(*) AS n FROM IPV4 GROUP BY time/60 AS tb, destIP)"""
FILES = ("own.gsql", "own.h", "list", "library")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with what a writer has."""
    (tmp_path / "own.gsql").write_text(DECLARED)
    (tmp_path / "own.h").write_text(HEADER)
    (tmp_path / "list").write_text("0.0.0.0/0,7\n")
    (tmp_path / "library" / "net").mkdir(parents=True)
    (tmp_path / "library" / "net" / "busy.gsql").write_text(
        "SELECT tb, srcIP, count(*) AS n FROM IPV4 GROUP BY time/60 AS tb, srcIP"
    )
    return tmp_path


def written(folder: Path, query: str, *words: str) -> list[bytes]:
    """Write a spool, take away what its writer had; return the answer of run alone."""
    asked = ("run", "-q", "-e", query, "-r", DEMO_CAPTURE, "--definitions", "own.gsql", *words)
    answer = gigastream(*asked, "-o", "csv", cwd=folder)
    done = gigastream(*asked, "-o", "spool:spool", cwd=folder)
    assert (answer.code, done.code) == (0, 0), answer.err + done.err
    (folder / "away").mkdir()
    for name in FILES:
        shutil.move(folder / name, folder / "away" / name)
    (folder / "else").mkdir()
    shutil.move(folder / "spool", folder / "else" / "spool")
    return sorted(answer.out.splitlines())


def read(folder: Path, *words: object) -> Result:
    return gigastream("run", "-q", "-o", "csv", "--spool", folder / "else" / "spool", *words)


def rows(done: Result) -> list[bytes]:
    assert done.code == 0, done.err
    return sorted(done.out.splitlines())


def test_what_only_the_low_level_needs_is_not_needed(here: Path) -> None:
    """Fields, functions and lists of the low level: its rows are there already."""
    answer = written(here, LOW)
    assert len(answer) > 4
    assert rows(read(here)) == answer
    assert rows(read(here, "-e", LOW)) == answer


def test_a_library_is_kept_with_the_queries(here: Path) -> None:
    query = "SELECT tb, sum(n) AS packets FROM net/busy GROUP BY tb"
    answer = written(here, query, "--library", "library")
    assert len(answer) > 4
    assert rows(read(here)) == answer


@pytest.mark.long
def test_code_is_taken_from_files_that_the_reader_names(here: Path) -> None:
    answer = written(here, HIGH)
    refused = read(here)
    assert (refused.code, refused.out) == (2, b"")
    assert "thrice is code of a definition file, which" in refused.err
    assert "--definitions FILE" in refused.err
    own = here / "away" / "own.gsql"
    assert rows(read(here, "--definitions", own)) == answer
    assert rows(read(here, "--definitions", own, "-e", HIGH)) == answer


@pytest.mark.long
@pytest.mark.parametrize("file", ["own.gsql", "own.h"])
def test_another_file_of_that_name_is_refused(here: Path, file: str) -> None:
    written(here, HIGH)
    mark = here / "mark"
    with (here / "away" / file).open("a") as stream:
        stream.write("\n" if file == "own.gsql" else CODE % mark)
    done = read(here, "--definitions", here / "away" / "own.gsql")
    assert (done.code, done.out) == (2, b"")
    assert "is not the own.gsql that" in done.err
    assert not mark.exists()


def change(folder: Path, name: str, act: Callable[[dict[str, Any]], object]) -> None:
    (path,) = (folder / "else" / "spool").rglob(name)
    value = json.loads(path.read_bytes())
    act(value)
    path.write_text(json.dumps(value))


@pytest.mark.long
def test_definition_files_that_a_spool_names_are_not_opened(here: Path) -> None:
    """Neither by the words of an earlier version, nor by a header's path in place of its hash."""
    written(here, HIGH)
    mark, own = here / "mark", here / "away" / "own"
    with own.with_suffix(".h").open("a") as stream:
        stream.write(CODE % mark)
    change(here, "queries.json", lambda value: value.update(definitions=[str(own) + ".gsql"]))
    told = read(here)
    assert told.code == 2
    assert "does not say what its queries were: queries.json: definitions" in told.err
    for header in (f"{own}.h", "../../away/own.h", "", "sha256:" + "0" * 64):
        stored = {"name": "own.gsql", "text": DECLARED, "header": header}
        change(here, "queries.json", lambda value, s=stored: value.update(definitions=[s]))  # type: ignore[misc]
        assert read(here).code == 2
    assert not mark.exists()


def test_files_that_a_spools_query_reads_are_not_opened(here: Path) -> None:
    """Getlpmid shows lines of a file that it cannot read: /etc/shadow, of a reader who is root."""
    secret = here / "away-secret"
    secret.write_text("password\n")
    query = HIGH.replace("thrice(count(*))", "count(*)")
    written(here, query)
    other = f"SELECT tb, n, getlpmid(0.0.0.0, '{secret}') AS x FROM q"
    text = f"DEFINE {{ query_name q; visibility internal; }} {query};\n" + other
    change(here, "queries.json", lambda value: value["files"][0].update(text=text))
    done = read(here)
    assert (done.code, done.out) == (2, b"")
    assert "password" not in done.err


HOSTILE = [
    ("files", None),
    ("files", [{"name": "q", "text": 7}]),
    ("files", [{"name": "\x1b[31mq", "text": "SELECT \x1b[31m"}]),
    ("files", [{"name": "q", "text": "(" * 100_000}]),
    ("parameters", ["x"]),
    ("definitions", [{"name": "x", "text": "\x1b]0;x\x07 PROTOCOL", "header": ""}]),
    ("library", "/etc"),
    ("interfaces", {"\x1b[31m": {}}),
    ("interfaces", {"../..": {"a": 1}}),
    ("interfaces", [1e999]),
]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spool without definitions."""
    folder = tmp_path_factory.mktemp("plain")
    query = HIGH.replace("thrice(count(*))", "count(*)")
    words = ("run", "-q", "-e", query, "-r", DEMO_CAPTURE, "-o", f"spool:{folder}/else/spool")
    (folder / "else").mkdir()
    assert gigastream(*words).code == 0
    return folder


@pytest.mark.parametrize(("key", "value"), HOSTILE)
def test_hostile_queries_are_told_and_steer_no_terminal(
    plain: Path, tmp_path: Path, key: str, value: Any
) -> None:
    shutil.copytree(plain / "else", tmp_path / "else")
    change(tmp_path, "queries.json", lambda there: there.update({key: value}))
    done = read(tmp_path)
    assert (done.code, done.out) == (2, b"")
    assert done.err.count("gigastream: ") + done.err.count("error") >= 1
    assert not any(mark in done.err for mark in ("Traceback", "\x1b", "\x07", "a fault in"))
