# SPDX-License-Identifier: Apache-2.0
"""make chaos: kills as many as are wanted; exit code 1 unless every row is there once."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from spark_sink.session import make_session
from tests.chaos import chaos
from tests.chaos.programs import ChaosError

BEGUN = time.monotonic()


def main() -> int:
    """Run, say what happens, keep the folder if rows are wrong."""
    arguments = _arguments()
    if shutil.which("openssl") is None:
        _say("openssl makes the server's certificate, and is not there")
        return 1
    folder = Path(tempfile.mkdtemp(prefix="gigastream-chaos-"))
    _say(f"seed {arguments.seed}, in {folder}")
    try:
        scene, report = chaos.run(arguments.kills, arguments.seed, folder, _say)
    except ChaosError as error:
        _say(f"{error}; {folder} is kept")
        return 1
    _say(f"{report.packets} packets, {report.writer_runs} writers, {report.driver_runs} jobs")
    chaos.count(scene, report, make_session("local[2]", log=folder / "count.log"))
    if report.is_exact:
        shutil.rmtree(folder)
    else:
        _say(f"{folder} is kept")
    print(report)
    return 0 if report.is_exact else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=chaos.__doc__)
    parser.add_argument("--kills", type=int, default=5, metavar="N")
    seed = random.SystemRandom().randrange(1 << 32)
    parser.add_argument("--seed", type=int, default=seed, metavar="N")
    return parser.parse_args()


def _say(text: str) -> None:
    print(f"{time.monotonic() - BEGUN:6.1f} s  {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
