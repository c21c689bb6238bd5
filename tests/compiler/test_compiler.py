# SPDX-License-Identifier: Apache-2.0
"""The compiler has limits and another user, and nothing of it is left, whatever ends its caller."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gigastream.codegen import compiler, compiler_run
from gigastream.codegen import compiler_guard as guard
from gigastream.codegen.compiler import CompileError, compile_query_set
from tests.live.namespace import folder_for_all, need
from tests.processes import descendants, is_alive, parts_of, wait_until_gone
from tests.waiting import PATIENCE_S, wait_until

TEXT = "int gs_query_set;\n"
ENDLESS = "sleep 1234 &\nwait"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for what is temporary, and a cache: both of this test alone."""
    with folder_for_all() as own:
        folder = own / "temporary"
        folder.mkdir(mode=0o755)
        monkeypatch.setenv("TMPDIR", str(folder))
        monkeypatch.setenv("XDG_CACHE_HOME", str(own / "cache"))
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        yield folder


def compiler_that(does: str, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = temporary.parent / "odd-cc"
    script.write_text(f"#!/bin/sh\n{does}\n")
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))


def refusal() -> str:
    with pytest.raises(CompileError) as refused:
        compile_query_set(TEXT)
    return str(refused.value)


def test_it_compiles_and_leaves_nothing(temporary: Path) -> None:
    assert compile_query_set(TEXT).is_file()
    assert list(temporary.iterdir()) == []


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A disk of its own at a folder."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "gigastream-test", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield
    finally:
        # Lazily: a process that was killed may still be ending there.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize(
    ("size", "folder", "variable"),
    [("64k", "temporary", "TMPDIR"), ("8k", "cache", "XDG_CACHE_HOME")],
)
def test_a_full_disk_is_told_with_its_folder(
    size: str, folder: str, variable: str, temporary: Path
) -> None:
    full = temporary.parent / folder
    with small_disk(full, size):
        with pytest.raises(CompileError) as refused:
            compile_query_set(TEXT)
        assert str(full) in str(refused.value)
        assert "No space left on device" in str(refused.value)
        assert variable in (refused.value.hint or "")
        assert [path for path in full.rglob("*") if path.is_file()] == []


def test_a_disk_that_is_full_for_the_compiler_is_not_our_code(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler_that(
        "echo 'ld: final link failed: No space left on device'; exit 1", temporary, monkeypatch
    )
    assert refusal() == f"in {temporary} nothing can be compiled: No space left on device"


def started() -> tuple[subprocess.Popen[bytes], list[int]]:
    """A caller whose compiler runs, and the processes that it has started."""
    program = f"from gigastream.codegen.compiler import *; compile_query_set({TEXT!r})"
    caller = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)

    def runs() -> bool:
        return any(parts_of(child)[:1] == ["sleep"] for child in descendants(caller.pid))

    wait_until(runs, "the compiler's child")
    return caller, descendants(caller.pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGHUP])
