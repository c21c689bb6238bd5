# SPDX-License-Identifier: Apache-2.0
"""Settings as people write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import pytest

from gigastream.settings import (
    OPTIONS,
    Settings,
    parse_burst,
    parse_bytes,
    parse_count,
    parse_disorder,
    parse_duration,
    parse_speed,
    parse_whole,
)

READ = [
    (parse_bytes, "4096", 4096),
    (parse_bytes, "64 kB", 64_000),
    (parse_bytes, "16MiB", 16 << 20),
    (parse_bytes, "1.5k", 1500),
    (parse_disorder, "all", 0),
    (parse_duration, "1", 10**9),
    (parse_duration, "10ms", 10**7),
    (parse_duration, "0.5 s", 5 * 10**8),
    (parse_duration, "2min", 120 * 10**9),
    (parse_duration, "0", 0),
    (parse_duration, "9223372036854775807ns", 2**63 - 1),
    (parse_count, "7", 7),
    (parse_whole, "0", 0),
    (parse_burst, "256", 256),
    (parse_speed, "0.25", 0.25),
]
REFUSED = [
    (parse_bytes, "-1"),
    (parse_bytes, "1 week"),
    (parse_bytes, "99999999999 GB"),
    (parse_disorder, "0"),
    (parse_duration, "nan"),
    (parse_count, "0"),
    (parse_whole, "-1"),
    (parse_count, "1.5"),
    (parse_burst, "257"),
    (parse_speed, "inf"),
    (parse_speed, "nan"),
    (parse_speed, "-1"),
]


@pytest.mark.parametrize(("parse", "text", "value"), READ)
def test_read(parse: Callable[[str], object], text: str, value: object) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(("parse", "text"), REFUSED)
def test_refused(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)


NO_OPTIONS = {
    "filter",
    "use_mmap",
    "hash_key",
    "low_level_only",
    "deliver_every_burst",
    "output_punctuation",
}
"""The trailing words, and what tests and benchmarks set."""


def test_every_option_is_a_setting_and_the_others_are_known() -> None:
    settings = {field.name for field in fields(Settings)}
    assert {option.field for option in OPTIONS} == settings - NO_OPTIONS
