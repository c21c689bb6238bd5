# SPDX-License-Identifier: Apache-2.0
"""Nothing of others is opened, changed or given away by a capture that begins as root.

Real links, real root, and what another user may have prepared: links, second names, pipes.
"""

from __future__ import annotations

import json
import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.captures import DEMO_CAPTURE
from tests.cli.command import COMMAND
from tests.live.namespace import (
    PATIENCE_S,
    QUERY_ALL,
    Namespace,
    ends_well,
    folder_for_all,
    need,
    python_as,
    running,
    wait_until,
)
from tests.processes import parts_of, threads_of
from tests.sanitizers import IS_SANITIZED

pytestmark = pytest.mark.privileged
PRECIOUS = "precious"
QUERY = "SELECT time AS tb, len FROM PKT"
OUTPUTS = ["csv", "json", "arrow", "parquet", "table"]
BOB = 12345


@pytest.fixture
def folder() -> Iterator[Path]:
    with folder_for_all() as made:
        yield made


@pytest.fixture
def precious(folder: Path) -> Path:
    """A file of root's that must stay as it is."""
    path = folder / "precious"
    path.write_text(PRECIOUS)
    return path


def bobs(path: Path) -> Path:
    """A folder in which another user can do as he likes."""
    path.mkdir()
    os.chown(path, BOB, BOB)
    return path


