# SPDX-License-Identifier: Apache-2.0
"""gigastream run over the demo's capture: formats, sources, exit codes, the account."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import signal
import struct
import subprocess
import threading
from collections import Counter
from functools import cache
from pathlib import Path

import dpkt
import pyarrow
import pyarrow.parquet
import pytest
from captures import DEMO_CAPTURE
from cli.command import COMMAND, SECONDS, gigastream, wait_until_read, write_all

QUERY = """SELECT tb, srcIP, count(*) AS packets, sum(len) AS bytes
    FROM IPV4 GROUP BY time/60 AS tb, srcIP"""
PACKETS = "SELECT time, len FROM PKT"
EMPTY = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
Row = tuple[int, str, int, int]


def address(raw: bytes) -> str:
    return ".".join(map(str, raw))


@cache
def expected() -> list[Row]:
    """Return QUERY's rows, by dpkt."""
    packets: Counter[tuple[int, str]] = Counter()
    lengths: Counter[tuple[int, str]] = Counter()
    content = DEMO_CAPTURE.read_bytes()
    at = 24
    while at < len(content):
        seconds, _, captured, length = struct.unpack_from("<IIII", content, at)
        frame = dpkt.ethernet.Ethernet(content[at + 16 : at + 16 + captured])
        if isinstance(frame.data, dpkt.ip.IP):
            key = seconds // 60, address(frame.data.src)
            packets[key] += 1
            lengths[key] += length
        at += 16 + captured
    return sorted((*key, count, lengths[key]) for key, count in packets.items())


def json_rows(text: bytes) -> list[Row]:
    rows = [json.loads(line) for line in text.splitlines()]
    return sorted((r["tb"], r["srcIP"], r["packets"], r["bytes"]) for r in rows)


def csv_rows(text: bytes) -> list[Row]:
    rows = csv.DictReader(io.StringIO(text.decode()))
    return sorted((int(r["tb"]), r["srcIP"], int(r["packets"]), int(r["bytes"])) for r in rows)


def arrow_rows(table: pyarrow.Table) -> list[Row]:
    def row(r: dict[str, int]) -> Row:
        return r["tb"], address(r["srcIP"].to_bytes(4, "big")), r["packets"], r["bytes"]

    return sorted(map(row, table.to_pylist()))


def table_rows(text: bytes) -> list[Row]:
    lines = text.decode().splitlines()
    assert lines[0].split() == ["tb", "srcIP", "packets", "bytes"]
    assert set(lines[1]) == {"─", " "}
    cells = (line.replace(",", "").split() for line in lines[2:])
    return sorted((int(tb), ip, int(packets), int(size)) for tb, ip, packets, size in cells)


