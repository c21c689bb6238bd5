# SPDX-License-Identifier: Apache-2.0
"""Sets come, go and change on a link under load, and the others' answers miss no packet."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gigastream.daemon.messages import DropSet, SetParameter
from tests.daemon.links import (
    FAST,
    FLOWS,
    GUESTS,
    NUMBERS,
    check_all,
    check_metrics,
    received_by_device,
    rows_of,
    sending,
    sums,
    totals,
    wait_for_all,
)
from tests.daemon.resident import GREAT_RING, Daemon, end, started
from tests.live.namespace import Namespace
from tests.waiting import wait_until

pytestmark = pytest.mark.privileged
METRICS = "127.0.0.1:9464"


@pytest.fixture
def measured(space: Namespace, common_folder: Path) -> Iterator[Daemon]:
    """A daemon whose metrics can be asked for."""
    space.ip("link", "set", "lo", "up")
    made = started(space, common_folder, "--metrics", METRICS, *GREAT_RING)
    try:
        yield made
    finally:
        end(made)


@pytest.mark.parametrize(
    ("times", "rate"), [(5, 20_000), pytest.param(100, 400_000, marks=pytest.mark.slow)]
)
def test_sets_come_and_go_under_load(measured: Daemon, times: int, rate: int) -> None:
    """The others see every packet once; every packet is in the account, and in the kernel's."""
    measured.add("numbers", NUMBERS)
    measured.add("flows", FLOWS)
    with sending(measured.space, rate=rate) as sender:
        for time in range(times):
            measured.add("guest", GUESTS[time % len(GUESTS)])
            measured.ask(DropSet(name="guest"))
    sources = wait_for_all(measured, sender.sent)
    check_metrics(measured, METRICS, sender.sent)
    if rate <= FAST:
        assert received_by_device(measured.space, measured.space.near) == (sender.sent, 0)
    speed = f"{sender.sent / sender.seconds:,.0f} packets/s"
    assert [source.kernel_dropped for source in sources] == [0], speed
    assert measured.stop() == 0
    check_all(rows_of(measured, "numbers"), sender.sent)
    assert totals(rows_of(measured, "flows")) == sums(sender.sent)
    print(f"\n{times} sets came and went at {speed}: {sender.sent:,} in all")


@pytest.mark.long
@pytest.mark.parametrize("times", [4, pytest.param(50, marks=pytest.mark.slow)])
def test_a_parameter_is_set_under_load(measured: Daemon, times: int) -> None:
    """Every window comes once, and whole."""
    daemon = measured
    daemon.add("numbers", NUMBERS, first_window="cut")
    with sending(daemon.space, size=200) as sender:
        wait_until((daemon.folder / "out" / "numbers.csv").exists, "a window")
        for value in range(1, times + 1):
            daemon.ask(SetParameter(name="numbers", parameter="least", value=str(value)))
            before = len(daemon.rows("numbers"))
            if value % 2:  # every other one is set before the last has begun
                wait_until(lambda least=before: len(daemon.rows("numbers")) > least, "a window")
    wait_for_all(daemon, sender.sent)
    assert daemon.stop() == 0
    check_all(rows_of(daemon, "numbers"), sender.sent)


@pytest.mark.long
def test_a_reload_leaves_what_is_the_same_alone(space: Namespace, common_folder: Path) -> None:
    """Its rows go on without a gap, while others are changed, added and dropped."""
    config = common_folder / "gigastream.toml"

    def write(**sets: str) -> None:
        parts = [f"[[link]]\ndevice = '{space.near}'\nring = '256MiB'\n"]
        for name, text in sets.items():
            output = f"first-window = 'cut'\noutput = ['csv:{common_folder}/out/{name}.csv']"
            parts.append(f"[[query]]\nname = '{name}'\n{output}\ntext = '''{text}'''\n")
        config.write_text("".join(parts))

    def reload(*names: str) -> None:
        told = daemon.told().count("reload:")
        daemon.signal(signal.SIGHUP)
        wait_until(lambda: daemon.told().count("reload:") > told, "the reload")
        assert sorted(daemon.status().sets) == sorted(names), daemon.told()

    write(same=NUMBERS, changed=GUESTS[0])
    config.chmod(0o644)
    daemon = started(space, common_folder, "-c", config)
    try:
        with sending(space) as sender:
            for guest in GUESTS:
                write(same=NUMBERS, changed=guest, new=FLOWS)
                reload("same", "changed", "new")
                write(same=NUMBERS, changed=GUESTS[0])
                reload("same", "changed")
        wait_for_all(daemon, sender.sent)
        assert daemon.stop() == 0
        check_all(rows_of(daemon, "same"), sender.sent)
    finally:
        end(daemon)