def refusal(*words: object) -> str:
    command = [*COMMAND, "run", "-i", "lo", "-e", QUERY, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def is_untouched(path: Path) -> bool:
    found = path.stat()
    return path.read_text() == PRECIOUS and (found.st_uid, found.st_gid) == (0, 0)


@pytest.fixture
def filter_of_calls() -> None:
    """What is waited for: that all rights are given up."""
    if IS_SANITIZED:
        pytest.skip("a sanitized engine is not confined: its reports need what is refused")


# ---- files of rows ----


KINDS = ["link", "second", "bobs", "pipe"]


@pytest.mark.parametrize(
    ("output", "name"),
    [*(("csv", kind) for kind in KINDS), *((output, "link") for output in OUTPUTS[1:])],
)
def test_rows_go_through_nothing_that_another_has_prepared(
    folder: Path, precious: Path, output: str, name: str
) -> None:
    theirs = folder / "theirs"
    theirs.mkdir()
    path = theirs / name
    if name == "link":
        path.symlink_to(precious)
    elif name == "second":
        os.link(precious, path)
    elif name == "pipe":
        os.mkfifo(path)
    else:
        path.write_text(PRECIOUS)
    if name != "second":
        os.chown(path, BOB, BOB, follow_symlinks=False)
    said = refusal("-o", f"{output}:{path}")
    assert str(path) in said
    assert "hint: another path" in said
    assert is_untouched(precious)
    if name == "bobs":
        assert path.read_text() == PRECIOUS


def test_rows_go_through_no_folder_that_another_has_linked(folder: Path) -> None:
    (folder / "etc").mkdir()
    link = bobs(folder / "home") / "out"
    link.symlink_to(folder / "etc")
    os.chown(link, BOB, BOB, follow_symlinks=False)
    assert "is a link of user 12345" in refusal("-o", f"csv:{link}/new/rows.csv")
    assert list((folder / "etc").iterdir()) == []


def test_roots_own_links_lead_where_they_should(space: Namespace, folder: Path) -> None:
    (folder / "log").mkdir()
    (folder / "short").symlink_to("log")
    (folder / "log" / "latest.csv").symlink_to("rows.csv")
    words = ["-i", space.far, "-e", QUERY, "-o", f"csv:{folder}/short/latest.csv"]
    with running(space, *words, folder=folder) as run:
        run.stop()
    assert (folder / "log" / "rows.csv").read_text() == "tb,len\n"


def test_a_file_of_roots_in_a_folder_of_a_user_is_written_again(
    space: Namespace, folder: Path
) -> None:
    """`sudo gigastream run -i eth0 -o csv:rows.csv`, at home, twice."""
    home = bobs(folder / "home")
    words = ["-i", space.far, "-e", QUERY, "-o", f"csv:{home}/rows.csv"]
    for _ in range(2):
        with running(space, *words, folder=folder) as run:
            run.stop()
        assert (home / "rows.csv").read_text() == "tb,len\n"
        (home / "rows.csv").write_text("old rows that were longer\n")


def test_stdout_by_name(space: Namespace, folder: Path) -> None:
    words = ["-i", space.far, "-e", QUERY, "-o", "csv:/dev/stdout"]
    with running(space, *words, folder=folder) as run:
        run.stop()
        assert (folder / "rows").read_text() == "tb,len\n"


# ---- spools ----


def written(space: Namespace, folder: Path, spool: Path, *more: str) -> dict[str, Any]:
    """Capture nothing into a spool; the account."""
    words = ["-i", space.far, "-e", QUERY_ALL, "-o", f"spool:{spool}", *more]
    with running(space, *words, folder=folder) as run:
        return run.stop()


def test_only_what_the_run_has_made_is_given_away(
    space: Namespace, folder: Path, precious: Path
) -> None:
    spool = folder / "new" / "spool"
    written(space, folder, spool)
    nobody = pwd.getpwnam("nobody").pw_uid
    assert {path.stat().st_uid for path in (spool, *spool.rglob("*"))} == {nobody}
    assert (folder / "new").stat().st_uid == 0
    assert is_untouched(precious)


def test_a_folder_of_other_things_is_no_spool(folder: Path, precious: Path) -> None:
    os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    said = refusal("-o", f"spool:{folder}")
    assert "is neither empty nor a spool" in said
    assert is_untouched(precious)


def test_an_existing_folder_stays_its_owners(folder: Path) -> None:
    (folder / "mine").mkdir()
    said = refusal("-o", f"spool:{folder}/mine")
    assert "cannot be written by nobody, whom root becomes" in said
    assert (folder / "mine").stat().st_uid == 0


@pytest.mark.usefixtures("filter_of_calls")
def test_links_in_a_spool_lead_its_next_writer_nowhere(
    space: Namespace, folder: Path, precious: Path
) -> None:
    """Its owner has put them in the place of each file there is; root starts again."""
    spool = folder / "spool"
    written(space, folder, spool)
    files = [path for path in spool.rglob("*") if path.is_file()]
    assert files
    for path in files:
        keep = path.read_bytes()
        path.unlink()
        path.symlink_to(precious)
        os.chown(path, pwd.getpwnam("nobody").pw_uid, -1, follow_symlinks=False)
        command = ["-i", space.far, "-e", QUERY_ALL, "-o", f"spool:{spool}"]
        process = space.start(*COMMAND, "run", "-q", *command, stderr=subprocess.DEVNULL)
        status = Path(f"/proc/{process.pid}/status")
        try:
            wait_until(
                lambda p=process, s=status: p.poll() is not None or has_begun(s),  # type: ignore[misc]
                "the end or the beginning",
            )
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)
        finally:
            process.kill()
        assert is_untouched(precious), path
        if path.is_symlink():
            path.unlink()
            path.write_bytes(keep)
            os.chown(path, pwd.getpwnam("nobody").pw_uid, -1)


def has_begun(status: Path) -> bool:
    """The last step is done: the filter of system calls is there."""
    try:
        return "Seccomp:\t2" in status.read_text()
    except OSError:
        return True


def test_a_spool_that_is_a_link_to_roots_folder(folder: Path) -> None:
    (folder / "roots").mkdir()
    (folder / "link").symlink_to("roots")
    os.chown(folder / "link", BOB, BOB, follow_symlinks=False)
    assert "cannot be written by nobody" in refusal("-o", f"spool:{folder}/link")
    assert (folder / "roots").stat().st_uid == 0
    assert list((folder / "roots").iterdir()) == []


# ---- what is left to the process ----

AS_A_USER = ("setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=+net_raw")
AS_A_USER += ("--ambient-caps=+net_raw",)