READERS = {
    "json": json_rows,
    "csv": csv_rows,
    "table": table_rows,
    "arrow": lambda text: arrow_rows(pyarrow.ipc.open_stream(text).read_all()),
    "parquet": lambda text: arrow_rows(pyarrow.parquet.read_table(pyarrow.BufferReader(text))),
}


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("to_file", [False, True], ids=["stdout", "file"])
def test_every_format_has_the_same_rows(form: str, to_file: bool, tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows"
    where = f"{form}:{path}" if to_file else form
    result = gigastream("run", "-e", QUERY, "-r", DEMO_CAPTURE, "-o", where)
    assert result.code == 0
    assert READERS[form](path.read_bytes() if to_file else result.out) == expected()


def test_a_pipe_gets_json() -> None:
    result = gigastream("run", "-e", QUERY, "-r", DEMO_CAPTURE)
    assert json_rows(result.out) == expected()


@pytest.mark.parametrize("form", READERS)
def test_a_capture_without_packets_gives_the_header(form: str, tmp_path: Path) -> None:
    capture = tmp_path / "empty.pcap"
    capture.write_bytes(EMPTY)
    result = gigastream("run", "-e", QUERY, "-r", capture, "-o", form)
    assert result.code == 0
    assert READERS[form](result.out) == []


def test_several_queries_in_json_carry_their_names() -> None:
    result = gigastream("run", "-e", QUERY, "-e", PACKETS, "-r", DEMO_CAPTURE, "-o", "json")
    names = Counter(json.loads(line)["query"] for line in result.lines)
    assert names == {"query": len(expected()), "query2": 2010}


def test_several_queries_make_a_file_each(tmp_path: Path) -> None:
    words = ("run", "-e", QUERY, "-e", PACKETS, "-r", DEMO_CAPTURE, "-o")
    assert gigastream(*words, f"csv:{tmp_path / 'rows'}").code == 0
    assert csv_rows((tmp_path / "rows" / "query.csv").read_bytes()) == expected()
    assert len((tmp_path / "rows" / "query2.csv").read_text().splitlines()) == 2011


@pytest.mark.parametrize("form", ["csv", "arrow", "parquet"])
def test_several_queries_do_not_share_stdout(form: str) -> None:
    result = gigastream("run", "-e", QUERY, "-e", PACKETS, "-r", DEMO_CAPTURE, "-o", form)
    assert result.code == 2
    assert f"-o {form}:DIRECTORY" in result.err


def test_each_of_several_queries_has_its_table() -> None:
    result = gigastream("run", "-e", QUERY, "-e", PACKETS, "-r", DEMO_CAPTURE, "-o", "table")
    assert {"query:", "query2:"} <= set(result.lines)


def test_sources_of_all_kinds_give_the_same_rows(tmp_path: Path) -> None:
    content = DEMO_CAPTURE.read_bytes()
    packed = tmp_path / "demo.pcap.gz"
    packed.write_bytes(gzip.compress(content))
    frames = tmp_path / "demo.zst"
    with pyarrow.CompressedOutputStream(str(frames), "zstd") as stream:
        stream.write(content)
    for source in (packed, frames):
        assert json_rows(gigastream("run", "-e", QUERY, "-r", source).out) == expected()
    for piped in (content, packed.read_bytes(), frames.read_bytes()):
        result = gigastream("run", "-e", QUERY, "-r", "-", stdin=piped)
        assert json_rows(result.out) == expected()


def test_a_file_on_stdin_is_a_file() -> None:
    with DEMO_CAPTURE.open("rb") as capture:
        done = subprocess.run(
            [*COMMAND, "run", "-e", QUERY, "-r", "-"],
            stdin=capture,
            capture_output=True,
            check=True,
        )
    assert json_rows(done.stdout) == expected()


def test_a_filter_is_counted() -> None:
    words = ("run", "-e", PACKETS, "-r", DEMO_CAPTURE, "--stats", "json", "udp", "port", "53")
    result = gigastream(*words)
    (source,) = json.loads(result.err)["sources"]
    assert result.code == 0
    assert source["filtered"] == 2010 - len(result.lines)
    assert 0 < len(result.lines) < 200


def test_a_wrong_filter_is_told() -> None:
    result = gigastream("run", "-e", PACKETS, "-r", DEMO_CAPTURE, "tcp", "prot", "80")
    assert result.code == 2
    assert "filter 'tcp prot 80'" in result.err


@pytest.mark.parametrize(
    "wrong", [("tcp pprt 3",), ("--memory", "1M", "--slots", "1000000"), ("--jobs", "x")], ids=str
)
def test_what_is_wrong_is_told_before_a_file_is_emptied(
    wrong: tuple[str, ...], tmp_path: Path
) -> None:
    kept = tmp_path / "kept.csv"
    kept.write_text("rows of yesterday")
    asked = ("run", "-e", QUERY, "-r", DEMO_CAPTURE)
    done = gigastream(*asked, "-o", f"csv:{kept}", *wrong)
    assert (done.code, kept.read_text()) == (2, "rows of yesterday")
    assert gigastream(*asked, "-o", "csv", *wrong).out == b""


DAMAGED = b"\x1f\x8b\x09\0" + b"a" * 14


@pytest.mark.parametrize(
    "content",
    [b"", b"hello, world", gzip.compress(b"hello"), DAMAGED],
    ids=["empty", "text", "compressed text", "damaged"],
)
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_is_no_capture_is_told_before_a_file_is_emptied(
    tmp_path: Path, form: str, jobs: str, content: bytes
) -> None:
    (tmp_path / "no.pcap").write_bytes(content)
    kept = tmp_path / "kept"
    kept.write_text("rows of yesterday")
    asked = ("run", "-e", QUERY, "-r", tmp_path / "no.pcap", "-j", jobs)
    done = gigastream(*asked, "-o", f"{form}:{kept}")
    assert (done.code, kept.read_text()) == (2, "rows of yesterday")
    if content == DAMAGED:
        assert "no.pcap is damaged: the gzip stream is damaged" in done.err
    assert gigastream(*asked, "-o", "csv").out == b""


def test_a_capture_without_r_is_told() -> None:
    result = gigastream("run", "-e", PACKETS, "-r", DEMO_CAPTURE, str(DEMO_CAPTURE))
    assert result.code == 2
    assert "a capture is named with -r" in result.err


def test_a_capture_with_spaces_in_its_name_without_r_is_told(tmp_path: Path) -> None:
    capture = tmp_path / "two  words of it.pcap"
    capture.write_bytes(EMPTY)
    result = gigastream("run", "-e", PACKETS, "-r", DEMO_CAPTURE, "tcp", "or", str(capture))
    assert result.code == 2
    assert f"hint: {capture} is a file: a capture is named with -r" in result.err


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_what_comes_before_the_damage_is_answered(compress: object, tmp_path: Path) -> None:
    capture = tmp_path / "cut.pcap"
    content = DEMO_CAPTURE.read_bytes()
    packed = compress(content)  # type: ignore[operator]
    capture.write_bytes(packed[: len(packed) // 2])
    result = gigastream("run", "-e", PACKETS, "-r", capture, "--stats", "json")
    assert result.code == 1
    assert "is damaged" in result.err
    assert 500 < len(result.lines) < 1500


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "0 bytes"), (b"hello, world, this is no capture", ""), (gzip.compress(b"hello"), "")],
    ids=["empty", "text", "compressed text"],
)
def test_what_is_no_capture_is_told(content: bytes, message: str, tmp_path: Path) -> None:
    capture = tmp_path / "a.pcap"
    capture.write_bytes(content)
    result = gigastream("run", "-e", PACKETS, "-r", capture)
    assert result.code == 2
    assert str(capture) in result.err
    assert message in result.err
    assert result.out == b""


