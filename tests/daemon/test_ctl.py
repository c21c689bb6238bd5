# SPDX-License-Identifier: Apache-2.0
"""gigastream ctl against a server that speaks as the daemon does: what it asks and shows."""

from __future__ import annotations

import io
import json
import os
import pwd
import signal
import subprocess
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import msgspec
import pyarrow
import pyarrow.parquet
import pytest
from captures import DEMO_CAPTURE
from cli.command import COMMAND, Result, gigastream

from gigastream.cli.ctl_status import queries_text, status_text
from gigastream.cli.main import run_command_line
from gigastream.daemon.client import ControlClient, ControlError, RefusedError
from gigastream.daemon.losses import loss_text
from gigastream.daemon.messages import (
    AddSet,
    Answered,
    CheckAnswer,
    CheckText,
    DropSet,
    Loss,
    QueriesAnswer,
    QuerySetSpec,
    ReloadConfig,
    RotateOutputs,
    SetParameter,
    StatusAnswer,
    StopDaemon,
    TailLine,
    TailQuery,
)
from gigastream.library import run
from tests.daemon.speaking import Speaking, speaking, tail_line
from tests.daemon.states import REPORT, SET, STATE, STATUS
from tests.waiting import wait_until

EVERY_TYPE = """
    SELECT timestamp, srcIP, ipversion, len, srcMAC, len > 100 AS large, vlan,
           len / 3.0 AS third, community_id, id, time, time_ms
    FROM IP"""