@pytest.mark.usefixtures("filter_of_calls")
@pytest.mark.parametrize("output", ["arrow", "parquet", "spool", "json"])
@pytest.mark.parametrize("fanout", [1, 2])
def test_a_user_with_the_capability(
    space: Namespace, folder: Path, output: str, fanout: int
) -> None:
    """As a unit of systemd starts it: not as root, and with outputs whose library makes threads."""
    need("setpriv")
    own = folder / "own"
    own.mkdir()
    os.chown(own, 65534, 65534)
    python = python_as((*AS_A_USER, "env", f"XDG_CACHE_HOME={own}/cache"))
    words = ["-i", space.far, "-e", QUERY_ALL, "--fanout", fanout, "-o", f"{output}:{own}/out"]
    command = [*python, "-P", "-m", "gigastream", "run", "--stats", "json", *words]
    process = space.start(*command, stderr=subprocess.PIPE, cwd=own)
    try:
        status = Path(f"/proc/{process.pid}/status")
        wait_until(lambda: process.poll() is not None or has_begun(status), "the last step")
        assert process.poll() is None, process.communicate()[1]
        for found in threads_of(process.pid):
            assert (int(found["CapEff"], 16), int(found["CapPrm"], 16)) == (0, 0)
        wait_until(lambda: ends_well(process), "signals to be minded")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == 0, said
    assert json.loads(said.splitlines()[-1])["confinement"]["user"] == "nobody"
    assert (own / "out").exists()


@pytest.mark.usefixtures("filter_of_calls")
@pytest.mark.parametrize("words", [[], ["--fanout", "2"]], ids=["one ring", "two rings"])
def test_the_kernel_refuses_what_a_capture_never_needs(
    space: Namespace, folder: Path, words: list[str]
) -> None:
    with running(space, "-i", space.far, "-e", QUERY_ALL, *words, folder=folder) as run:
        wait_until(lambda: has_begun(Path(f"/proc/{run.process.pid}/status")), "the filter")
        for found in threads_of(run.process.pid):
            assert found["Seccomp"] == "2"
        held = run.stop()["confinement"]
    assert held["user"] == "nobody"
    assert held["seccomp"] is True


# What its user may do otherwise; run in a process that is confined as a capture is.
ATTEMPTS = {
    "fork": "fork()",
    "spawn": "subprocess.run(['/bin/true'])",
    "connect": "socket.socket(socket.AF_UNIX).connect(listening)",
    "internet socket": "socket.socket()",
    "write elsewhere": "open(keep + '.new', 'w')",
    "cut elsewhere": "os.truncate(keep, 0)",
    "owner": "os.chown(keep, -1, os.getgid())",
    "remove elsewhere": "os.unlink(keep)",
    "read a process": "call(libc.process_vm_readv, os.getpid(), None, 0, None, 0, 0)",
    "user": "os.setuid(os.getuid())",
    "kernel key": "call(libc.syscall, keyctl, 0, -3, 1, 0, 0)",
    "namespace": "call(libc.unshare, 0x10000000)",
    "limit a process": "resource.prlimit(sleeper.pid, resource.RLIMIT_CORE, (0, 0))",
    "slow a process": "os.setpriority(os.PRIO_PROCESS, sleeper.pid, 19)",
    "set-user-ID": "os.chmod(below, 0o4755)",
    "set-user-ID of a file": "os.fchmod(os.open(below, os.O_RDONLY), 0o4755)",
    "execute": "os.execv('/bin/echo', ['echo', 'done'])",
}
ALLOWED = {
    "write below": "open(below + '/new', 'w').write('x')",
    "move below": "(os.mkdir(below + '/a'), os.rename(below + '/new', below + '/a/moved'))",
    "cut below": "os.truncate(below + '/a/moved', 0)",
    "remove below": "os.unlink(below + '/a/moved')",
    "thread": "(t := threading.Thread(target=int), t.start(), t.join())",
    "read": "open('/proc/self/status').read()",
    "interface names": "socket.if_indextoname(1)",
    "own limit": "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
    "own priority": "os.nice(1)",
    "mode": "os.chmod(below, 0o2755)",
}
PROBE = """
import ctypes, encodings.idna, os, resource, socket, subprocess, sys, threading
import gigastream.cli.summary
from pathlib import Path
from gigastream.engine import privileges
libc = ctypes.CDLL(None, use_errno=True)
keep, below, attempt, confined = sys.argv[1:]
keyctl = {"x86_64": 250, "aarch64": 219}.get(os.uname().machine)
server = socket.socket(socket.AF_UNIX)
listening = os.path.dirname(below) + "/socket"
server.bind(listening)
server.listen()
os.chmod(listening, 0o777)
internet = socket.create_server(("127.0.0.1", 0))
def fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
def call(function, *arguments):
    if function(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")
os.environ["SECRET"] = "told"
if confined == "opener":
    privileges.keep_packet_sockets("nobody")
else:
    privileges.gain_no_privileges("nobody")
    privileges.give_up_privileges("nobody")
assert "SECRET" not in os.environ
sleeper = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
client = socket.socket(socket.AF_UNIX)
client.connect(listening)
if confined != "free":
    held = privileges.confine([Path(below)], confined)
    if not held.seccomp or held.landlock < 3:
        print("not there")
        raise SystemExit
for part in attempt.splitlines():
    try:
        exec(part)
        print("done", flush=True)
    except OSError as error:
        print("refused", error.errno, flush=True)
"""


