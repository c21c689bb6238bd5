# SPDX-License-Identifier: Apache-2.0
"""Reloads: what comes in the place of what goes, in which order, and what cannot be read."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path

import pytest

from gigastream.config import ConfigError
from gigastream.daemon.client import RefusedError
from gigastream.daemon.config import load_daemon_config
from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import QuerySetSpec, ReloadConfig, SetState
from gigastream.daemon.reloading import changes, within
from tests.daemon.links import stopped
from tests.daemon.resident import COUNTS, end, started
from tests.live.namespace import Namespace
from tests.processes import catches, descendants
from tests.waiting import wait_until


def spec(name: str, *outputs: str, text: str = "") -> QuerySetSpec:
    """A set of the configuration."""
    return QuerySetSpec(name=name, text=text, outputs=outputs)


def told(before: list[QuerySetSpec], wanted: list[QuerySetSpec]) -> list[str]:
    """What a reload says, change by change."""
    states = {s.name: SetState(spec=s, since_ns=0, by_uid=0, from_config=True) for s in before}
    return [each.told(states) for each in changes(states, wanted)]


def test_the_order_of_changes() -> None:
    """Who only goes is first; who leaves an output goes with who has it from then on."""
    before = [spec("a", "csv:/1"), spec("b", "csv:/2"), spec("c"), spec("same", "csv:/3")]
    wanted = [spec("new"), spec("heir", "arrow:/1"), spec("c", "csv:/2"), before[-1]]
    assert told(before, wanted) == ["added new", "added heir, dropped a", "changed c, dropped b"]
    gone = ["dropped a", "dropped b", "dropped c", "dropped same"]
    assert told(before, wanted[:1]) == [*gone, "added new"]


def test_a_set_whose_functions_are_others_changes() -> None:
    both = [spec("a", "csv:/1"), spec("b", "csv:/2")]
    states = {s.name: SetState(spec=s, since_ns=0, by_uid=0, from_config=True) for s in both}
    assert [each.names for each in changes(states, both, {"b"})] == [("b",)]


def test_outputs_that_go_round() -> None:
    """Sets between which they do are changed together; what is by itself is changed by itself."""
    before = [spec("a", "csv:/1"), spec("b", "csv:/2"), spec("c", "csv:/3"), spec("d", "csv:/4")]
    wanted = [spec("a", "csv:/2"), spec("b", "csv://3"), spec("c", "csv:/1"), spec("d", "csv:/5")]
    assert told(before, wanted) == ["changed a, changed b, changed c", "changed d"]
    states = {s.name: SetState(spec=s, since_ns=0, by_uid=0, from_config=True) for s in before}
    handed_over = list(changes(states, [spec("a", "csv:/2"), spec("b", "csv:/5"), *before[2:]]))
    assert [(each.names, each.moved) for each in handed_over] == [(("a", "b"), {"b"})]


def test_a_reading_that_does_not_end() -> None:
    """Is waited for so long, and what it gives later is nobody's."""
    goes_on = threading.Event()

    async def script() -> None:
        with pytest.raises(DaemonError, match="the reading took more than"):
            await within(0.01, goes_on.wait, "the reading")
        goes_on.set()
        assert await within(60, lambda: 5, "this") == 5

    asyncio.run(script())


