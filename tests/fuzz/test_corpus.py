# SPDX-License-Identifier: Apache-2.0
"""What the fuzzers have found, and what led there, once more: under ASan and UBSan, by gcc."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.fuzz.build import (
    CORPUS,
    TARGETS,
    build,
    build_engine,
    build_objects,
    environment,
    replaying,
)
from tests.fuzz.in_process import TARGETS as PYTHON_TARGETS
from tests.fuzz.in_process import load
from tests.fuzz.seeds import seeds

SECONDS = 900


def entries(target: str) -> list[Path]:
    """Return what is kept of a target."""
    return sorted(path for path in (CORPUS / target).glob("*") if path.is_file())


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build_engine(replaying(), tmp_path_factory.mktemp("engine"))


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_what_is_kept_is_harmless_in_c(target: str, engine: list[Path], tmp_path: Path) -> None:
    program = build(target, replaying(), tmp_path, engine)
    objects = build_objects(replaying(), tmp_path) if target == "engine" else []
    inputs = entries(target)
    for number, seed in enumerate(seeds(target)):
        inputs.append(tmp_path / f"seed{number}")
        inputs[-1].write_bytes(seed)
    done = subprocess.run(
        [program, *inputs],
        env=environment(objects),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-8000:]
    assert len(done.stderr.splitlines()) == len(inputs)


@pytest.mark.parametrize("target", PYTHON_TARGETS)
def test_what_is_kept_is_harmless_in_python(target: str) -> None:
    module = load(target)
    inputs = [path.read_bytes() for path in entries(target)]
    assert inputs, "a fuzzer that keeps nothing"
    for data in (*inputs, *list(module.seeds())[:20]):
        module.execute(data)
