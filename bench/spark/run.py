# SPDX-License-Identifier: Apache-2.0
"""Ask the questions about Spark.

python bench/spark/run.py [QUESTION …] [--rows N] [--runs N]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import heartbeats
import latency
import scale
import start
import state
import stream_join
import text
import throughput
from report import table

QUESTIONS = {
    "throughput": throughput,
    "state": state,
    "text": text,
    "heartbeats": heartbeats,
    "joins": stream_join,
    "latency": latency,
    "scale": scale,
    "start": start,
}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure the high level on Spark.")
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=", ".join(QUESTIONS))
    parser.add_argument("--folder", type=Path, default=Path("/tmp/gigastream-bench/spark"))
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    unknown = set(options.questions) - set(QUESTIONS)
    if unknown:
        parser.error(f"no such question: {', '.join(sorted(unknown))}")
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.questions or QUESTIONS:
        figures = QUESTIONS[name].ask(options.folder, options.rows, options.runs)
        print(table(QUESTIONS[name].TITLE, figures), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
