# SPDX-License-Identifier: Apache-2.0
"""Options that would change nothing about a run are refused, not taken in silence."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from gigastream.options import OPTIONS
from tests.captures import DEMO_CAPTURE
from tests.cli.command import gigastream

QUERY = "SELECT tb, count(*) AS packets FROM PKT GROUP BY time/60 AS tb"
RUN = ("run", "-e", QUERY, "-r", DEMO_CAPTURE, "-o", "csv")
OF_LINKS = ("--ring 1MiB", "--user nobody", "--outgoing off", "--snap 64")
OF_SPOOLS = ("--segment-rows 10", "--sync 1s", "--keep-age 1h")
OF_PACKETS = {
    "disorder": "all",
    "slack": "1s",
    "speed": "1",
    "heartbeat": "1s",
    "heartbeat-packets": "9",
    "timestamps": "internal",
    "link-type": "147=ETHERNET",
    "flush": "lazy",
    "slots": "64",
    "burst": "8",
}


@pytest.mark.parametrize("words", OF_LINKS)
def test_options_of_links_without_one(words: str) -> None:
    option, value = shlex.split(words)
    for given in ((option, value), (f"{option}={value}",)):
        result = gigastream(*RUN, *given)
        assert (result.code, result.out) == (2, b"")
        assert f"gigastream: {option} is of live links, and none is read\n" in result.err
        assert "hint: -i DEVICE" in result.err


@pytest.mark.parametrize("words", OF_LINKS)
def test_options_of_links_where_a_spool_is_read(words: str) -> None:
    result = gigastream("run", "--spool", "missing", *shlex.split(words))
    assert (result.code, result.out) == (2, b"")
    assert "is of live links, and none is read\nhint: it belongs to the run" in result.err


@pytest.mark.parametrize("words", OF_SPOOLS)
def test_options_of_a_spool_that_is_not_written(words: str) -> None:
    result = gigastream(*RUN, *shlex.split(words))
    assert (result.code, result.out) == (2, b"")
    assert "is of a spool that is written, and none is\nhint: -o spool:PATH" in result.err


def test_all_options_of_packets_are_here() -> None:
    assert list(OF_PACKETS) == [option.name for option in OPTIONS if option.is_of_packets]


@pytest.mark.parametrize("option", OF_PACKETS)
def test_options_of_packets_where_a_spool_is_read(option: str) -> None:
    """Before the spool is looked at: the one here is none."""
    result = gigastream("run", "--spool", "missing", f"--{option}", OF_PACKETS[option])
    assert (result.code, result.out) == (2, b"")
    assert f"--{option} says how packets are read, and a spool has none" in result.err


def test_links_where_a_spool_is_read() -> None:
    result = gigastream("run", "--spool", "missing", "-i", "lo")
    assert result.code == 2
    assert "packets (-i) are not read where a spool is" in result.err


def test_what_becomes_of_failures_that_there_cannot_be(tmp_path: Path) -> None:
    result = gigastream(*RUN, "--on-failure", "end")
    assert (result.code, result.out) == (2, b"")
    assert "without --liveness none ever has\n" in result.err
    assert "hint: --liveness TIME --on-failure end" in result.err
    own = tmp_path / "own.toml"
    own.write_text('[interface.default]\nliveness = "5s"\n')
    for words in (("--liveness", "5s"), ("-c", own)):
        assert gigastream(*RUN, "--on-failure", "end", *words).code == 0


def test_a_configuration_file_may_say_more_than_a_run_needs(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('ring = "1MiB"\nsegment-rows = 9\non-failure = "end"\n')
    assert gigastream(*RUN, "-c", own).code == 0


def test_an_account_that_is_asked_for_is_given_quietly_too() -> None:
    result = gigastream(*RUN, "-q", "--stats", "json")
    assert json.loads(result.err)["rows"] == 4
    assert gigastream(*RUN, "-q", "--stats").err.splitlines()[-3].split()[0] == "operator"
    assert gigastream(*RUN, "-q").err == ""


def test_a_compiler_that_says_nothing_is_named(tmp_path: Path) -> None:
    environment = {**os.environ, "CC": "/bin/false", "XDG_CACHE_HOME": str(tmp_path)}
    result = gigastream(*RUN, env=environment)
    assert result.code == 1
    assert "the C compiler, /bin/false, ended with exit code 1 and said nothing\n" in result.err
    assert "hint: is it one? $CC names it, else it is cc or gcc" in result.err


QUERY_OF_ITS_OWN = "the spool's own were written with theirs\nhint: --spool PATH QUERY.gsql --param"
LOCAL = "is of spools that another host serves, and none is read\nhint: --spool grpc+tls://"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run --spool missing --param foo=1", QUERY_OF_ITS_OWN),
        ("spark --spool missing --checkpoint ck --param foo=1", QUERY_OF_ITS_OWN),
        ("run --spool missing --token-file F", f"--token-file {LOCAL}"),
        ("run --spool missing --ca-file F", f"--ca-file {LOCAL}"),
        ("spark --spool missing --checkpoint ck --token-file F", f"--token-file {LOCAL}"),
        (
            "spark --spool missing --checkpoint ck --option x=y -o csv",
            "--option is of a sink of Spark's, and none is written\nhint: -o spark:FORMAT",
        ),
        ("run -r missing --on spark --max-groups 5", "--max-groups lets groups in where they are"),
        ("explain talkers --on spark --json", "--on spark is explained as text, and not as --json"),
        ("explain talkers --on spark --c", "--on spark is explained as text, and not as --c\n"),
    ],
)
def test_what_says_something_of_another_run(words: str, said: str) -> None:
    """Before anything is looked at: the files here are none."""
    if words.startswith("spark"):
        pytest.importorskip("pyspark")
    result = gigastream(*shlex.split(words))
    assert (result.code, result.out) == (2, b"")
    assert said in result.err


@pytest.mark.parametrize("words", ["run --spool", "spark --checkpoint ck --spool", "ship"])
def test_an_empty_path_is_no_spool(words: str, tmp_path: Path) -> None:
    """Not the one that is here."""
    query = "SELECT time, len FROM PKT"
    written = gigastream("run", "-e", query, "-r", DEMO_CAPTURE, "-o", f"spool:{tmp_path}/s")
    assert written.code == 0
    if words.startswith("spark"):
        pytest.importorskip("pyspark")
    last = ["to"] if words == "ship" else []
    result = gigastream(*shlex.split(words), "", *last, cwd=tmp_path / "s")
    assert (result.code, result.out) == (2, b"")
    assert "the path of a spool is empty\nhint: " in result.err
