# SPDX-License-Identifier: Apache-2.0
"""The certificate and the token of all servers of the tests."""

from __future__ import annotations

import pytest
from serving.servers import Keys, make_keys


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return make_keys(tmp_path_factory.mktemp("keys"))
