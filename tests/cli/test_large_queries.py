# SPDX-License-Identifier: Apache-2.0
"""Query texts that are large, deep or many: answered, or refused with a place; never a fault."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream

SELECTED = "SELECT len FROM PKT"


def rows(text: str, folder: Path) -> list[str]:
    """The rows that a query text gives over the demo's capture, without the header."""
    path = folder / "large.gsql"
    path.write_text(text)
    result = gigastream("run", "-q", path, "-r", DEMO_CAPTURE, "-o", "csv")
    assert result.code == 0, result.err
    return result.lines[1:]


def refusal(text: str, folder: Path, command: str = "check") -> str:
    """What a query text is refused with."""
    path = folder / "large.gsql"
    path.write_text(text)
    words = ["-r", DEMO_CAPTURE] if command == "run" else []
    result = gigastream(command, path, *words)
    assert result.code == 2
    assert "large.gsql:1:" in result.err
    return result.err


def chain(count: int, last: str, visibility: str = "internal") -> str:
    """Queries each of which reads the next; the first alone is an output."""
    return ";".join(
        f"DEFINE {{ query_name q{n}; visibility {visibility if n else 'external'}; }} "
        f"SELECT time, len FROM {f'q{n + 1}' if n < count - 1 else last}"
        for n in range(count)
    )


def joined(sign: str, parts: Iterable[str]) -> str:
    return f" {sign} ".join(parts)


def test_a_case_of_a_thousand_branches(tmp_path: Path) -> None:
    branches = " ".join(f"WHEN len = {n} AND caplen > 1 THEN {n} * 2" for n in range(1000))
    found = rows(f"SELECT len, CASE {branches} ELSE 7 END AS x FROM PKT", tmp_path)
    for row in found:
        length, value = map(int, row.split(","))
        assert value == (2 * length if length < 1000 else 7)


LENGTHS = range(60, 30_060)


@pytest.mark.long
@pytest.mark.parametrize(
    "condition",
    [
        joined("OR", (f"len = {n}" for n in range(60, 3_060))),
        f"NOT ({joined('AND', (f'len <> {n}' for n in range(60, 3_060)))})",
        f"len IN [{', '.join(map(str, LENGTHS))}]",
        f"NOT len NOT IN [{', '.join(map(str, LENGTHS))}]",
    ],
    ids=["or", "and", "in", "not in"],
)
def test_thousands_of_constants(condition: str, tmp_path: Path) -> None:
    wanted = [row for row in rows(SELECTED, tmp_path) if int(row) >= 60]
    assert rows(f"{SELECTED} WHERE {condition}", tmp_path) == wanted


@pytest.mark.parametrize(("sign", "count"), [("OR", 1000), ("AND", 200)])
def test_a_long_chain_of_different_conditions(sign: str, count: int, tmp_path: Path) -> None:
    pairs = joined(sign, (f"(len > {n} OR caplen > {n + 1})" for n in range(count)))
    found = [int(row) for row in rows(f"{SELECTED} WHERE {pairs}", tmp_path)]
    least = 0 if sign == "OR" else count - 1
    assert found == [n for n in map(int, rows(SELECTED, tmp_path)) if n > least]


@pytest.mark.long
@pytest.mark.parametrize(
    "items",
    [
        lambda n: f"IP_VAL'10.20.{n // 250}.{n % 250}'",
        lambda n: f"IP_VAL'10.{n // 250}.{n % 250}.0/24'",
        lambda n: f"IPV6_VAL'2001:db8:{n:x}::/48'",
    ],
    ids=["addresses", "prefixes", "prefixes of IPv6"],
)
def test_thousands_of_addresses(items, tmp_path: Path) -> None:
    text = ", ".join(map(items, range(8_400)))
    every = rows("SELECT packet_id FROM IP", tmp_path)
    found = rows(f"SELECT packet_id FROM IP WHERE srcIP IN [{text}]", tmp_path)
    others = rows(f"SELECT packet_id FROM IP WHERE srcIP NOT IN [{text}]", tmp_path)
    assert found
    assert others
    assert sorted(found + others) == sorted(every)


def test_thousands_of_texts(tmp_path: Path) -> None:
    texts = ", ".join(f"'{n:05}'" for n in range(20_000))
    query = "SELECT packet_id FROM TCP WHERE str_truncate(TCP_data, 3) IN ['GET', "
    wanted = rows("SELECT packet_id FROM TCP WHERE str_match_start[TCP_data, 'GET']", tmp_path)
    assert wanted
    assert rows(f"{query}{texts}]", tmp_path) == wanted


def test_a_chain_of_queries_may_be_long(tmp_path: Path) -> None:
    path = tmp_path / "chain.gsql"
    path.write_text(chain(1_500, "PKT"))
    assert gigastream("check", path).lines == ["q0: time uint, len uint"]
    assert len(rows(chain(200, "PKT"), tmp_path)) == len(rows(SELECTED, tmp_path))


def test_a_cycle_of_a_thousand_queries(tmp_path: Path) -> None:
    errors = refusal(chain(1_000, "q0"), tmp_path)
    assert "queries read each other: q0 -> q1 -> q2" in errors
    assert "-> q999 -> q0\n" in errors
    assert len(errors) < 1_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (joined("OR", (f"len = {n} AND caplen = {n}" for n in range(5_000))), "operations here"),
        ("(" * 3_000 + "len = 1" + ")" * 3_000, "nested more than 50 deep"),
        ("NOT " * 3_000 + "len = 1", "nested more than 50 deep"),
        ("len = " + "- " * 3_000 + "1", "nested more than 50 deep"),
        ("len = " + "abs(" * 3_000 + "1" + ")" * 3_000, "nested more than 50 deep"),
        ("len = " + "CASE WHEN TRUE THEN " * 999 + "1" + " END" * 999, "nested more than 50 deep"),
        ("len = " + "+".join(["1"] * 3_000), "more than 150 operations"),
    ],
    ids=["pairs", "brackets", "not", "minus", "calls", "case", "sum"],
)
@pytest.mark.parametrize("command", ["check", "run"])
def test_what_is_too_large_is_refused_with_a_place(
    text: str, message: str, command: str, tmp_path: Path
) -> None:
    assert message in refusal(f"{SELECTED} WHERE {text}", tmp_path, command)


NINES = "9" * 20


@pytest.mark.parametrize("value", [NINES, "9" * 5_000, "1_000", "١٢", "-1", "1e3"])
@pytest.mark.parametrize(
    "option", ["slots", "max-groups", "burst", "batch-rows", "heartbeat-packets"]
)
def test_numbers_of_options(option: str, value: str) -> None:
    result = gigastream("run", f"--{option}={value}", "-e", SELECTED, "-r", DEMO_CAPTURE)
    assert result.code == 2
    assert f"argument --{option}: " in result.err
    assert len(result.err) < 6_000


@pytest.mark.parametrize("option", ["aggregate_slots", "slow_flush", "max_lfta_disorder"])
def test_numbers_in_define(option: str, tmp_path: Path) -> None:
    query = "SELECT tb, count(*) AS n FROM PKT GROUP BY time/60 AS tb"
    errors = refusal(f"DEFINE {{ {option} {NINES}; }} {query}", tmp_path)
    assert f"{option} is a whole number from " in errors
