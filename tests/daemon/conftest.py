# SPDX-License-Identifier: Apache-2.0
"""A running daemon."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.resident import CAPTURE, Daemon, end, started
from tests.live.namespace import Namespace, folder_for_all, namespace, need
from tests.waiting import PATIENCE_S


@pytest.fixture
def space() -> Iterator[Namespace]:
    """A namespace of one's own, with a cable."""
    need("ip")
    with namespace() as made:
        yield made


@pytest.fixture
def common_folder() -> Iterator[Path]:
    """A folder that the daemon's user reaches, too."""
    with folder_for_all() as made:
        yield made


@pytest.fixture
def daemon(space: Namespace, common_folder: Path) -> Iterator[Daemon]:
    """A daemon on the near end of a cable, without any set."""
    made = started(space, common_folder)
    try:
        yield made
    finally:
        end(made)


@pytest.fixture
def traffic(daemon: Daemon) -> Iterator[None]:
    """The demo's packets on its cable, again and again."""
    need("tcpreplay")
    command = ("tcpreplay", "-q", "-i", daemon.space.far, "--loop", "0", "--pps", "1000", CAPTURE)
    replay = daemon.space.start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        replay.kill()
        replay.wait(PATIENCE_S)
