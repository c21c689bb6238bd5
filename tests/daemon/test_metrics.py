# SPDX-License-Identifier: Apache-2.0
"""The exposition of metrics: complete, parsed by the client's parser, named by what uses it."""

from __future__ import annotations

import json
import re
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import suppress

import pytest
from captures import ROOT
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gigastream.daemon.loader_messages import TableState
from gigastream.daemon.messages import (
    CaptureReport,
    Loss,
    OutputStatistics,
    RingStatistics,
    SetStatistics,
    StatusAnswer,
)
from gigastream.daemon.metrics import registry, serve_metrics
from gigastream.daemon.metrics_server import CONNECTIONS_MAX
from gigastream.engine.statistics import (
    NONE,
    LftaStatistics,
    MemoryStatistics,
    OperatorStatistics,
    SourceStatistics,
)

SOURCE = SourceStatistics(
    *("eth0", "uplink", 96, 1, 2, 3, 4, 86, 5, 7000, 0, 0, None),
    kernel_received=106,
    kernel_dropped=10,
    link="up",
)
REPORT = CaptureReport(
    incarnation=1,
    at_ns=2_000_000_000,
    sources=(SOURCE,),
    sets=(
        SetStatistics(
            name="talkers",
            queries=("talkers", "silent"),
            lftas=(
                LftaStatistics(
                    *("talkers_low", "uplink", 1, 2, 3, 4, 73, 5),
                    fragments=4,
                    datagrams=1,
                    fragments_repeated=2,
                    segments=50,
                    gaps_no_room=3,
                ),
            ),
            operators=(OperatorStatistics("groups", "aggregate", 9, 8, None, 0, 1, 0),),
            outputs=(
                OutputStatistics(
                    format="csv", path='/a "b"\n\\c', rows=8, lost=1, oldest_ns=1_500_000_000
                ),
            ),
            rows={"talkers": 8, "silent": 0},
            newest_ns={"talkers": 500_000_000, "silent": NONE},
        ),
    ),
    rings=(RingStatistics(label="eth0", blocks=64, used=3),),
    memory=MemoryStatistics(1000, 100, 200),
    cpu_ns=5_000_000_000,
)
LOSS = Loss(incarnation=0, at_ns=1, away_ns=5, packets={"uplink": 7}, reason="SIGKILL")
STATUS = StatusAnswer(
    version="1.2",
    started_ns=0,
    incarnation=1,
    restarts=1,
    capture_pid=7,
    sets={},
    report=REPORT,
    losses=(LOSS, LOSS),
    lost_packets={"uplink": 14},
    tables=(
        TableState(
            set_name="talkers",
            table="duckdb:/t.db",
            spool="/s",
            state="running",
            rows=9,
            lag_ns=2_500_000_000,
        ),
        TableState(set_name="talkers", table="delta:/d", spool="/s", why="it is down"),
    ),
)


def test_every_metric_is_explained() -> None:
    page = (ROOT / "docs" / "daemon.md").read_text()
    explained = set(re.findall(r"`(gigastream_[a-z_]+)", page))
    assert {name for name in samples(STATUS) if not name.endswith("_created")} <= explained


