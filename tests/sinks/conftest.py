# SPDX-License-Identifier: Apache-2.0
"""A place for every sink; a sink whose package or server is not here is skipped with a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from gigastream.sinks import SINKS
from tests.sinks import postgres_server
from tests.sinks.places import PLACES, Place

MakePlace = Callable[[], Place]


@pytest.fixture(scope="session")
def postgres_uri() -> Iterator[str]:
    if postgres_server.programs() is None:
        pytest.skip("there is no PostgreSQL: apt-get install postgresql")
    with postgres_server.server() as uri:
        yield uri


@pytest.fixture(params=SINKS)
def make_place(request: pytest.FixtureRequest, tmp_path: Path) -> MakePlace:
    """Makes empty places of one sink."""
    sink: str = request.param
    if find_spec(SINKS[sink].package) is None:
        pytest.skip(f"{SINKS[sink].package} is not installed: pip install 'gigastream[{sink}]'")
    server = request.getfixturevalue("postgres_uri") if sink == "postgres" else None
    return lambda: PLACES[sink](tmp_path, server)


@pytest.fixture
def place(make_place: MakePlace) -> Place:
    return make_place()
