# SPDX-License-Identifier: Apache-2.0
"""Settings of links: the same names on the command line, in a file, for all links and for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gigastream.cli.arguments import CommandParser
from gigastream.cli.errors import UsageError
from gigastream.cli.links import settings_of_link
from gigastream.cli.run import add_arguments
from gigastream.config import load_config
from gigastream.sources.live import LIVE_OPTIONS, LiveSettings, LiveSource, parse_live

ROOT = Path(__file__).resolve().parents[2]
FILE = """
max-skew = "3s"
ring = "8MiB"
[interface.eth0]
max-skew = "5s"
outgoing = false
role = "core"
"""


def settings(folder: Path, interface: str, *words: str, text: str = FILE) -> LiveSettings:
    path = folder / "links.toml"
    path.write_text(text)
    parser = CommandParser(prog="run")
    add_arguments(parser)
    return settings_of_link(interface, parser.parse_args(list(words)), load_config(str(path)))


def test_the_nearest_goes_first(tmp_path: Path) -> None:
    for_all = settings(tmp_path, "eth1")
    assert (for_all.max_skew_ns, for_all.ring_bytes, for_all.outgoing) == (3 * 10**9, 8 << 20, True)
    for_one = settings(tmp_path, "eth0")
    assert (for_one.max_skew_ns, for_one.ring_bytes, for_one.outgoing) == (
        5 * 10**9,
        8 << 20,
        False,
    )
    told = settings(tmp_path, "eth0", "--max-skew", "7s", "--outgoing", "on")
    assert (told.max_skew_ns, told.ring_bytes, told.outgoing) == (7 * 10**9, 8 << 20, True)


def test_a_setting_of_one_link_that_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"interface\.eth0: ring: 'much' is not a size"):
        settings(tmp_path, "eth0", text='[interface.eth0]\nring = "much"')


def test_every_option_is_on_the_page() -> None:
    page = (ROOT / "docs" / "live.md").read_text()
    for option in LIVE_OPTIONS:
        assert f"| `--{option.name} {option.metavar}`".replace("|off", "\\|off") in page
        assert hasattr(LiveSettings(), option.field)


@pytest.mark.parametrize(
    ("text", "meant"),
    [("eth0", ("eth0", "eth0")), ("up=eth0", ("up", "eth0")), ("eth0.5", ("eth0.5", "eth0.5"))],
)
def test_a_link_by_name(text: str, meant: tuple[str, str]) -> None:
    assert parse_live(text) == meant
    assert LiveSource(*meant).label == meant[1]
