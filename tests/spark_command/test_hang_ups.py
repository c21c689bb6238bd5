# SPDX-License-Identifier: Apache-2.0
"""Of PySpark's server of accumulators nobody hears that Java has left, and all else."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.accumulators import _start_update_server

from spark_sink.session import silence_hang_ups
from tests.waiting import wait_until


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    made = _start_update_server("", True, "accumulators")
    silence_hang_ups(made)
    yield made
    made.shutdown()


def said(words: bytes, server: Any, capfd: pytest.CaptureFixture[str]) -> str:
    """What is printed once the server has let a connection go that said these words."""
    is_over = []
    shutdown = server.shutdown_request
    server.shutdown_request = lambda request: (shutdown(request), is_over.append(True))
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server.server_address)
        connection.sendall(words)
    wait_until(lambda: bool(is_over), "the end of the connection")
    return capfd.readouterr().err


@pytest.mark.parametrize("words", [b"", b"\0\0\0\1"])
def test_java_may_leave(words: bytes, server: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert said(words, server, capfd) == ""


def test_another_error_is_printed(server: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert "UnpicklingError" in said(b"\0\0\0\1\0\0\0\2no", server, capfd)
