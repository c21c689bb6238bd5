# SPDX-License-Identifier: Apache-2.0
"""The day whose turn it is of tests that take turns."""

from __future__ import annotations

import os
from datetime import date

_NAME = "GIGASTREAM_TEST_DAY"
"""What may name it, to do again what a run of another day did."""


def day_of_run() -> int:
    """A number that is one more each day.

    All workers of a run have the same, and collect the same tests, however near midnight it began.
    """
    return int(os.environ.setdefault(_NAME, str(date.today().toordinal())))
