# SPDX-License-Identifier: Apache-2.0
"""A running daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.resident import Daemon, end, started
from tests.live.namespace import Namespace, folder_for_all, namespace, need


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
