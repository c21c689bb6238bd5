# SPDX-License-Identifier: Apache-2.0
"""The command `gigastream`, also as `python -m gigastream`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line of this process and return its exit code."""
    from gigastream.cli.main import run_command_line

    return run_command_line(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
