# SPDX-License-Identifier: Apache-2.0
"""The service as a real systemd runs it: started, asked, reloaded, killed, stopped, removed.

systemd is process 1 of a copy of this system, the package is installed in it, and its link is a
cable of its own network namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.install.booted import Booted, booted
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.privileged]

CONFIG = "/etc/gigastream/gigastream.toml"
ROWS = "/var/lib/gigastream"
UNIT = "gigastream.service"
PACKETS = 2010
"""Of the demo's capture."""
IN_HOURS = "GROUP BY time_bucket('1 h', timestamp) AS hour"
COUNTS = f"SELECT hour, count(*) AS n FROM PKT {IN_HOURS}"
REQUESTS = f"""
SELECT hour, srcIP, count(*) AS n FROM TCP WHERE str_regex_match(TCP_data, '^(GET|POST|HTTP)')
{IN_HOURS}, srcIP
"""
STARTS = 8
NO_CAPABILITY = "0" * 16
CAP_NET_RAW = f"{1 << 13:016x}"


@pytest.fixture(scope="module")
def system(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Booted]:
    """With the package, a cable `near`-`far`, `asker` in the service's group, and `stranger`."""
    with booted(tmp_path_factory.mktemp("system"), package) as made:
        made.done("dpkg", "-i", "--force-depends", "/try/gigastream.deb")
        made.done("ip", "link", "add", "near", "type", "veth", "peer", "far")
        for end in ("near", "far"):
            made.done("sysctl", "-qw", f"net.ipv6.conf.{end}.disable_ipv6=1")
            made.done("ip", "link", "set", end, "arp", "off", "mtu", 9000, "up")
        made.done("useradd", "--create-home", "-G", "gigastream", "asker")
        made.done("useradd", "stranger")
        config = made.path(CONFIG)
        config.write_text(config.read_text().replace('"eth0"', '"near"'))
        yield made


@pytest.fixture
def service(system: Booted) -> Iterator[Booted]:
    """The service, started; its configuration and its limits are afterwards as they were."""
    config = system.path(CONFIG).read_text()
    system.run("systemctl", "reset-failed", UNIT)  # a test's starts are not another's
    system.done("systemctl", "start", UNIT)
    yield system
    if system.path(CONFIG).exists():
        system.path(CONFIG).write_text(config)
    system.run("systemctl", "stop", UNIT)
    system.done("sh", "-c", f"rm -rf {ROWS}/*")


def processes(system: Booted) -> list[int]:
    """The service's, by their numbers in its system; the main one is the first."""
    main = int(system.shows(UNIT, "MainPID"))
    found = system.done("cat", f"/sys/fs/cgroup/system.slice/{UNIT}/cgroup.procs").split()
    return sorted(map(int, found), key=lambda pid: pid != main)


CTL = ("gigastream", "ctl")


def ask(system: Booted, *words: object) -> str:
    """What `gigastream ctl` answers a member of the group."""
    return system.done("setpriv", "--reuid=asker", "--init-groups", "--regid=asker", *CTL, *words)


def add(system: Booted, name: str, text: str, *formats: str) -> None:
    outputs = [word for each in formats for word in ("-o", f"{each}:{ROWS}/{name}.{each}")]
    ask(system, "add", "--name", name, "-e", text, *outputs)


def send(system: Booted) -> None:
    """The demo's packets over the cable, all of them read."""
    before = read(system)
    system.done("tcpreplay", "-q", "-i", "far", "--pps", 2000, "/try/demo.pcap")
    wait_until(lambda: read(system) >= before + PACKETS, "the packets")


def read(system: Booted) -> int:
    """Packets, by what the status says."""
    found = re.search(r"= read ([\d,]+)", ask(system, "status"))
    return int(found[1].replace(",", "")) if found else 0


def capture_process(system: Booted) -> int:
    """Its number in its system."""
    found = re.search(r"capture process (\d+)", ask(system, "status"))
    assert found is not None
    return int(found[1])


def counted(system: Booted, name: str = "counts") -> int:
    """Of a set of COUNTS, in its file."""
    path = system.path(f"{ROWS}/{name}.csv")
    rows = path.read_text().splitlines()[1:] if path.exists() else []
    return sum(int(row.split(",")[1]) for row in rows)


def is_told(system: Booted, pattern: str) -> bool:
    """Whether `systemctl status` says so: the journal has a line a little later."""
    status = system.run("systemctl", "status", "--no-pager", "-l", UNIT).stdout
    return re.search(pattern, status) is not None


