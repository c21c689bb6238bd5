# SPDX-License-Identifier: Apache-2.0
"""Settings as people write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import pytest

from gigastream.engine.opening import engine_settings, set_settings
from gigastream.options import OPTIONS
from gigastream.settings import (
    LEAST_MEMORY,
    MAYBE_NONE,
    RANGES,
    Settings,
    SettingsError,
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
    (parse_bytes, "2 TB", 2 * 10**12),
    (parse_bytes, "1TiB", 1 << 40),
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
    "livenesses",
    "filter",
    "use_mmap",
    "hash_key",
    "share_groups",
    "low_level_only",
    "deliver_every_burst",
    "fast_path",
    "output_punctuation",
    "packets_max",
    "jobs",
}
"""The trailing words, --count and --jobs of one run, and what tests and benchmarks set."""


def test_every_option_is_a_setting_and_the_others_are_known() -> None:
    settings = {field.name for field in fields(Settings)}
    assert {option.field for option in OPTIONS} == settings - NO_OPTIONS


WRONG = [
    ("memory_bytes", -1, "from 1,048,576 to 9,223,372,036,854,775,807"),
    ("memory_bytes", 2**64, "from 1,048,576 to"),
    ("memory_bytes", 1.5, "1.5: it must be a whole number"),
    ("memory_bytes", "64MiB", "'64MiB': it must be a whole number"),
    ("memory_bytes", True, "True: it must be a whole number"),
    ("memory_bytes", 10**5000, "too long to be shown: it must be"),
    *((name, value, "a whole number") for name in RANGES for value in (-1, 2**64, 1.5, "1", True)),
    *((name, None, "a whole number") for name in RANGES if name not in MAYBE_NONE),
    ("burst", 257, "from 1 to 256"),
    ("slots", 0, "from 1 to 4,294,967,295"),
    ("speed", 0, "above 0"),
    ("speed", float("nan"), "above 0"),
    ("speed", "2", "above 0"),
    ("speed", True, "above 0"),
    ("flush", "now", "one of slow"),
    ("hash_key", (1, 2, 3), "two whole numbers"),
    ("hash_key", 7, "two whole numbers"),
    ("hash_key", (1, 2**64), "from 0 to"),
]


@pytest.mark.parametrize(("name", "value", "said"), WRONG, ids=range(len(WRONG)))
def test_a_setting_that_cannot_be_is_named_with_its_range(
    name: str, value: object, said: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings(**{name: value})  # type: ignore[arg-type]
    assert str(refused.value).startswith(f"the setting {name} is ")
    assert said in str(refused.value)


def test_every_number_of_the_settings_has_a_range() -> None:
    numbers = {f.name for f in fields(Settings) if str(f.type).split(" | ")[0] == "int"}
    assert numbers == set(RANGES)
    assert {f.name for f in fields(Settings) if f.type == "int | None"} == set(MAYBE_NONE)


@pytest.mark.parametrize("name", RANGES)
def test_the_ends_of_the_ranges_run(name: str) -> None:
    """The engine's C holds them all."""
    for value in RANGES[name]:
        settings = replace(Settings(memory_bytes=LEAST_MEMORY), **{name: value})
        for native in (engine_settings(settings), set_settings(settings)):
            assert not hasattr(native, name) or getattr(native, name) == value
