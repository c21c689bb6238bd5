# SPDX-License-Identifier: Apache-2.0
"""A link that is captured into a spool again and again is one stream."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gigastream.spool import Spool
from tests.cli.command import COMMAND
from tests.live.namespace import ROOT, Namespace, folder_for_all, needs, running
from tests.live.test_veth import DEMO_CAPTURE, replay

pytestmark = [pytest.mark.privileged, needs("tcpreplay")]
QUERY = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/3600 AS tb"


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_for_all() as made:
        yield made


def packets_of(spool: Path) -> tuple[int, str]:
    """How many packets the spool's query counts, and what is said."""
    command = [*COMMAND, "run", "-q", "-o", "json", "--spool", str(spool)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return sum(json.loads(line)["n"] for line in done.stdout.splitlines()), done.stderr


def test_each_run_goes_on_where_the_last_was_stopped(space: Namespace, folder: Path) -> None:
    """In one generation; behind an end, which is told when asked for, in one that goes on."""
    spool, sent = folder / "spool", 0
    for is_ended in (False, True, False):
        words = ["-i", space.far, "-e", QUERY, "-o", f"spool:{spool}"]
        with running(space, *words, folder=folder) as run:
            sent += replay(space, DEMO_CAPTURE, "--topspeed")
            account = run.stop()
        (source,), (stream,) = account["sources"], account["streams"]
        assert source["late"] == source["skew"] == 0
        found, told = packets_of(spool)
        assert found == sent
        assert "has no end, and nobody writes it now" in told
        if is_ended:
            subprocess.run([*COMMAND, "spool", "end", str(spool)], check=True, cwd=ROOT)
            assert packets_of(spool) == (sent, "")
    assert stream["generation"] == 2
    assert len(Spool(spool).earlier(*Spool(spool).tracks())) == 1