def samples(status: StatusAnswer) -> dict[str, dict[tuple[str, ...], float]]:
    """By name, and by the values of the labels in the order of their names."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    text = generate_latest(registry(lambda: status)).decode()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = tuple(value for _, value in sorted(sample.labels.items()))
            found.setdefault(sample.name, {})[labels] = sample.value
    return found


def test_the_account_of_a_link_adds_up() -> None:
    found = samples(STATUS)
    received = found["gigastream_received_packets_total"][("uplink", "eth0")]
    assert received == 106 == sum(found["gigastream_packets_total"].values())


def test_fragments_are_lost_by_cause() -> None:
    found = samples(STATUS)
    lost = found["gigastream_lfta_fragments_dropped_total"]
    assert {labels[0]: count for labels, count in lost.items() if count} == {"repeated": 2}
    assert len(lost) == 5
    given = 86 - found["gigastream_lfta_fragments_total"]["uplink", "talkers_low", "talkers"]
    given += found["gigastream_lfta_datagrams_total"]["uplink", "talkers_low", "talkers"]
    assert given == sum(found["gigastream_lfta_packets_total"].values())


def test_gaps_are_given_up_by_cause() -> None:
    gaps = samples(STATUS)["gigastream_lfta_gaps_total"]
    assert {labels[0]: count for labels, count in gaps.items()} == {
        "waited": 0,
        "no_room": 3,
        "ended": 0,
    }


def test_labels_of_hostile_paths_are_quoted() -> None:
    rows = samples(STATUS)["gigastream_output_rows_total"]
    assert rows == {("csv", '/a "b"\n\\c', "talkers"): 8}


def test_what_promises_nothing_has_no_lag() -> None:
    assert samples(STATUS)["gigastream_query_lag_seconds"] == {("talkers", "talkers"): 1.5}


def test_tables_say_whether_they_are_filled() -> None:
    found = samples(STATUS)
    filled, waits = ("talkers", "duckdb:/t.db"), ("talkers", "delta:/d")
    assert found["gigastream_loader_running"] == {filled: 1, waits: 0}
    assert found["gigastream_loader_rows_total"] == {filled: 9, waits: 0}
    assert found["gigastream_loader_lag_seconds"] == {filled: 2.5}


def test_crashes_are_summed() -> None:
    found = samples(STATUS)
    assert found["gigastream_crash_lost_packets_total"] == {("uplink",): 14}
    assert found["gigastream_restarts_total"] == {(): 1}


def test_before_the_first_report() -> None:
    began = StatusAnswer(
        version="1.2", started_ns=0, incarnation=0, restarts=0, capture_pid=None, sets={},
        report=None,
    )  # fmt: skip
    found = samples(began)
    assert found["gigastream_up"] == {(): 0}
    assert "gigastream_packets_total" not in found


@pytest.mark.parametrize("name", ["alerts.yml", "grafana.json"])
def test_what_uses_metrics_names_those_there_are(name: str) -> None:
    text = (ROOT / "configs" / name).read_text()
    used = set(re.findall(r"\bgigastream_[a-z_]+", text))
    assert used
    assert used <= samples(STATUS).keys()


def test_every_label_in_the_rules_is_there() -> None:
    found = generate_latest(registry(lambda: STATUS)).decode()
    text = (ROOT / "configs" / "alerts.yml").read_text()
    for label in set(re.findall(r"\$labels\.(\w+)", text)) - {"instance"}:
        assert f'{label}="' in found


def test_panels_do_not_lie_on_each_other() -> None:
    panels = json.loads((ROOT / "configs" / "grafana.json").read_text())["panels"]
    seen: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & seen
        assert at["x"] + at["w"] <= 24
        seen |= cells


@pytest.fixture
def port() -> Iterator[int]:
    with socket.socket() as held:  # so that nobody else is given it meanwhile
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        free = held.getsockname()[1]
        end = serve_metrics(lambda: STATUS, "127.0.0.1", free)
        yield free
        end()


def test_it_is_served(port: int) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()
    assert "gigastream_up 1.0" in text


def test_the_age_of_a_spool_is_told() -> None:
    """Where there is one."""
    text = generate_latest(registry(lambda: STATUS)).decode()
    (line,) = (line for line in text.splitlines() if line.startswith("gigastream_spool_oldest"))
    assert line.endswith(" 0.5")


def test_requests_that_do_not_end_hold_up_nobody(port: int) -> None:
    """However many: the daemon has few of them open, and ends the oldest for one that comes."""
    half = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
    for each in half:
        with suppress(OSError):  # it has been ended
            each.sendall(b"GET /metrics HTT")
    test_it_is_served(port)
    ended = sum(is_over(each) for each in half)
    assert ended >= len(half) - CONNECTIONS_MAX
    for each in half:
        each.close()


def is_over(connection: socket.socket) -> bool:
    """Whether the other end is closed now."""
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
