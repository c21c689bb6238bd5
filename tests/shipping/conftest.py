# SPDX-License-Identifier: Apache-2.0
"""One S3 server for all tests of a process; each ships to a name of its own."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest
from shipping.s3_server import CREDENTIALS, S3Server


@pytest.fixture(scope="session")
def s3_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    if importlib.util.find_spec("moto") is None:
        pytest.skip("moto's S3 server is not installed")
    server = S3Server(tmp_path_factory.mktemp("s3"))
    try:
        server.begin()
        yield server
    finally:
        server.end()


@pytest.fixture
def s3(s3_process: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server, and in the environment what it wants of those who ask."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    return s3_process
