# SPDX-License-Identifier: Apache-2.0
"""Watchlists of a resident capture: read, and read anew, by a process that has given all up."""

from __future__ import annotations

from pathlib import Path

import pytest

from gigastream.daemon.client import RefusedError
from tests.daemon.resident import end, started
from tests.live.namespace import Namespace
from tests.waiting import wait_until

pytestmark = pytest.mark.privileged

LISTED = (
    "DEFINE { query_name listed; } SELECT time, w.label WATCHLIST_JOIN FROM PKT p, names w "
    "WHERE p.interface = w.interface"
)


def test_a_list_is_read_anew_while_links_are_captured(
    space: Namespace, common_folder: Path
) -> None:
    names = common_folder / "names.csv"
    names.write_text(f"{space.near},one\n")
    names.chmod(0o644)
    declared = (
        f"WATCHLIST names {{ string interface (key); string label; }} FROM '{names}' EVERY 1 s;"
    )
    (common_folder / "lists.gsql").write_text(declared)
    config = common_folder / "gigastream.toml"
    config.write_text(
        f"definitions = ['lists.gsql']\n[[link]]\ndevice = '{space.near}'\n"
        f"[[query]]\nname = 'listed'\ntext = '''{LISTED}'''\n"
        f"output = ['csv:{common_folder}/out/listed.csv']\n"
    )
    daemon = started(space, common_folder, "-c", config)

    def reads() -> tuple[int, int]:
        (item,) = daemon.report().sets[0].lists
        return item.reads, item.failures

    try:
        wait_until(lambda: reads() == (1, 0), "the list")
        new = common_folder / "names.new"
        new.write_text(f"{space.near},two\nbroken\n")
        new.chmod(0o644)
        new.rename(names)  # at once: an empty file would be read, too
        wait_until(lambda: reads() == (2, 0), "the list to be read again")
        before = daemon.read()
        daemon.send(50)
        wait_until(lambda: daemon.read() >= before + 50, "the packets")
        names.unlink()
        wait_until(lambda: reads()[1] > 0, "the list to be missed")
        assert "1 line is left out; line 2: it has too few columns" in daemon.told()
        assert "the list names stays as it was" in daemon.told()
        with pytest.raises(RefusedError, match="a file, which only who runs it here may name"):
            daemon.add(
                "bare", "SELECT time WATCHLIST_JOIN FROM PKT p, '/etc/passwd' w WHERE len = x"
            )
        with pytest.raises(RefusedError, match="No such file"):
            daemon.add("other", LISTED.replace("listed", "other"))
        assert daemon.stop() == 0
        assert [row.split(",")[1] for row in daemon.rows("listed")][-50:] == ["two"] * 50
    finally:
        end(daemon)
