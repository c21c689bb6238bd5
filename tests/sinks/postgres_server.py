# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL of the tests' own: Debian's server over a Unix socket, as an ordinary user."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from tests.waiting import PATIENCE_S

PASSWORD = "open sesame"
USER = "gigastream"
_ORDINARY = ("postgres", "nobody")
_DEBIANS = "/usr/lib/postgresql/*/bin"


def programs() -> Path | None:
    """The folder of the newest server's programs; None: none is installed."""
    found = sorted(Path("/").glob(f"{_DEBIANS[1:]}/initdb"))
    if found:
        return found[-1].parent
    elsewhere = shutil.which("initdb")
    return None if elsewhere is None else Path(elsewhere).resolve().parent


@contextmanager
def server() -> Iterator[str]:
    """Run a server on an empty cluster; gives a URI without the password that it wants."""
    folder = Path(mkdtemp(prefix="gs-pg-"))
    owner = _ordinary_user()
    if owner is not None:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    secret = folder / "secret"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    data = folder / "data"
    try:
        _run(owner, "initdb", "-D", data, "-U", USER, "-A", "scram-sha-256", f"--pwfile={secret}")
        _start(owner, folder)
        try:
            yield f"postgresql://{USER}@/postgres?host={folder}"
        finally:
            _stop(owner, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def down(uri: str) -> Iterator[None]:
    """Such a server is down meanwhile, as by a crash."""
    folder = Path(uri.partition("?host=")[2])
    owner = _ordinary_user()
    _stop(owner, folder)
    try:
        yield
    finally:
        _start(owner, folder)


def _start(owner: pwd.struct_passwd | None, folder: Path) -> None:
    options = f"-c listen_addresses='' -k {folder} -c fsync=off"
    log = folder / "log"
    _run(owner, "pg_ctl", *_waiting(folder), "-l", log, "-o", options, "start")


def _stop(owner: pwd.struct_passwd | None, folder: Path) -> None:
    _run(owner, "pg_ctl", *_waiting(folder), "-m", "immediate", "stop")


def _waiting(folder: Path) -> tuple[str | Path, ...]:
    """Longer than the minute that pg_ctl gives a server: a busy machine is no fault."""
    return "-D", folder / "data", "-w", "-t", str(PATIENCE_S)


def _ordinary_user() -> pwd.struct_passwd | None:
    """Whom root becomes, since the server refuses to be root's."""
    if os.geteuid() != 0:
        return None
    names = {user.pw_name: user for user in pwd.getpwall()}
    return next(names[name] for name in _ORDINARY if name in names)


def _run(owner: pwd.struct_passwd | None, program: str, *words: str | Path) -> None:
    folder = programs()
    assert folder is not None
    identity = {} if owner is None else {"user": owner.pw_uid, "group": owner.pw_gid}
    subprocess.run(
        [folder / program, *words],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        **identity,  # type: ignore[call-overload]
    )