def _ctl(path: Path, *words: str) -> Result:
    """In this process: it takes no second."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run_command_line(["ctl", "--socket", str(path), *words])
    assert "a fault in Gigastream itself" not in err.getvalue()
    return Result(code, out.getvalue().encode(), err.getvalue())


# ---- errors of the socket ----


def test_no_daemon_is_said_with_what_to_do(tmp_path: Path) -> None:
    found = _ctl(tmp_path / "none.sock", "status")
    assert found.code == 2
    assert f"there is no daemon at {tmp_path}/none.sock" in found.err
    assert "hint: gigastream capture … --socket" in found.err


def test_a_daemon_that_is_gone_is_said(tmp_path: Path) -> None:
    with speaking(tmp_path / "s"):
        pass
    with pytest.raises(ControlError, match="is gone"):
        ControlClient(tmp_path / "s")


def test_what_is_no_socket_is_said(tmp_path: Path) -> None:
    (tmp_path / "s").touch()
    with pytest.raises(ControlError):
        ControlClient(tmp_path / "s")


@pytest.mark.privileged
def test_who_may_not_ask_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with speaking(path):
        for folder in (tmp_path, *tmp_path.parents[:2]):
            folder.chmod(0o755)
        path.chmod(0o600)
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            found = _ctl(path, "stop")
        finally:
            os.seteuid(0)
    assert found.code == 2
    assert "you may not ask this daemon" in found.err


@pytest.mark.parametrize("answer", [b"{}\n", b"\xff\n", b'{"ok": true, "new": 1}\n', b"[]\n"])
def test_another_version_is_said(tmp_path: Path, answer: bytes) -> None:
    with speaking(tmp_path / "s", say=lambda _: answer):
        found = _ctl(tmp_path / "s", "status")
    assert found.code == 2
    assert "of another version" in found.err


def test_hanging_up_is_said(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with (
        speaking(path, say=lambda _: b""),
        ControlClient(path, 0.05) as client,
        pytest.raises(ControlError, match=r"no answer for 0\.05 s"),
    ):
        client.status()


def test_a_refusal_is_shown_as_it_is(tmp_path: Path) -> None:
    answer = Answered(ok=False, message="there is no set x", hint="one of a, b")
    with speaking(tmp_path / "s", say=lambda _: answer):
        found = _ctl(tmp_path / "s", "drop", "x")
        with ControlClient(tmp_path / "s") as client, pytest.raises(RefusedError):
            client.ask(DropSet(name="x"))
    assert (found.code, found.err) == (
        1,
        "gigastream: there is no set x\nhint: one of a, b\n",
    )


# ---- requests ----


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        (["drop", "a"], DropSet(name="a")),
        (["set", "a", "q.port=443"], SetParameter(name="a", parameter="q.port", value="443")),
        (["set", "a", "b=-1"], SetParameter(name="a", parameter="b", value="-1")),
        (["rotate"], RotateOutputs()),
        (["rotate", "a"], RotateOutputs(name="a")),
        (["reload"], ReloadConfig()),
        (["stop"], StopDaemon()),
    ],
    ids=str,
)
def test_what_is_asked(tmp_path: Path, words: Sequence[str], request_: object) -> None:
    with speaking(tmp_path / "s", say=lambda _: Answered(ok=True, message="done")) as daemon:
        found = _ctl(tmp_path / "s", *words)
    assert (found.code, found.lines) == (0, ["done"])
    assert daemon.asked == [request_]


def test_a_set_is_added_with_all_that_is_said_of_it(tmp_path: Path) -> None:
    query = tmp_path / "own.gsql"
    query.write_text("SELECT srcIP FROM IP")
    with speaking(tmp_path / "s") as daemon:
        found = _ctl(
            *(tmp_path / "s", "add", str(query), "--param", "a=1", "--priority", "-2"),
            *("-o", f"csv:{tmp_path}/x", "-o", "spool:here", "--first-window", "cut"),
            *("--rotate-every", "1h", "--rotate-bytes", "1MiB", "--keep", "3", "--cut-column"),
        )
        again = _ctl(tmp_path / "s", "add", "-e", "SELECT len FROM IP", "--name", "n")
        shipped = _ctl(tmp_path / "s", "add", "talkers")
    assert [each.code for each in (found, again, shipped)] == [0, 0, 0], found.err
    own, named, talkers = (each.query_set for each in daemon.asked if isinstance(each, AddSet))
    assert (own.name, own.text, own.file) == ("own", "SELECT srcIP FROM IP", str(query))
    assert own.parameters == {"a": "1"}
    assert own.outputs == (f"csv:{tmp_path}/x", f"spool:{os.getcwd()}/here")
    assert (own.first_window, own.priority) == ("cut", -2)
    assert (own.cut_column, named.cut_column) == (True, False)
    assert (own.rotate_bytes, own.rotate_ns, own.keep) == (1 << 20, 3600 * 10**9, 3)
    assert (named.name, named.text) == ("n", "SELECT len FROM IP")
    assert talkers.name == "talkers"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add"], "either a file or -e"),
        (["add", "-e", "SELECT len FROM IP"], "no name"),
        (["add", "none.gsql"], "none.gsql"),
        (["add", "talkers", "-o", "csv"], "a daemon has no stdout"),
        (["add", "talkers", "-o", "cvs:x"], "there is no output format 'cvs'"),
        (["set", "a", "b"], "'b' is not NAME=VALUE"),
        (["tail", "a", "-o", "spool:x"], "there is no output format 'spool'"),
        ([], "ACTION"),
        (["stat"], "invalid choice: 'stat'"),
    ],
    ids=str,
)
def test_what_is_asked_wrongly_never_reaches_the_daemon(
    tmp_path: Path, words: Sequence[str], said: str
) -> None:
    with speaking(tmp_path / "s") as daemon:
        found = _ctl(tmp_path / "s", *words)
    assert found.code == 2
    assert said in found.err
    assert not daemon.asked


def test_a_check_is_an_answer_also_where_the_text_is_wrong(tmp_path: Path) -> None:
    wrong = CheckAnswer(ok=False, message="x:1:1: error")
    with speaking(tmp_path / "s", say=lambda _: wrong), ControlClient(tmp_path / "s") as client:
        assert client.check(CheckText(text="x")) == wrong


# ---- status and queries ----


def _answered(tmp_path: Path, answer: object, *words: str) -> Result:
    with speaking(tmp_path / "s", say=lambda _: answer):
        found = _ctl(tmp_path / "s", *words)
    assert found.code == 0, found.err
    return found


def test_a_set_that_no_report_can_have_yet_is_not_said_to_be_missing() -> None:
    late = msgspec.structs.replace(STATE, since_ns=REPORT.at_ns)
    younger = msgspec.structs.replace(STATUS, sets={"younger": late})
    assert ": begun, and not in a report yet: there is one each second" in status_text(younger)
    assert "not attached" not in status_text(msgspec.structs.replace(STATUS, report=None))


def test_a_status_is_for_a_person(tmp_path: Path) -> None:
    shown = _answered(tmp_path, STATUS, "status").out.decode()
    assert "capture process 42, restarted 1 time (counters of sets are since the last)" in shown
    assert (
        "eth0 (eth0): received 110 = dropped 7 + read 100 = "
        "undecodable 1 + filtered 2 + late 3 + skew 4 + decoded 90"
    ) in shown
    assert "rings in use: eth0 3 of 64 blocks" in shown
    assert "set talkers, added by user 4000000000, since 2026-01-02 03:04:05 UTC: running" in shown
    assert "  talkers on eth0: decoded 90 = rejected 30 + accepted 60" in shown
    assert "  talkers: 12 rows, answered up to 2026-01-02 03:04:00 UTC (10 s behind)" in shown
    assert "  csv:/srv/rows: 12 rows, 1 kB in 2 files, 3 lost; failed: no space" in shown
    assert (
        "  duckdb:/srv/rows.db: 1,234 rows, 2 rows of the low level deleted before they were read; "
        "filled, 2 s behind its spool"
    ) in shown
    assert "  postgres:service=x: 0 rows; waits: it is down" in shown
    assert "set ports, of the configuration, since 2026-01-02 03:04:05 UTC: not attached" in shown
    assert "5 packets of eth0 are lost, 0.25 s without a capture process (signal 9)" in shown
    assert "notice: something" in shown


def test_a_status_is_all_there_is_as_json(tmp_path: Path) -> None:
    shown = json.loads(_answered(tmp_path, STATUS, "status", "--json").out)
    assert shown["report"]["sources"][0]["kernel_dropped"] == 7
    assert shown["sets"]["talkers"]["spec"]["priority"] == 3


def test_a_status_before_the_first_report(tmp_path: Path) -> None:
    empty = StatusAnswer(
        version="1",
        started_ns=0,
        incarnation=0,
        restarts=0,
        capture_pid=None,
        sets={},
        report=None,
    )
    shown = _answered(tmp_path, empty, "status").out.decode()
    assert "nothing has been counted yet" in shown
    assert "gigastream ctl add FILE.gsql" in shown


def test_queries_are_shown_with_texts_and_outputs(tmp_path: Path) -> None:
    answer = QueriesAnswer(sets={"talkers": STATE})
    shown = _answered(tmp_path, answer, "queries").lines
    assert shown[0].startswith("talkers, added by user 4000000000, since")
    assert shown[1:] == ["  port = 443", "  → csv:/srv/rows", "    SELECT srcIP", "    FROM IP"]
    assert json.loads(_answered_again(tmp_path, answer)) is not None


def _answered_again(tmp_path: Path, answer: object) -> bytes:
    (tmp_path / "s").unlink()
    return _answered(tmp_path, answer, "queries", "--json").out


# ---- tail ----


@pytest.fixture(scope="module")
def batches() -> list[pyarrow.RecordBatch]:
    with run(EVERY_TYPE, str(DEMO_CAPTURE)) as answer:
        return [batch for batch in answer if batch.num_rows][:3]


def _tail(path: Path, *words: str) -> Result:
    return gigastream("ctl", "tail", "query", *words, "--socket", str(path))


@pytest.mark.parametrize("output", ["csv", "json"])
def test_a_tail_writes_the_text_of_a_run(
    tmp_path: Path, batches: list[pyarrow.RecordBatch], output: str
) -> None:
    rows = [*map(tail_line, batches), TailLine(arrow="", over=True)]
    with speaking(tmp_path / "s", rows=rows) as daemon:
        found = _tail(tmp_path / "s", "-o", output, "--set", "a")
    assert (found.code, found.err) == (0, "")
    assert daemon.asked == [TailQuery(query="query", set_name="a")]
    whole = gigastream("run", "-q", "-r", str(DEMO_CAPTURE), "-e", EVERY_TYPE, "-o", output)
    assert len(found.lines) > 30
    assert whole.out.startswith(found.out)


@pytest.mark.parametrize("output", ["arrow", "parquet", "table"])
def test_a_tail_writes_files_that_have_their_end(
    tmp_path: Path, batches: list[pyarrow.RecordBatch], output: str
) -> None:
    rows = [*map(tail_line, batches), TailLine(arrow="", over=True)]
    place = tmp_path / "rows"
    with speaking(tmp_path / "s", rows=rows):
        found = _tail(tmp_path / "s", "-o", f"{output}:{place}")
    assert (found.code, found.err) == (0, "")
    wanted = pyarrow.Table.from_batches(batches)
    assert _rows_in(place, output) == wanted.num_rows


def _rows_in(place: Path, output: str) -> int:
    if output == "table":
        lines = place.read_text().splitlines()
        return sum(not line.endswith("UTC") for line in lines) - 2
    if output == "arrow":
        return int(pyarrow.ipc.open_stream(place.read_bytes()).read_all().num_rows)
    return int(pyarrow.parquet.read_table(place).num_rows)


def test_a_query_that_is_not_there_is_said_with_those_that_are(tmp_path: Path) -> None:
    def say(request: object) -> object:
        refused = Answered(ok=False, message="there is no talker")
        return refused if isinstance(request, TailQuery) else STATUS

    with speaking(tmp_path / "s", say=say) as daemon:
        near = _ctl(tmp_path / "s", "tail", "set.talker", "-o", "csv")
        far = _ctl(tmp_path / "s", "tail", "x", "-o", "csv")
    assert daemon.asked[0] == TailQuery(query="talker", set_name="set")
    assert near.code == 1
    assert near.err == "gigastream: there is no talker\nhint: did you mean talkers?\n"
    assert far.err.endswith("hint: one of talkers\n")


def test_a_set_with_one_query_is_tailed_by_its_own_name(
    tmp_path: Path, batches: list[pyarrow.RecordBatch]
) -> None:
    alone = msgspec.structs.replace(SET, name="my.set", queries=("q",))
    status = msgspec.structs.replace(STATUS, report=msgspec.structs.replace(REPORT, sets=(alone,)))

    def say(request: object) -> object:
        if not isinstance(request, TailQuery):
            return status
        known = (request.set_name, request.query) == ("my.set", "q")
        return Answered(ok=known, message="there is none")

    with speaking(tmp_path / "s", say=say, rows=[tail_line(batches[0])], holds=False):
        found = _ctl(tmp_path / "s", "tail", "my.set", "-o", "csv", "--count", "1")
    assert (found.code, found.err) == (0, "")


def test_users_have_their_names() -> None:
    mine = msgspec.structs.replace(STATE, by_uid=0)
    assert queries_text(QueriesAnswer(sets={"x": mine})).startswith(
        "talkers, added by user root (0)"
    )


def test_a_crash_that_took_nothing_says_so() -> None:
    loss = Loss(incarnation=0, at_ns=0, away_ns=1_000, packets={"eth0": 0}, reason="signal 9")
    assert loss_text(loss) == "no packet is lost, less than 0.01 s without a capture process"
    taken = msgspec.structs.replace(loss, packets={"eth0": 1, "eth1": 0}, away_ns=12_345_678_901)
    assert loss_text(taken) == "1 packet of eth0 is lost, 12 s without a capture process"


def test_a_crash_says_what_was_open() -> None:
    """Who held most comes first; of many the rest is one number."""
    held = {"a/low": 2, "a/top": 1_000, "b/low": 3, "b/top": 4, "c/top": 5}
    loss = Loss(incarnation=0, at_ns=0, away_ns=10**9, packets={}, reason="signal 9", held=held)
    assert loss_text(loss) == (
        "no packet is lost, 1 s without a capture process; groups and rows that were open went "
        "with it, by its last report: 1,000 of a/top, 5 of c/top, 4 of b/top, 5 of others"
    )


def test_what_others_have_named_moves_no_cursor(tmp_path: Path) -> None:
    named = msgspec.structs.replace(STATE, spec=QuerySetSpec(name="\x1b[2J", text="\x9b31m"))
    shown = _answered(tmp_path, QueriesAnswer(sets={"x": named}), "queries").out.decode()
    assert not {"\x1b", "\x9b"} & set(shown)


def test_lost_rows_are_told(tmp_path: Path, batches: list[pyarrow.RecordBatch]) -> None:
    rows = [tail_line(batches[0], lost=17), TailLine(arrow="", over=True)]
    with speaking(tmp_path / "s", rows=rows):
        found = _tail(tmp_path / "s", "-o", "csv")
    assert found.code == 0
    assert "17 rows are lost here" in found.err


def test_a_tail_without_a_row_says_so(tmp_path: Path) -> None:
    with speaking(tmp_path / "s", rows=[TailLine(arrow="", over=True)]):
        found = _tail(tmp_path / "s", "-o", "csv")
    assert (found.code, found.out, found.err) == (0, b"", "no row of query has come\n")


@pytest.mark.parametrize(
    "line", [b'{"arrow": "AAAA"}\n', b'{"arrow": "?"}\n', b"no\n", b'{"lost": "x"}\n']
)
def test_rows_that_are_none_are_said(tmp_path: Path, line: bytes) -> None:
    with speaking(tmp_path / "s", rows=[line]):
        found = _tail(tmp_path / "s", "-o", "csv")
    assert found.code in (1, 2)
    assert "the daemon" in found.err


def test_a_daemon_that_is_gone_while_one_reads(
    tmp_path: Path, batches: list[pyarrow.RecordBatch]
) -> None:
    place = tmp_path / "rows"
    with speaking(tmp_path / "s", rows=[tail_line(batches[0])], holds=False):
        found = _tail(tmp_path / "s", "-o", f"parquet:{place}")
    assert found.code == 2
    assert "without having ended the rows" in found.err
    assert _rows_in(place, "parquet") == batches[0].num_rows


def test_enough_rows_are_enough(tmp_path: Path, batches: list[pyarrow.RecordBatch]) -> None:
    with speaking(tmp_path / "s", rows=[*map(tail_line, batches)]):
        found = _tail(tmp_path / "s", "-o", "csv", "--count", "1")
    assert len(found.lines) == batches[0].num_rows + 1


def _begun(path: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [*COMMAND, "ctl", "--socket", str(path), "tail", "query", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_a_whole_file(
    tmp_path: Path, batches: list[pyarrow.RecordBatch], number: signal.Signals
) -> None:
    place = tmp_path / "rows"
    with (
        speaking(tmp_path / "s", rows=[tail_line(batches[0])]),
        _begun(tmp_path / "s", "-o", f"arrow:{place}") as process,
    ):
        wait_until(lambda: place.exists() and place.stat().st_size > 2000, "the rows of a tail")
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (0, b"")
    assert _rows_in(place, "arrow") == batches[0].num_rows


def test_a_reader_that_leaves_ends_it_though_no_row_comes(
    tmp_path: Path, batches: list[pyarrow.RecordBatch]
) -> None:
    with (
        speaking(tmp_path / "s", rows=[tail_line(batches[0].slice(0, 3))]),
        _begun(tmp_path / "s", "-o", "csv") as process,
    ):
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"timestamp,")
        process.stdout.close()
        told = process.stderr.read()
        process.wait(60)
    assert (process.returncode, told) == (0, b"")


def test_the_speaker_is_no_toy() -> None:
    """What it answers are the daemon's own messages."""
    assert Speaking(Path("x")).say(StopDaemon()) == Answered(ok=True)
