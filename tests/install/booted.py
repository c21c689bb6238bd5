# SPDX-License-Identifier: Apache-2.0
"""A copy of this system in which systemd is process 1, in namespaces of its own.

Nothing of it is seen, or stays, outside: processes, links, cgroups and files end with it.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.captures import DEMO_CAPTURE
from tests.install.copies import COPIED
from tests.waiting import wait_until

_SYSTEMD = Path("/lib/systemd/systemd")
_NEEDED = ("systemctl", "unshare", "nsenter", "setpriv", "dbus-daemon", "dpkg", "ip")
_ENVIRONMENT = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8")
_PATIENCE_S = 180
"""For one command: a start, a stop that answers windows; beside other load."""

_INTO_CGROUP = r"""
set -eu
mkdir "$1"
echo $$ >"$1/cgroup.procs"
shift
exec unshare --pid --fork --kill-child --mount --uts --ipc --cgroup --net "$@"
"""
_BOOTED = (
    COPIED
    + r"""
root=$1/root
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
set -- null:3 zero:5 full:7 random:8 urandom:9
for device; do mknod -m 666 "$root/dev/${device%:*}" c 1 "${device#*:}"; done
mknod -m 666 "$root/dev/tty" c 5 0
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
# No more of the host's services than a journal and a bus.
rm -rf "$root"/etc/systemd/system/*
find "$root"/lib/systemd/system/*.wants -type l ! -name '*journald*' ! -name 'dbus*' -delete
rm -rf "$root/var/log/journal" "$root/etc/fstab"
hostname booted
cd "$root"
pivot_root . .  # units with mounts of their own need a root that is one
umount -l .
exec /usr/bin/env -i container=docker PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=multi-user.target --log-target=journal
"""
)


@dataclass(frozen=True)
class Booted:
    """A system at work; `pid` is its process 1 as it is seen from outside."""

    pid: int

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        """Run a command in it, as its root."""
        entered = ("nsenter", "--target", self.pid, "--all", "--root", "--wd")
        return subprocess.run(
            list(map(str, (*entered, *_ENVIRONMENT, *words))),
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )

    def done(self, *words: object) -> str:
        """Run what must not fail; return what it says."""
        done = self.run(*words)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}{self.journal()}"
        return done.stdout

    def shows(self, unit: str, name: str) -> str:
        """A property of a unit."""
        return self.done("systemctl", "show", "--value", "-p", name, unit).strip()

    def journal(self, *words: str) -> str:
        """Its last lines."""
        return self.run("journalctl", "-o", "cat", "-n", 100, "--no-pager", *words).stdout

    def path(self, path: str) -> Path:
        """A path of it, from outside."""
        return Path(f"/proc/{self.pid}/root{path}")


@contextmanager
def booted(folder: Path, package: Path) -> Iterator[Booted]:
    """Boot it, with the package and the demo's capture in /try. Skips where it cannot be."""
    group = _cgroup()
    words = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", _INTO_CGROUP, "sh", str(group)]
    words += ["sh", "-c", _BOOTED, "sh", str(folder), str(package), str(DEMO_CAPTURE)]
    told = folder.with_name(f"{folder.name}.told")
    with told.open("w") as out:
        outer = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        yield _when_up(outer, told)
    finally:
        outer.send_signal(signal.SIGKILL)  # and with it, its child: process 1
        outer.wait()
        _remove(group)


def _cgroup() -> Path:
    """Where the system's own groups are to be, in the second version's tree."""
    missing = [name for name in _NEEDED if shutil.which(name) is None]
    if missing or not _SYSTEMD.exists():
        pytest.skip(f"no system can be booted here: {', '.join(missing) or _SYSTEMD} is missing")
    found = re.search(r"^\S+ (\S+) cgroup2 \S*\brw\b", Path("/proc/mounts").read_text(), re.M)
    if found is None:
        pytest.skip("no system can be booted here: no tree of cgroup2 that can be written")
    return Path(found[1]) / f"gigastream-{secrets.token_hex(4)}"


def _when_up(outer: subprocess.Popen[bytes], told: Path) -> Booted:
    children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")

    def is_up() -> bool:
        if outer.poll() is not None:
            return True
        words = children.read_text().split()
        return bool(words) and _state(Booted(int(words[0]))) in ("running", "degraded")

    wait_until(is_up, "a system that is up")
    if outer.poll() is not None:
        pytest.skip(f"no system can be booted here: {told.read_text().strip()}")
    return Booted(int(children.read_text()))


def _state(system: Booted) -> str:
    if Path(f"/proc/{system.pid}/comm").read_text().strip() != "systemd":
        return "not yet"
    return system.run("systemctl", "is-system-running").stdout.strip()


def _remove(group: Path) -> None:
    """The group and all below it, as soon as the last process is gone."""

    def is_gone() -> bool:
        folders = [Path(path) for path, _, _ in os.walk(group)]
        for folder in sorted(folders, reverse=True):
            with suppress(OSError):
                folder.rmdir()
        return not group.exists()

    wait_until(is_gone, "an end of what was booted")
