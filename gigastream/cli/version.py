# SPDX-License-Identifier: Apache-2.0
"""gigastream version."""

from __future__ import annotations

import argparse

from gigastream.version import __version__


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It takes none."""


def execute(_arguments: argparse.Namespace) -> int:
    """Print the version."""
    print(f"gigastream {__version__}")
    return 0
