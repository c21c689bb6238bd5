# SPDX-License-Identifier: Apache-2.0
"""The network namespace that most of these tests have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live.namespace import Namespace, namespace, need


@pytest.fixture
def space() -> Iterator[Namespace]:
    """A namespace of one's own, with a cable."""
    need("ip")
    with namespace() as made:
        yield made
