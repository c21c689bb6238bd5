# SPDX-License-Identifier: Apache-2.0
"""The model of many hosts: its tables in docs/scale.md, and its formulas beside the engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from captures import ROOT
from docs.tables import tables

from gigastream.spool import Spool

pytest.importorskip("numpy")
BENCH = ROOT / "bench"
SPARK = BENCH / "spark"
SCALE = ROOT / "docs" / "scale.md"
QUERY = "SELECT tb, srcIP, destIP, count(*) AS n FROM IPV4 GROUP BY time/60 AS tb, srcIP, destIP"
FLEET = ["hosts", "state", "what", "measured", "model", "measured / model"]


def said(*command: str | Path) -> list[str]:
    """What a program of the benchmarks prints."""
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_page_has_the_tables_that_the_model_computes() -> None:
    shown = SCALE.read_text().splitlines()
    lines = [line for line in said(SPARK / "scale_model.py") if line.startswith("|")]
    assert len(lines) > 20
    assert [line for line in lines if line not in shown] == []


def test_the_page_has_what_the_model_says_of_fleets() -> None:
    (rows,) = (table[1:] for table in tables(SCALE) if table[0] == FLEET)
    fleets = sorted({(row[0], row[1]) for row in rows})
    assert ("100", "spool") in fleets
    for fleet in fleets:
        shown = {row[2]: row[3:] for row in rows if (row[0], row[1]) == fleet}
        model = dict(line.split(": ") for line in said(SPARK / "fleet_model.py", *fleet))
        assert {what: cells[1] for what, cells in shown.items()} == model
        for measured, computed, ratio in shown.values():
            assert float(ratio) == pytest.approx(_value(measured) / _value(computed), abs=0.02)


def _value(cell: str) -> float:
    return float(cell.replace(",", ""))


def test_a_fleet_is_what_the_model_takes_it_for(tmp_path: Path) -> None:
    said(SPARK / "fleet.py", tmp_path, "4", "2.5")
    tracks = [
        (path.name, track.interface, track.poll())
        for path in sorted(tmp_path.glob("host-*"))
        for track in Spool(path).tracks()
    ]
    names = ["000/eth0", "001/eth0", "001/eth1", "002/eth0", "003/eth0", "003/eth1"]
    assert [f"{host}/{interface}" for host, interface, _ in tracks] == [f"host-{n}" for n in names]
    for host, _, entries in tracks:
        assert (sum(entry.rows for entry in entries) == 0) == (host == "host-003")
        assert entries[-1].kind == "end"


@pytest.mark.parametrize("slots", [1 << 12, 1 << 14, 1 << 16])
def test_partial_rows_are_as_many_as_the_formula_says(tmp_path: Path, slots: int) -> None:
    groups, packets = 20_000, 600_000
    capture, spool = tmp_path / "uniform.pcap", tmp_path / "spool"
    made = ["--packets", str(packets), "--groups", str(groups), "--minutes", "1"]
    said(BENCH / "generate.py", capture, *made)
    run = ["-m", "gigastream", "run", "-q", "--slots", str(slots)]
    said(*run, "-r", f"default={capture}", "-o", f"spool:{spool}", "-e", QUERY)
    (track,) = Spool(spool).tracks()
    rows = sum(entry.rows for entry in track.poll())
    host = f"Hosts(1, packets_per_s={packets / 60}, groups={groups}, slots={slots})"
    program = f"import sys; sys.path.insert(0, {str(SPARK)!r}); from scale_model import Hosts"
    (computed,) = said("-c", f"{program}; print({host}.rows_per_s * 60)")
    # which groups share a slot is another chance in every run: some 2 % of the rows
    assert rows == pytest.approx(float(computed), rel=0.1)
