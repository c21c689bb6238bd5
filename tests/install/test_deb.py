# SPDX-License-Identifier: Apache-2.0
"""make deb: the package is built, installed into a copy of this system, run, and removed.

The copy is an overlay in a namespace of its own: nothing of it is seen, or stays, outside.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.captures import DEMO_CAPTURE
from tests.install.copies import COPIED

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="no Debian"),
]

IN_A_COPY = (
    COPIED
    + r"""
mount --bind /dev "$1/root/dev"
printf '%s' "$4" >"$1/root/try/try.sh"
exec chroot "$1/root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin sh /try/try.sh
"""
)
INSTALLED = r"""
set -eu
cd /try
dpkg -i --force-depends gigastream.deb >&2
gigastream version
stat -c '%U %a' /var/lib/gigastream /var/cache/gigastream
su -s /bin/sh gigastream -c 'HOME=/var/lib/gigastream XDG_CACHE_HOME=/var/cache \
    gigastream run talkers -r demo.pcap -o csv --quiet | wc -l'
su -s /bin/sh gigastream -c 'HOME=/var/lib/gigastream XDG_CACHE_HOME=/var/cache \
    gigastream run talkers -r demo.pcap -o spool:/var/lib/gigastream/spool --quiet'
gigastream spool verify /var/lib/gigastream/spool >/dev/null
/opt/gigastream/bin/python -c 'import prometheus_client, rich, starlette, uvicorn' && echo extras
stat -c '%U %a' /etc/gigastream/gigastream.toml
echo '# mine' >>/etc/gigastream/gigastream.toml
dpkg -i --force-depends --force-confold gigastream.deb >&2
tail -n 1 /etc/gigastream/gigastream.toml
dpkg -r gigastream >&2
ls -d /opt/gigastream /etc/gigastream 2>/dev/null || true
dpkg -P gigastream >&2
ls -d /etc/gigastream /var/cache/gigastream /var/lib/gigastream 2>/dev/null || true
"""


def test_it_holds_what_a_service_needs(package: Path) -> None:
    words = ["dpkg-deb", "--contents", str(package)]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    owners = {line.split()[1] for line in listed.splitlines()}
    names = {line.split()[5].removeprefix(".") for line in listed.splitlines()}
    assert owners == {"root/root"}
    assert names >= {
        "/etc/gigastream/gigastream.toml",
        "/lib/systemd/system/gigastream.service",
        "/opt/gigastream/bin/gigastream",
        "/usr/bin/gigastream",
    }
    asked = ["dpkg-deb", "--info", str(package), "conffiles"]
    conffiles = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert conffiles == "/etc/gigastream/gigastream.toml\n"


def test_nothing_in_it_names_the_folder_of_its_build(package: Path, tmp_path: Path) -> None:
    subprocess.run(["dpkg-deb", "-x", str(package), str(tmp_path)], check=True)
    programs = tmp_path / "opt" / "gigastream" / "bin"
    first = (programs / "gigastream").read_text().splitlines()[0]
    assert first == "#!/opt/gigastream/bin/python"
    settings = (programs.parent / "pyvenv.cfg").read_text()
    assert "home = /usr/bin" in settings
    assert "/tmp/" not in settings


@pytest.mark.privileged
def test_it_is_installed_runs_and_goes(package: Path, tmp_path: Path) -> None:
    words = ["unshare", "--mount", "sh", "-c", IN_A_COPY, "sh"]
    words += [str(tmp_path), str(package), str(DEMO_CAPTURE), INSTALLED]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    version, state, cache, rows, extras, owner, config, *left = done.stdout.splitlines()
    assert version.startswith("gigastream ")
    assert (state, cache) == ("gigastream 750", "gigastream 700")
    assert int(rows) == 41
    assert (extras, owner, config) == ("extras", "root 644", "# mine")
    # Configuration stays until it is purged, spools for good.
    assert left == ["/etc/gigastream", "/var/lib/gigastream"]
