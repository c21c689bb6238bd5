# SPDX-License-Identifier: Apache-2.0
"""The certificate and the token of all servers of the tests."""

from __future__ import annotations

import pytest
from serving.servers import Keys, make_keys

from gigastream.spool import server_host
from tests.waiting import PATIENCE_S


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture(autouse=True)
def _answers_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that gets no core for ten seconds is not away, where no test wants it to be."""
    monkeypatch.setattr(server_host, "ANSWER_SECONDS", PATIENCE_S)
