# SPDX-License-Identifier: Apache-2.0
"""pcapng of many sections: whose interface is whose, and that those before are forgotten."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.capture.capture_files import enhanced, interface, option, section
from tests.engine.stepping import plan_of

IF_NAME = 2
QUERY = "SELECT tb, interface, count(*) AS n FROM PKT GROUP BY time/3600 AS tb, interface"


def part(*names: str) -> bytes:
    """A section with a packet of each of its interfaces, which are described before."""
    described = (interface(options=option(IF_NAME, name.encode())) for name in names)
    packets = (enhanced(index * 1_000_000, index=index) for index in range(len(names)))
    return section() + b"".join(described) + b"".join(packets)


def counts(path: Path, **settings: object) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    run = Settings(hash_key=(1, 2), **settings)  # type: ignore[arg-type]
    with Session(plan_of(QUERY), [FileSource("default", str(path))], run) as session:
        for event in session.batches():
            if event.batch.row_count:
                for row in event.batch.to_arrow().to_pylist():
                    found[row["interface"]] += row["n"]
    return found


@pytest.mark.parametrize("burst", [1, 64, 256])
@pytest.mark.parametrize("use_mmap", [True, False])
def test_each_section_has_its_own_interfaces(tmp_path: Path, use_mmap: bool, burst: int) -> None:
    path = tmp_path / "sections.pcapng"
    path.write_bytes(part("a", "b", "c") + part("d") + part() + part("b", "a") + part("c"))
    found = counts(path, use_mmap=use_mmap, burst=burst)
    assert found == {b"a": 2, b"b": 2, b"c": 2, b"d": 1}


def test_more_sections_than_a_packet_can_name(tmp_path: Path) -> None:
    path = tmp_path / "sections.pcapng"
    path.write_bytes((part("a", "b") + part("b")) * 40_000)
    assert counts(path) == {b"a": 40_000, b"b": 80_000}