def restarted(system: Booted, times: int = 1) -> bool:
    """Whether systemd has begun it again, and it runs."""
    return (
        int(system.shows(UNIT, "NRestarts")) >= times
        and system.shows(UNIT, "ActiveState") == "active"
    )


def test_it_is_ready_when_start_returns(service: Booted) -> None:
    """And says so; its group may ask it, nobody else."""
    assert service.shows(UNIT, "StatusText") == "running: near"
    assert 'Status: "running: near"' in service.done("systemctl", "status", UNIT)
    assert "near (near): received" in ask(service, "status")
    stranger = service.run("setpriv", "--reuid=stranger", "--clear-groups", *CTL, "status")
    assert stranger.returncode == 2
    assert "you may not ask this daemon" in stranger.stderr


def test_queries_are_compiled_and_answered_under_its_limits(service: Booted) -> None:
    """gcc, Parquet, and regular expressions, which make code where they are let."""
    add(service, "counts", COUNTS, "csv", "parquet")
    add(service, "requests", REQUESTS, "parquet")
    send(service)
    service.done("systemctl", "stop", UNIT)
    assert service.shows(UNIT, "Result") == "success"
    assert service.shows(UNIT, "ExecMainStatus") == "0"
    assert counted(service) == PACKETS
    table = pq.read_table(service.path(f"{ROWS}/requests.parquet"))
    assert table.num_rows > 0
    hours = pq.read_table(service.path(f"{ROWS}/counts.parquet")).column("n").to_pylist()
    assert sum(hours) == PACKETS


def test_rows_come_to_a_reader(service: Booted) -> None:
    add(service, "seconds", "SELECT tb, count(*) AS n FROM PKT GROUP BY time AS tb", "csv")
    service.done(
        "systemd-run", "--unit=reader", "-p", "StandardOutput=file:/try/rows", "-p",
        "StandardError=file:/try/told", "-p", "User=asker", *CTL, "tail", "seconds",
    )  # fmt: skip
    rows = service.path("/try/rows")

    def has_come() -> bool:
        send(service)
        return rows.exists() and '"n":' in rows.read_text()

    wait_until(has_come, "rows")
    service.run("systemctl", "stop", "reader")


def test_no_process_has_more_than_it_needs(service: Booted) -> None:
    """No root, no capability, filters; nothing to write but its own folders."""
    user = service.done("id", "-u", "gigastream").strip()
    filters = {}
    for pid in processes(service):
        status = service.done("cat", f"/proc/{pid}/status")
        found = dict(re.findall(r"(?m)^(\w+):\t(.*)$", status))
        assert found["Uid"].split() == [user] * 4
        assert (found["CapPrm"], found["CapEff"]) == (NO_CAPABILITY, NO_CAPABILITY)
        assert (found["CapAmb"], found["CapBnd"]) == (NO_CAPABILITY, CAP_NET_RAW)
        assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")
        filters[pid] = int(found["Seccomp_filters"])
    # The one that reads packets has taken more from itself than systemd has from all.
    assert max(filters, key=lambda pid: filters[pid]) == capture_process(service)
    main = processes(service)[0]
    mounts = service.done("cat", f"/proc/{main}/mounts")
    assert re.search(r"(?m)^\S+ / \S+ ro,", mounts)
    assert re.search(rf"(?m)^\S+ {ROWS} \S+ rw,", mounts)
    assert not service.path(f"/proc/{main}/root/home/asker").exists()


def test_a_reload_changes_what_is_different(service: Booted) -> None:
    config = service.path(CONFIG)
    right = config.read_text()
    more = f'[[query]]\nname = "more"\ntext = """{COUNTS}"""\noutput = ["csv:{ROWS}/more.csv"]\n'
    config.write_text(f"{right}{more}")
    main = processes(service)[0]
    service.done("systemctl", "reload", UNIT)
    wait_until(lambda: "set more, of the configuration" in ask(service, "status"), "the set")
    assert service.shows(UNIT, "StatusText") == "running: near"
    config.write_text(f"{right}{more}colour = 3\n")
    refused = service.run("systemctl", "reload", UNIT)
    assert refused.returncode != 0
    wait_until(lambda: is_told(service, rf"{CONFIG}:\d+: unknown key 'colour'"), "the error")
    assert service.shows(UNIT, "ActiveState") == "active"
    assert processes(service)[0] == main
    assert "set more, of the configuration" in ask(service, "status")
    config.write_text(right + more.replace(f"csv:{ROWS}", "csv:/srv"))
    service.done("systemctl", "reload", UNIT)  # the file is right; what it asks for cannot be done
    told = "running: near; the last reload failed: more: /srv/more.csv"
    wait_until(lambda: service.shows(UNIT, "StatusText").startswith(told), "the failure")