def test_a_signal_ends_all_of_it(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    compiler_that(ENDLESS, temporary, monkeypatch)
    caller, children = started()
    assert len(children) == 3
    caller.send_signal(number)
    caller.wait(PATIENCE_S)
    wait_until_gone(*children)
    wait_until(lambda: not list(temporary.iterdir()), "the folder to go")


def test_its_time_is_limited(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = temporary.parent / "left"
    left.mkdir()
    left.chmod(0o777)
    compiler_that(f"echo $$ >{left}/pid\n{ENDLESS}", temporary, monkeypatch)
    (left / "pid").touch()
    (left / "pid").chmod(0o666)
    seconds = 1
    while not (left / "pid").read_text().endswith("\n"):  # a busy machine starts it later
        assert seconds < PATIENCE_S
        monkeypatch.setattr(compiler_run, "TIME_LIMIT_SECONDS", seconds)
        assert refusal() == f"the C compiler did not end within {seconds} s"
        seconds *= 3
    assert not is_alive(int((left / "pid").read_text()))
    assert list(temporary.iterdir()) == []


def test_its_work_is_limited(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that others keep busy makes a compiler slow, but not its work more."""
    said = "gcc: fatal error: CPU time limit exceeded signal terminated program cc1"
    compiler_that(f"echo '{said}'; exit 1", temporary, monkeypatch)
    assert refusal() == "the C compiler did not end within 120 s of the processor's time"
    assert compiler_run.TIME_LIMIT_SECONDS > 4 * guard.CPU_SECONDS


def test_what_it_may_use_is_limited(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "ulimit -S -t; ulimit -H -t; ulimit -f; ulimit -v; ulimit -c; exit 1"
    compiler_that(said, temporary, monkeypatch)
    seconds, killed, blocks, kilobytes, core = map(int, refusal().splitlines()[1:])
    assert (seconds, killed, core) == (120, 121, 0)
    assert blocks * 512 <= 256 << 20
    assert kilobytes == 4 << 20


def test_a_result_that_is_too_large_is_an_error(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler_that("exec head -c 300000000 /dev/zero >query_set.so", temporary, monkeypatch)
    assert "the C compiler refused" in refusal()
    assert list(temporary.iterdir()) == []


def test_it_sees_nothing_of_our_environment(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "told")
    compiler_that("env; exit 1", temporary, monkeypatch)
    said = refusal()
    assert "TMPDIR=." in said
    assert "told" not in said


@pytest.mark.parametrize(
    "does",
    [
        "ln -s /etc/passwd query_set.so",
        "mkfifo query_set.so",
        "ln query_set.c query_set.so",
        "true",
    ],
)
def test_only_a_file_of_its_own_is_taken(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, does: str
) -> None:
    compiler_that(does, temporary, monkeypatch)
    assert "the C compiler" in refusal()
    assert list(temporary.iterdir()) == []


@pytest.mark.privileged
def test_root_compiles_as_a_user_who_can_change_nothing_afterwards(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what leaves the group ends with it; the object is root's."""
    need("setsid")
    left = temporary.parent / "left"
    left.mkdir()
    left.chmod(0o777)
    does = f'id -u >{left}/user\nsetsid sh -c "echo \\$\\$ >{left}/pid; sleep 1234" &\n'
    does += f'while [ ! -s {left}/pid ]; do sleep 0.01; done\nexec cc "$@"'
    compiler_that(does, temporary, monkeypatch)
    made = compile_query_set(TEXT)
    assert int((left / "user").read_text()) >= compiler_run.UNUSED_USER
    wait_until_gone(int((left / "pid").read_text()))  # killed by then, and perhaps still ending
    assert (made.stat().st_uid, made.stat().st_mode & 0o777) == (0, 0o600)


@pytest.mark.privileged
def test_a_compiler_that_ends_leaves_another_thread_its_own(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = temporary.parent / "marks"
    marks.mkdir()
    marks.chmod(0o777)
    begun, ended = marks / "begun", marks / "ended"
    compiler_that(
        f"if grep -q gs_other query_set.c; then touch {begun}; wanted={ended}; "
        f'else wanted={begun}; fi\nwhile [ ! -e $wanted ]; do sleep 0.01; done\nexec cc "$@"',
        temporary,
        monkeypatch,
    )
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(compile_query_set, "int gs_other;\n")
        try:
            compile_query_set(TEXT)
        finally:
            ended.touch()
        assert other.result().is_file()


def test_compilers_at_once_have_a_user_each_where_few_are_mapped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(compiler_run, "mapped_ids", lambda _: [range(65536)])
    monkeypatch.setattr(compiler_run, "_can_become", lambda user: user < 65536)
    users = {compiler_run.compiler_user() for _ in range(64)}
    assert len(users) == 64


def test_what_an_editor_leaves_beside_headers_is_none(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lock is a link to nowhere; what it writes first may be gone once it was listed."""
    headers = temporary.parent / "headers"
    headers.mkdir(mode=0o755)
    (headers / "own.h").write_text(TEXT)
    (headers / ".#own.h").symlink_to("somebody@host.1234")
    (headers / "old.h").mkdir()
    text = '#include "own.h"\n'
    made = compile_query_set(text, headers=[headers])
    listed = compiler.headers_in
    monkeypatch.setattr(compiler, "headers_in", lambda of: [*listed(of), of / "gone.h"])
    assert compile_query_set(text, headers=[headers]) == made
    made.unlink()
    assert compile_query_set(text, headers=[headers]) == made


def test_a_header_that_is_saved_meanwhile_is_compiled_and_not_what_it_was(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = temporary.parent / "headers"
    headers.mkdir(mode=0o755)
    header, run, runs = headers / "own.h", compiler_run._run, []
    header.write_text("int gs_old;\n")

    def save_and_run(*words: Any) -> None:
        if not runs:
            header.write_text("int gs_new;\n")
        runs.append(words)
        run(*words)

    monkeypatch.setattr(compiler_run, "_run", save_and_run)
    made = compile_query_set('#include "own.h"\n', headers=[headers]).read_bytes()
    assert (b"gs_new" in made, b"gs_old" in made) == (True, False)
    header.write_text("int gs_old;\n")
    made = compile_query_set('#include "own.h"\n', headers=[headers]).read_bytes()
    assert (b"gs_new" in made, b"gs_old" in made) == (False, True)
    assert len(runs) == 3


def test_an_old_folder_is_removed_and_a_young_one_is_not(temporary: Path) -> None:
    for name, age in (("old", 10**5), ("young", 0)):
        folder = temporary / f"gigastream-compile-{name}"
        folder.mkdir()
        os.utime(folder, (time.time() - age,) * 2)
    compile_query_set(TEXT)
    assert [folder.name for folder in temporary.iterdir()] == ["gigastream-compile-young"]


# ---- user namespaces, as containers without root have them ----

PRINT_USER = "id -u; exit 1"


IN_A_NAMESPACE = f"""
import ctypes, os, sys
sys.path.insert(0, {str(ROOT)!r})
from gigastream.codegen.compiler import *
if ctypes.CDLL(None).unshare(0x10000000) != 0:
    raise SystemExit("no user namespace")
print("ready", flush=True)
if input() == "groups":
    os.setgroups([])
os.setresgid(0, 0, 0)
os.setresuid(0, 0, 0)
compile_query_set({TEXT!r})
"""


def python_for_all() -> str:
    """A Python that another user can run, too."""
    for python in ("/usr/bin/python3", sys.executable):
        others = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", python]
        program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import gigastream.codegen"
        if subprocess.run([*others, "-c", program], capture_output=True, check=False).returncode:
            continue
        return python
    pytest.skip("no Python of 3.11 or later is readable for others")


def said_under(ids: int, does: str, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is said by a root that is user 100000 outside, with so many ids mapped."""
    need("setpriv")
    compiler_that(does, temporary, monkeypatch)
    for folder in (temporary, temporary.parent):
        os.chown(folder, 100000, 100000)
    with subprocess.Popen(
        [python_for_all(), "-c", IN_A_NAMESPACE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as caller:
        assert caller.stdout is not None
        if caller.stdout.readline() != "ready\n":
            pytest.skip("no user namespace")
        if ids == 1:
            Path(f"/proc/{caller.pid}/setgroups").write_text("deny")
        for kind in ("uid", "gid"):
            Path(f"/proc/{caller.pid}/{kind}_map").write_text(f"0 100000 {ids}\n")
        _, said = caller.communicate("groups\n" if ids > 1 else "go\n", timeout=600)
    return said


@pytest.mark.privileged
@pytest.mark.parametrize("ids", [65536, 1])
def test_root_of_a_user_namespace_compiles(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, ids: int
) -> None:
    assert said_under(ids, 'exec cc "$@"', temporary, monkeypatch).count("\n") == (ids == 1)


@pytest.mark.privileged
def test_the_compiler_gets_a_user_that_is_mapped(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = said_under(65536, PRINT_USER, temporary, monkeypatch).splitlines()
    (user,) = (int(line) for line in said if line.isdecimal())
    assert 32768 <= user < 65536


@pytest.mark.privileged
def test_where_only_root_is_mapped_it_is_said(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = said_under(1, PRINT_USER, temporary, monkeypatch)
    assert "the compiler runs as the same user as this process" in said
    assert "\n0\n" in said


# ---- for small captures ----


def test_what_is_run_briefly_is_compiled_quickly_unless_it_is_there(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(compiler.OPTIMIZE)
    monkeypatch.delenv(compiler.SANITIZE, raising=False)
    quick = compile_query_set(TEXT, is_brief=True)
    full = compile_query_set(TEXT)
    assert quick != full
    assert compile_query_set(TEXT, is_brief=True) == full
    full.unlink()
    assert compile_query_set(TEXT, is_brief=True) == quick


def test_the_guard_is_a_fork_of_one_thread_and_a_program_beside_others(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked, made = [], compiler_run._forked

    def fork(guarded: guard.Guarded) -> tuple[int, str]:
        forked.append(guarded)
        return made(guarded)

    monkeypatch.setattr(compiler_run, "_forked", fork)
    for count in (1, 2):
        monkeypatch.setattr(compiler_run.threading, "active_count", lambda count=count: count)
        compile_query_set(f"{TEXT}int gs_of_{count};\n")
    assert len(forked) == 1


def test_who_is_interrupted_waits_for_the_end_of_the_guard_that_was_forked(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    children, made = [], guard.fork

    def fork(guarded: guard.Guarded) -> tuple[int, int, int]:
        children.append(made(guarded))
        return children[-1]

    def interrupted(descriptor: int, mode: str) -> None:
        os.close(descriptor)
        raise KeyboardInterrupt

    monkeypatch.setattr(guard, "fork", fork)
    command = ("/bin/sh", "-c", ENDLESS)
    guarded = guard.Guarded(command, str(temporary), str(temporary), None, os.defpath, 60)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fdopen", interrupted)
        with pytest.raises(KeyboardInterrupt):
            compiler_run._forked(guarded)
    with pytest.raises(ChildProcessError):
        os.waitpid(children[0][0], os.WNOHANG)