def test_the_account_adds_up() -> None:
    result = gigastream("run", "-e", QUERY, "-r", DEMO_CAPTURE, "--stats", "json")
    account = json.loads(result.err)
    (source,) = account["sources"]
    (lfta,) = account["lftas"]
    causes = ("undecodable", "filtered", "late", "skew", "sampled_out", "decoded")
    assert source["read"] == 2010 == sum(source[cause] for cause in causes)
    causes = ("not_of_protocol", "prefiltered", "rejected", "no_value", "accepted")
    assert source["decoded"] == sum(lfta[cause] for cause in causes)
    assert lfta["accepted"] == sum(packets for _, _, packets, _ in expected())
    assert account["rows"] == len(result.lines)


def test_the_summary_is_on_stderr_unless_it_is_not_wanted() -> None:
    words = ("run", "-e", PACKETS, "-r", DEMO_CAPTURE)
    assert "read 2,010 = decoded 2,010" in gigastream(*words).err
    assert gigastream(*words, "-q").err == ""


def test_a_reader_that_leaves_ends_the_run_quietly() -> None:
    command = subprocess.Popen(
        [*COMMAND, "run", "-e", PACKETS, "-r", str(DEMO_CAPTURE), "-r", str(DEMO_CAPTURE)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.close()
    assert command.stderr.read() == b""
    assert command.wait(SECONDS) == 0


def test_a_reader_that_leaves_ends_a_run_whose_input_goes_on() -> None:
    """It is not waited for until so many rows wait that there is no room for more."""
    command = subprocess.Popen(
        [*COMMAND, "run", "-e", "SELECT time FROM PKT", "-r", "-", "--slack", "0s"],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdin is not None
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.close()
    command.stdin.write(DEMO_CAPTURE.read_bytes())
    try:
        assert (command.wait(SECONDS), command.stderr.read()) == (0, b"")
    finally:
        command.kill()


def test_rows_come_as_windows_close_and_ctrl_c_answers_the_open_ones() -> None:
    content = DEMO_CAPTURE.read_bytes()
    command = subprocess.Popen(
        [*COMMAND, "run", "-e", QUERY, "-r", "-", "--slack", "0.1s", "--stats", "json"],
        bufsize=0,  # readline takes no more than the line
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdout is not None
    timer = threading.Timer(SECONDS, command.kill)
    timer.start()
    write_all(command.stdin, content)
    last_minute = max(row[0] for row in expected())
    closed = [row for row in expected() if row[0] < last_minute]
    # The pipe is still open: nothing has ended the input.
    first = b"".join(command.stdout.readline() for _ in closed)
    assert json_rows(first) == closed
    wait_until_read(command, 2010)  # those of the last minute give no row yet
    timer.cancel()
    os.kill(command.pid, signal.SIGINT)
    rest, account = command.communicate(timeout=SECONDS)
    assert command.returncode == 0
    assert json.loads(account)["sources"][0]["read"] == 2010
    assert json_rows(first + rest) == expected()


def test_a_configuration_counts_unless_the_command_line_says_otherwise(tmp_path: Path) -> None:
    config = tmp_path / "gigastream.toml"
    config.write_text("output = 'csv'\nslots = 64\n")
    words = ("run", "-e", QUERY, "-r", DEMO_CAPTURE, "-c", config)
    assert csv_rows(gigastream(*words).out) == expected()
    assert json_rows(gigastream(*words, "-o", "json").out) == expected()


def test_a_parameter_is_given_by_name() -> None:
    query = """PARAM { port uint 80; }
        SELECT count(*) AS n, tb FROM TCP WHERE destPort = $port GROUP BY time/600 AS tb"""
    words = ("run", "-e", query, "-r", DEMO_CAPTURE, "-o", "csv")
    web = [line.split(",")[0] for line in gigastream(*words).lines]
    other = [line.split(",")[0] for line in gigastream(*words, "--param", "port=8080").lines]
    assert web[0] == other[0] == "n"
    assert sum(map(int, web[1:])) > sum(map(int, other[1:])) > 0


ENGINE = ("--slots=1", "--slots=1024", "--burst=1", "--flush=immediate", "--flush=lazy")
ENGINE += (
    "--flush=slow_inorder",
    "--disorder=all",
    "--slack=1s",
    "--heartbeat=0",
    "--batch-rows=1",
    "--speed=1e300",
)


@pytest.mark.parametrize("option", ENGINE)
def test_no_setting_changes_the_rows(option: str) -> None:
    assert json_rows(gigastream("run", "-e", QUERY, "-r", DEMO_CAPTURE, option).out) == expected()


def test_a_replay_waits_for_no_capture_that_has_no_packets(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(DEMO_CAPTURE.read_bytes()[:24])
    words = ("-e", QUERY, "-r", DEMO_CAPTURE, "-r", empty, "--speed", "1e6")
    assert json_rows(gigastream("run", *words).out) == expected()


@pytest.mark.parametrize("kind", ["internal", "latent"])
def test_a_replay_needs_the_times_of_packets(kind: str) -> None:
    words = ("-e", "SELECT time FROM PKT", "-r", DEMO_CAPTURE, "--speed", "2")
    result = gigastream("run", *words, "--timestamps", kind)
    assert result.code == 2
    assert f"--speed replays by the packets' own times, and {kind} timestamps" in result.err
