# SPDX-License-Identifier: Apache-2.0
"""What `make demo` shows as a command is what it runs: the account names the command's own file."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from captures import ROOT
from cli.command import COMMAND


def test_the_demo_runs_the_commands_that_it_shows(tmp_path: Path) -> None:
    program = tmp_path / "gigastream"
    program.write_text(f"""#!/bin/sh
case "$*" in *spark*) echo "on Spark: $*";; *) exec {shlex.join(COMMAND)} "$@";; esac
""")
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [ROOT / "demo" / "run.sh"],
        env={**os.environ, "PATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    shown = [line for line in done.stdout.splitlines() if line.startswith("$ ")]
    questions = [f"demo/{name}.gsql" for name in ("top_talkers", "refused", "vlans", "top_talkers")]
    assert [line.split()[3] for line in shown] == questions
    assert "on Spark: run demo/top_talkers.gsql -r demo/demo.pcap" in done.stdout
    assert done.stderr.count("demo/demo.pcap (default): read 2,010") == 3
