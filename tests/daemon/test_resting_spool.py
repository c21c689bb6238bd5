# SPDX-License-Identifier: Apache-2.0
"""A set with a spool that rests under overload, and comes back."""

from __future__ import annotations

import socket
from pathlib import Path

from captures import DEMO_CAPTURE

from gigastream.cli.main import run_command_line
from gigastream.daemon.channel import OrderChannel
from gigastream.daemon.messages import AttachOrder, OutputSpec
from gigastream.daemon.running_set import RunningSet, Surroundings
from gigastream.daemon.tails import Tails
from gigastream.engine.engine import Engine
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from gigastream.spool import Spool
from tests.daemon.capture import object_of

FRAMES = "DEFINE { query_name frames; } SELECT time, len, timestamp FROM PKT"
TURNS, PACKETS_A_TURN = 3, 200


def test_a_set_that_rests_goes_on_with_its_spool(tmp_path: Path) -> None:
    """Its batches are numbered from the beginning again: that is another run of the spool."""
    root = tmp_path / "spool"
    order = AttachOrder(
        number=1,
        name="frames",
        object_path=str(object_of(tmp_path, "frames", FRAMES, ["demo"])),
        outputs=(OutputSpec(format="spool", path=str(root)),),
        low_level_only=True,
    )
    settings, told = Settings(batch_rows=20), list[str]()
    source = FileSource("demo", str(DEMO_CAPTURE))
    ours, nobody = socket.socketpair()
    tails = Tails(OrderChannel(ours.detach()))
    with nobody, Engine(settings, is_resident=True) as engine:
        around = Surroundings(engine, [source], settings, tails, told.append)
        engine.add_files([source])
        running = RunningSet(order, around, None)
        running.begin()
        engine.start()
        around.has_started = True
        for _ in range(TURNS):
            turn(engine, running, PACKETS_A_TURN)
            running.rest()
            turn(engine, running, PACKETS_A_TURN)
            running.wake()
        while turn(engine, running, 1 << 20):
            pass
        running.end_outputs()
        written = running.statistics().outputs[0]
        running.close()
        read = engine.statistics()[0].read
    assert (written.rows, written.lost, told) == (read - TURNS * PACKETS_A_TURN, 0, [])
    assert sum(e.rows for t in Spool(root).tracks() for e in t.poll()) <= written.rows
    assert run_command_line(["spool", "verify", str(root)]) == 0


def turn(engine: Engine, running: RunningSet, packets: int) -> bool:
    """Read so many packets; whether there are more."""
    goes_on = engine.run(packets, 0)
    running.collect()
    running.give()
    return goes_on
