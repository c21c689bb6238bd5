# SPDX-License-Identifier: Apache-2.0
"""What is a packet of a protocol: cases/*.txt hold one file a rule of GSQL section 8."""

from pathlib import Path

import pytest

from tests.decode.harness import HERE, Case, decode, read_cases

FILES = sorted((HERE / "cases").glob("*.txt"))


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rule(driver: Path, path: Path) -> None:
    cases = list(read_cases(path))
    results = decode(driver, [case.frame for case in cases])
    wrong = [text for pair in zip(cases, results, strict=True) for text in _differences(*pair)]
    assert not wrong, "\n".join(wrong)


def _differences(case: Case, fields: dict[str, str]) -> list[str]:
    return [
        f"{case.name}: {name} is {fields.get(name, 'no field')}, not {value}"
        for name, value in case.expected.items()
        if fields.get(name) != value
    ]