def attempted(folder: Path, how: str, *attempts: str) -> list[str]:
    keep, below = folder / "keep", folder / "below"
    keep.write_text(PRECIOUS)
    below.mkdir()
    for path in (folder, keep, below):
        os.chown(path, 65534, 65534)
    command = [sys.executable, "-P", "-c", PROBE, keep, below, "\n".join(attempts), how]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    if done.stdout == "not there\n":
        pytest.skip("this kernel has no seccomp or no Landlock")
    return done.stdout.splitlines()


def test_a_capture_that_was_taken_over_cannot(folder: Path) -> None:
    """Each is refused by the filter of calls (EPERM), or by Landlock (EACCES)."""
    if "GCOV_ERROR_FILE" in os.environ:
        pytest.skip("where lines are counted the counts are written anywhere")
    said = attempted(folder, "capture", *ATTEMPTS.values())
    refused = ("refused 1", "refused 13")
    assert {
        name for name, is_so in zip(ATTEMPTS, said, strict=True) if is_so not in refused
    } == set()
    assert (folder / "keep").read_text() == PRECIOUS


def test_its_user_could(folder: Path) -> None:
    """Without the confinement: that the test above can fail. A namespace may be denied anyway."""
    said = dict(zip(ATTEMPTS, attempted(folder, "free", *ATTEMPTS.values()), strict=True))
    said.pop("namespace")
    assert set(said.values()) == {"done"}, said


def test_what_a_capture_does_still_goes(folder: Path) -> None:
    assert attempted(folder, "capture", *ALLOWED.values()) == ["done"] * len(ALLOWED)


def test_a_reader_that_leaves_ends_a_capture_quietly() -> None:
    """What is still to be written goes nowhere, and /dev/null is out of reach by then."""
    words = ("-q", "-i", "lo", "-r", f"other={DEMO_CAPTURE}", "-e", QUERY)
    process = subprocess.Popen(
        [*COMMAND, "run", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    try:
        assert (process.wait(PATIENCE_S), process.stderr.read()) == (0, "")
    finally:
        process.kill()


# ---- user namespaces, as containers without root have them ----


@pytest.mark.parametrize("output", ["spool", "parquet"])
def test_the_root_of_a_user_namespace_without_nobody(folder: Path, output: str) -> None:
    """It cannot become another user; without capabilities it is the ordinary one outside."""
    need("unshare", "ip")
    if subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespace")
    words = ["-i", "lo", "-e", QUERY_ALL, "--stats", "json", "-o", f"{output}:{folder}/out"]
    script = 'ip link set lo up; exec "$@"'
    command = [*COMMAND, "run", *words]
    process = subprocess.Popen(
        ["unshare", "-rn", "sh", "-c", script, "sh", *command], stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until(lambda: ends_well(process) and is_ours(process), "signals to be minded")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == 0, said
    assert json.loads(said.splitlines()[-1])["confinement"]["user"] == "root"
    assert (folder / "out").exists()


def is_ours(process: subprocess.Popen[str]) -> bool:
    """The programs before it are gone, or all is over."""
    return process.poll() is not None or "gigastream" in parts_of(process.pid)
