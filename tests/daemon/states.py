# SPDX-License-Identifier: Apache-2.0
"""A status with something in every place."""

from __future__ import annotations

from gigastream.daemon.loader_messages import TableState
from gigastream.daemon.messages import (
    CaptureReport,
    Loss,
    OutputStatistics,
    QuerySetSpec,
    RingStatistics,
    SetState,
    SetStatistics,
    StatusAnswer,
)
from gigastream.engine.statistics import (
    LftaStatistics,
    MemoryStatistics,
    OperatorStatistics,
    SourceStatistics,
)

SECOND_NS = 10**9
SINCE_NS = 1_767_323_045 * SECOND_NS
"""2026-01-02 03:04:05 UTC."""

SPEC = QuerySetSpec(
    name="talkers",
    text="SELECT srcIP\nFROM IP",
    parameters={"port": "443"},
    outputs=("csv:/srv/rows",),
    priority=3,
)
STATE = SetState(spec=SPEC, since_ns=SINCE_NS, by_uid=4_000_000_000, from_config=False)
LINK = SourceStatistics(
    label="eth0",
    interface="eth0",
    read=100,
    undecodable=1,
    filtered=2,
    late=3,
    skew=4,
    decoded=90,
    truncated=0,
    bytes=9000,
    total_bytes=0,
    worst_lateness_ns=0,
    damage=None,
    kernel_received=110,
    kernel_dropped=7,
    link="up",
)
LFTA = LftaStatistics(
    name="talkers",
    interface="eth0",
    not_of_protocol=0,
    prefiltered=0,
    rejected=30,
    no_value=0,
    accepted=60,
    evicted=0,
)
OPERATOR = OperatorStatistics(
    name="talkers",
    kind="aggregate",
    rows_in=60,
    rows_out=12,
    rejected=0,
    no_value=0,
    held=0,
    groups_refused=0,
)
SET = SetStatistics(
    name="talkers",
    queries=("talkers",),
    lftas=(LFTA,),
    operators=(OPERATOR,),
    outputs=(
        OutputStatistics(
            format="csv",
            path="/srv/rows",
            rows=12,
            lost=3,
            bytes=1000,
            files=2,
            failure="no space",
        ),
    ),
    rows={"talkers": 12},
    newest_ns={"talkers": SINCE_NS - 5 * SECOND_NS},
)
REPORT = CaptureReport(
    incarnation=1,
    at_ns=SINCE_NS + 5 * SECOND_NS,
    sources=(LINK,),
    sets=(SET,),
    rings=(RingStatistics(label="eth0", blocks=64, used=3),),
    memory=MemoryStatistics(1 << 30, 1 << 20, 1 << 20),
)
STATUS = StatusAnswer(
    version="1",
    started_ns=SINCE_NS,
    incarnation=1,
    restarts=1,
    capture_pid=42,
    sets={
        "talkers": STATE,
        "ports": SetState(
            spec=QuerySetSpec(name="ports", text="x"),
            since_ns=SINCE_NS,
            by_uid=0,
            from_config=True,
        ),
    },
    report=REPORT,
    losses=(
        Loss(
            incarnation=0,
            at_ns=SINCE_NS,
            away_ns=SECOND_NS // 4,
            packets={"eth0": 5},
            reason="signal 9",
        ),
    ),
    notices=("something",),
    tables=(
        TableState(
            set_name="talkers",
            table="duckdb:/srv/rows.db",
            spool="/srv/spool",
            state="running",
            rows=1234,
            retired_rows=2,
            lag_ns=2 * SECOND_NS,
        ),
        TableState(
            set_name="talkers", table="postgres:service=x", spool="/srv/spool", why="it is down"
        ),
    ),
)
