# SPDX-License-Identifier: Apache-2.0
"""What is loaded as code lies where only we, and root, can have put it; else a sentence says so."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gigastream import ownership, paths
from gigastream.codegen.compiler import CompileError, compile_query_set

TEXT = "int gs_query_set;\n"
SOMEBODY = 12345


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gigastream"


def open_to_others(cache: Path, _object: Path) -> None:
    cache.chmod(0o777)


def open_above(cache: Path, _object: Path) -> None:
    cache.parent.chmod(0o777)


def link(cache: Path, _object: Path) -> None:
    cache.rename(cache.with_name("elsewhere"))
    cache.symlink_to("elsewhere")


def open_object(_cache: Path, made: Path) -> None:
    made.chmod(0o602)


def linked_object(cache: Path, made: Path) -> None:
    made.rename(cache / "other.so")
    made.symlink_to("other.so")


def dangling_object(_cache: Path, made: Path) -> None:
    made.unlink()
    made.symlink_to("nowhere")


def pipe(_cache: Path, made: Path) -> None:
    made.unlink()
    os.mkfifo(made)


def anothers_object(_cache: Path, made: Path) -> None:
    os.chown(made, SOMEBODY, SOMEBODY)


def anothers_folder(cache: Path, _object: Path) -> None:
    os.chown(cache, SOMEBODY, SOMEBODY)


def anothers_parent(cache: Path, _object: Path) -> None:
    os.chown(cache.parent, SOMEBODY, SOMEBODY)


def anothers_group(cache: Path, _object: Path) -> None:
    os.chown(cache, -1, SOMEBODY)
    cache.chmod(0o770)


Change = Callable[[Path, Path], None]
ROOT_ONLY = [
    (anothers_object, f".so belongs to user {SOMEBODY}"),
    (anothers_folder, f"gigastream belongs to user {SOMEBODY}"),
    (anothers_parent, f"cache belongs to user {SOMEBODY}, who can replace what is below"),
    (anothers_group, "can be written by others"),
]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (open_to_others, "gigastream can be written by others"),
        (open_above, "others can write"),
        (link, "gigastream is a link"),
        (open_object, ".so can be written by others"),
        (linked_object, ".so is no regular file"),
        (dangling_object, ".so is no regular file"),
        (pipe, ".so is no regular file"),
        *(pytest.param(*case, marks=pytest.mark.privileged) for case in ROOT_ONLY),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_others_could_have_put_there_is_not_loaded(
    cache: Path, change: Change, named: str
) -> None:
    made = compile_query_set(TEXT)
    assert made.parent == cache
    change(cache, made)
    with pytest.raises(CompileError, match="is not loaded") as refused:
        compile_query_set(TEXT)
    assert named in str(refused.value)
    assert refused.value.hint


def test_what_has_a_second_name_is_made_anew(tmp_path: Path, cache: Path) -> None:
    """As `perf record` and backups give to what they keep: whoever has it could change it."""
    made = compile_query_set(TEXT)
    os.link(made, tmp_path / "second")
    kept = made.stat().st_ino
    assert compile_query_set(TEXT) == made
    assert (made.stat().st_nlink, made.stat().st_ino == kept) == (1, False)
    assert (tmp_path / "second").stat().st_ino == kept


def test_a_sticky_folder_above_is_no_fault(tmp_path: Path, cache: Path) -> None:
    """As /tmp is: others write there, too, but cannot take away what is ours."""
    tmp_path.chmod(0o1777)
    assert compile_query_set(TEXT) == compile_query_set(TEXT)


def test_where_no_cache_can_be_made_it_is_in_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "tmp"))
    folder = paths.cache_directory()
    assert folder == tmp_path / "tmp" / f"gigastream-{os.geteuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(ownership.UntrustedError, match="is a link"):
        paths.cache_directory()


@pytest.mark.privileged
def test_root_has_its_own_home_whatever_sudo_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(tmp_path, SOMEBODY, SOMEBODY)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ownership.home() == Path("/root")
