# SPDX-License-Identifier: Apache-2.0
"""Functions in Python on a link that root opens: they run as whom root becomes, confined."""

from __future__ import annotations

import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.namespace import Namespace, folder_for_all, running
from tests.live.test_veth import TAGGED, send

pytestmark = pytest.mark.privileged
FILE = """import os
import pyarrow as pa
import gigastream

USER = os.getresuid() + os.getresgid()


@gigastream.udf(on_error="end")
def ids(x: pa.UInt32Array) -> pa.BinaryArray:
    assert os.getresuid() + os.getresgid() == USER
    return pa.array([repr(USER).encode()] * len(x), pa.binary())
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_for_all() as made:
        yield made


def test_a_file_is_run_as_whom_root_becomes(space: Namespace, folder: Path) -> None:
    (folder / "ids.py").write_text(FILE)
    query = "SELECT ids(len) AS ids FROM PKT"
    words = ("-i", space.far, "--python", folder / "ids.py", "-e", query)
    with running(space, *words, folder=folder) as run:
        send(space, *TAGGED.values())
        run.stop()
        found = {row["ids"] for row in run.rows()}
    nobody = pwd.getpwnam("nobody")
    assert found == {repr((nobody.pw_uid,) * 3 + (nobody.pw_gid,) * 3)}