def test_a_pipe_is_no_configuration(tmp_path: Path) -> None:
    """Nobody is waited for who may write into it."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="this is no regular file"):
        load_daemon_config(tmp_path / "pipe")


@pytest.mark.privileged
def test_a_reload_before_the_beginning(space: Namespace, common_folder: Path) -> None:
    """Is made behind it: its sets are compiled once, and systemd is not told too early."""
    config = common_folder / "gigastream.toml"
    text = "DEFINE { query_name q; } SELECT " + ", ".join(f"len + {n} AS c{n}" for n in range(99))
    tables = f"[[query]]\nname = 'q'\ntext = '{text} FROM PKT'\n"
    config.write_text(f"[[link]]\ndevice = '{space.near}'\n{tables}")
    daemon = started(space, common_folder, "-c", config, waits=False)
    try:
        wait_until(lambda: (common_folder / "socket").exists(), "the socket")
        wait_until(lambda: catches(daemon.process.pid, signal.SIGHUP), "that signals are minded")
        daemon.signal(signal.SIGHUP)
        wait_until(lambda: "reload: " in daemon.told(), "the reload")
        first, second = daemon.told().splitlines()
        assert first.startswith("gigastream: running: ")
        assert second == "gigastream: reload: nothing has changed"
        assert daemon.stop() == 0
    finally:
        end(daemon)


@pytest.mark.long
@pytest.mark.privileged
def test_a_set_by_another_name(space: Namespace, common_folder: Path) -> None:
    """Has the output of the one before; where it cannot come, that one stays."""
    config = common_folder / "gigastream.toml"

    def write(name: str, text: str = COUNTS) -> None:
        config.write_text(
            f"[[link]]\ndevice = '{space.near}'\n[[query]]\nname = '{name}'\n"
            f"output = ['csv:{common_folder}/out/rows.csv']\ntext = '''{text}'''\n"
        )

    write("before")
    daemon = started(space, common_folder, "-c", config)
    try:
        write("after", "SELECT nothing FROM PKT")
        with pytest.raises(RefusedError, match="no column nothing"):
            daemon.ask(ReloadConfig())
        assert list(daemon.status().sets) == ["before"]
        write("after")
        assert daemon.ask(ReloadConfig()).message == "added after, dropped before"
        wait_until(lambda: [s.name for s in daemon.report().sets] == ["after"], "the report")
        write("third")
        with stopped(descendants(daemon.process.pid)[0]):  # the launcher: no reload ends meanwhile
            for _ in range(100):
                daemon.signal(signal.SIGHUP)
        wait_until(lambda: "reload: added third, dropped after" in daemon.told(), "the reload")
        config.unlink()
        os.mkfifo(config)
        with pytest.raises(RefusedError, match="this is no regular file"):
            daemon.ask(ReloadConfig())  # behind those that were waiting
        assert daemon.told().count("reload:") < 5
        assert daemon.stop() == 0
    finally:
        end(daemon)


@pytest.mark.privileged
def test_sets_that_change_places(space: Namespace, common_folder: Path) -> None:
    """Each has the output of the other; where one of them cannot, both are as they were."""
    config = common_folder / "gigastream.toml"

    def write(outputs: dict[str, str], text: str = COUNTS) -> None:
        sets = "".join(
            f"[[query]]\nname = '{name}'\nfirst-window = 'cut'\n"
            f"output = ['csv:{common_folder}/out/{file}.csv']\n"
            f"text = '''{text if name == 'two' else COUNTS}'''\n"
            for name, file in outputs.items()
        )
        config.write_text(f"[[link]]\ndevice = '{space.near}'\n{sets}")

    def outputs_at_work() -> dict[str, list[str]]:
        return {s.name: [Path(o.path).stem for o in s.outputs] for s in daemon.report().sets}

    write({"one": "a", "two": "b"})
    daemon = started(space, common_folder, "-c", config)
    try:
        write({"one": "b", "two": "a"}, "SELECT nothing FROM PKT")
        with pytest.raises(RefusedError, match="no column nothing"):
            daemon.ask(ReloadConfig())
        wait_until(lambda: outputs_at_work() == {"one": ["a"], "two": ["b"]}, "the report")
        write({"one": "b", "two": "a"})
        assert daemon.ask(ReloadConfig()).message == "changed one, changed two"
        wait_until(lambda: outputs_at_work() == {"one": ["b"], "two": ["a"]}, "the report")
        (common_folder / "out/shut").mkdir(mode=0o700)
        write({"one": "a", "two": f"b.csv', 'csv:{common_folder}/out/shut/c"})
        with pytest.raises(RefusedError, match="shut"):
            daemon.ask(ReloadConfig())
        daemon.send()
        wait_until(lambda: outputs_at_work() == {"one": ["b"], "two": ["a"]}, "the report")
        assert daemon.stop() == 0
        assert daemon.rows("a") == daemon.rows("b") != []
    finally:
        end(daemon)


@pytest.mark.long
@pytest.mark.privileged
def test_an_end_while_the_launcher_is_stopped(space: Namespace, common_folder: Path) -> None:
    """It is waited for a while, and killed."""
    daemon = started(space, common_folder)
    try:
        launcher = descendants(daemon.process.pid)[0]
        os.kill(launcher, signal.SIGSTOP)
        assert daemon.stop() == 0
        assert not Path(f"/proc/{launcher}").exists()
    finally:
        end(daemon)
