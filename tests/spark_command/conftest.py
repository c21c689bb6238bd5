# SPDX-License-Identifier: Apache-2.0
"""A folder in which servers of `--warm` listen, of each test file one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from cli.command import gigastream
from spark_command.warm import environment, servers_pid, wait_for_end


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Its servers are ended, by the command that is for that."""
    folder = tmp_path_factory.mktemp("a [run], time " + "long " * 20)
    yield folder
    left = []
    for path in folder.glob("gigastream/*.socket"):
        with suppress(OSError):
            left.append(servers_pid(path))
    assert gigastream("run", "--warm-end", env=environment(folder, folder)).code == 0
    for process in left:
        wait_for_end(process)