def test_a_capture_process_that_dies_has_a_successor(service: Booted) -> None:
    before = processes(service)
    killed = capture_process(service)
    service.done("kill", "-KILL", killed)
    wait_until(lambda: "restarted 1 time" in ask(service, "status"), "a successor")
    now = processes(service)
    assert now[0] == before[0]
    assert (len(now), killed in now) == (len(before), False)
    assert service.shows(UNIT, "NRestarts") == "0"


def test_open_windows_are_answered_where_the_main_process_is_killed(service: Booted) -> None:
    """The others end in good order, and then only does the next one begin."""
    add(service, "counts", COUNTS, "csv")
    send(service)
    before = processes(service)
    service.done("kill", "-KILL", before[0])
    wait_until(lambda: restarted(service), "another start")
    assert counted(service) == PACKETS
    now = processes(service)
    assert len(now) == len(before)
    assert not set(now) & set(before)


def test_one_that_hangs_is_ended_and_begun_again(system: Booted, service: Booted) -> None:
    limits = system.path(f"/run/systemd/system/{UNIT}.d")
    limits.mkdir(parents=True)
    (limits / "soon.conf").write_text("[Service]\nWatchdogSec=5\n")
    try:
        service.done("systemctl", "daemon-reload")
        service.done("systemctl", "restart", UNIT)
        add(service, "counts", COUNTS, "csv")
        send(service)
        service.done("kill", "-STOP", processes(service)[0])
        wait_until(lambda: restarted(service), "another start")
    finally:
        (limits / "soon.conf").unlink()
        limits.rmdir()
        service.done("systemctl", "daemon-reload")
    assert "Failed with result 'watchdog'" in service.journal("-u", UNIT)
    assert counted(service) == PACKETS


def test_what_is_wrong_is_said_and_not_tried_again(service: Booted) -> None:
    config = service.path(CONFIG)
    config.write_text(f"{config.read_text()}colour = 3\n")
    assert service.run("systemctl", "restart", UNIT).returncode != 0
    assert service.shows(UNIT, "ActiveState") == "failed"
    assert service.shows(UNIT, "NRestarts") == "0"
    wait_until(lambda: is_told(service, rf"{CONFIG}:\d+: unknown key 'colour'"), "the error")


def test_a_link_that_comes_late_is_captured(service: Booted) -> None:
    service.done("systemctl", "stop", UNIT)
    service.done("ip", "link", "set", "near", "down", "name", "away")
    try:
        assert service.run("systemctl", "start", UNIT).returncode != 0
        tried = "near: there is no such network interface"
        wait_until(lambda: tried in service.journal("-u", UNIT), "an attempt")
    finally:
        service.done("ip", "link", "set", "away", "name", "near", "up")
    wait_until(lambda: restarted(service), "the next attempt")


def test_start_after_start(service: Booted) -> None:
    """None hangs: a limit of memory once seemed to make one."""
    for _ in range(STARTS):
        service.run("systemctl", "reset-failed", UNIT)
        service.done("systemctl", "restart", UNIT)
    assert service.shows(UNIT, "NRestarts") == "0"


def test_an_upgrade_goes_on_with_it_and_a_removal_ends_it(service: Booted) -> None:
    service.done("systemctl", "enable", UNIT)
    before = processes(service)
    service.done("dpkg", "-i", "--force-depends", "--force-confold", "/try/gigastream.deb")
    now = processes(service)
    assert len(now) == len(before)
    assert not set(now) & set(before)
    config = service.path(CONFIG)
    right = config.read_text()
    config.write_text(f"{right}colour = 3\n")
    again = service.run("dpkg", "-i", "--force-depends", "--force-confold", "/try/gigastream.deb")
    assert (again.returncode, "does not start again" in again.stderr) == (0, True)
    config.write_text(right)
    service.done("systemctl", "start", UNIT)
    add(service, "counts", COUNTS, "csv")
    send(service)
    service.done("dpkg", "-r", "gigastream")
    assert service.run("pgrep", "-u", "gigastream").stdout == ""
    assert service.run("systemctl", "is-enabled", UNIT).returncode != 0
    assert counted(service) == PACKETS
    service.done("dpkg", "-P", "gigastream")
    folders = ("/etc/gigastream", "/var/cache/gigastream", "/var/log/gigastream", "/run/gigastream")
    assert [name for name in folders if service.path(name).exists()] == []
    assert service.done("systemctl", "--failed", "--no-legend").strip() == ""
