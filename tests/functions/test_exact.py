# SPDX-License-Identifier: Apache-2.0
"""csrc/abi/gs_exact.h beside Python's fractions: sums that round once, whatever their order."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.functions.declarations import ROOT
from tests.functions.driver import FLAGS

SOURCE = Path(__file__).with_name("exact.c")
GREATEST = 1.7976931348623157e308
LEAST = 5e-324

floats = st.lists(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([GREATEST, -GREATEST, LEAST, -LEAST, 1.0, 2.0**-53, 1e16, 0.0, -0.0]),
    min_size=1,
    max_size=30,
)
signed = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
unsigned = st.integers(0, 2**64 - 1) | st.integers(2**64 - 9, 2**64 - 1)
near = st.integers(0, 2**62).flatmap(lambda x: st.lists(st.integers(x, x + 1000), min_size=2))


class Adder:
    """exact.c, running."""

    def __init__(self, folder: Path) -> None:
        program = folder / "exact"
        flags = [flag for flag in FLAGS if flag != "-Wpedantic"]
        command = ["cc", *flags, "-I", str(ROOT / "csrc" / "abi"), str(SOURCE), "-o", str(program)]
        subprocess.run([*command, "-lm"], check=True)
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def of(self, kind: str, words: Sequence[str]) -> list[float | None]:
        """The answer to a line."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{kind} {' '.join(words)}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().split()
        return [None if word == "none" else float.fromhex(word) for word in answer]

    def close(self) -> int:
        """The exit code: not 0 if a sanitizer found something."""
        self._process.communicate()
        return self._process.returncode


@pytest.fixture(scope="module")
def adder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adder]:
    found = Adder(tmp_path_factory.mktemp("exact"))
    yield found
    assert found.close() == 0


def nearest(value: Fraction) -> float | None:
    """None for what is not finite."""
    try:
        return float(value)
    except OverflowError:
        return None


def variance(values: Sequence[Fraction]) -> Fraction:
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((value - mean) ** 2 for value in values), Fraction(0)) / (len(values) - 1)


def is_close(found: float | None, wanted: Fraction) -> bool:
    """Equal to the last bit or the one before: a quotient of two rounded numbers."""
    expected = nearest(wanted)
    if found is None or expected is None:
        return found == expected or abs(wanted) > Fraction(GREATEST) * (1 - Fraction(1, 2**50))
    return abs(Fraction(found) - wanted) <= abs(wanted) / 2**51 + Fraction(LEAST)


@given(floats)
@example([GREATEST, GREATEST, -GREATEST])
@example([1.0, 2.0**-53, 2.0**-106])
@example([1e16, 1.0, -1e16])
@example([LEAST, -LEAST, LEAST])
def test_a_sum_of_floats_is_the_nearest_float(adder: Adder, values: list[float]) -> None:
    exact = [Fraction(value) for value in values]
    total, average, found = adder.of("f", [value.hex() for value in values])
    assert total == nearest(sum(exact, Fraction(0)))
    assert is_close(average, sum(exact, Fraction(0)) / len(values))
    if len(values) > 1:
        assert is_close(found, variance(exact))
    shuffled = adder.of("f", [value.hex() for value in sorted(values)])
    assert shuffled == [total, average, found]


@given(
    st.sampled_from("su"),
    st.lists(signed, min_size=2, max_size=40) | near,
    st.lists(unsigned, min_size=2, max_size=40) | near,
    st.sets(st.integers(0, 40)),
)
def test_a_variance_does_not_depend_on_the_slots(
    adder: Adder, kind: str, signs: list[int], sizes: list[int], ends: set[int]
) -> None:
    values = signs if kind == "s" else sizes
    words: list[str] = []
    for at, value in enumerate(values):
        words += [str(value), "|"] if at in ends else [str(value)]
    cut, slots = adder.of(kind, words)
    assert is_close(cut, variance([Fraction(value) for value in values]))
    whole, fewer = adder.of(kind, [str(value) for value in values])
    assert cut == whole
    assert slots is not None
    assert fewer is not None
    assert fewer >= 1


def test_times_of_an_hour_stay_in_one_slot(adder: Adder) -> None:
    start = 1_700_000_000 * 10**9
    values = [start + at * 36 * 10**8 for at in range(1000)]
    found, slots = adder.of("s", list(map(str, values)))
    assert is_close(found, variance([Fraction(value) for value in values]))
    assert slots == 1
