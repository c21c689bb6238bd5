# SPDX-License-Identifier: Apache-2.0
"""A process of its own that runs one plan over files, so that its instructions can be counted.

It is given what another has planned, and asks for rows' number only: under callgrind the parser and
Arrow would take longer to load than the packets to be read.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource

if TYPE_CHECKING:
    from instructions import Counter

    from gigastream.plan import Plan

Files = Sequence[tuple[str, str]]
"""(interface, path)."""


def instructions(count: Counter, plan: Plan, files: Files, settings: Settings) -> int:
    """Run it in a process whose instructions are counted. RunError."""
    with NamedTemporaryFile() as file:
        file.write(pickle.dumps((plan, files, settings)))
        file.flush()
        return count((sys.executable, __file__, file.name), "")


def run(plan: Plan, files: Files, settings: Settings) -> int:
    """Return how many rows come."""
    with Session(plan, [FileSource(*file) for file in files], settings) as session:
        return sum(event.batch.row_count for event in session.batches())


def main() -> int:
    """Run what lies in the file that is named."""
    print(run(*pickle.loads(Path(sys.argv[1]).read_bytes())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
