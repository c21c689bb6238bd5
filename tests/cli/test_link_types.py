# SPDX-License-Identifier: Apache-2.0
"""--link-type: what a file's link types are taken for, whatever the file says."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import DEMO_CAPTURE
from cli.command import gigastream

from gigastream.link_types import LINK_TYPES, parse_link_types
from gigastream.settings import Settings, SettingsError

QUERY = "SELECT tb, srcIP, count(*) AS packets FROM IP GROUP BY time/60 AS tb, srcIP"
RUN = ("run", "-e", QUERY, "-o", "csv")


@pytest.fixture
def user_defined(tmp_path: Path) -> Path:
    """The demo as a capture of link type 147."""
    content = bytearray(DEMO_CAPTURE.read_bytes())
    content[20:24] = (147).to_bytes(4, "little")
    path = tmp_path / "own.pcap"
    path.write_bytes(content)
    return path


def test_a_user_defined_type_is_refused_until_it_is_named(user_defined: Path) -> None:
    refused = gigastream(*RUN, "-r", user_defined)
    assert refused.code == 2
    assert "its link type 147 (USER0) is not supported" in refused.err
    named = gigastream(*RUN, "-r", user_defined, "--link-type", "147=ETHERNET")
    assert named.code == 0
    known = gigastream(*RUN, "-r", DEMO_CAPTURE)
    assert sorted(named.out.splitlines()) == sorted(known.out.splitlines())


def test_it_holds_of_what_is_scanned_and_of_the_filter(user_defined: Path) -> None:
    """Two files are looked at before they are read, and a filter goes by what is meant."""
    words = ("--link-type", "1=EN10MB,147=ethernet", "tcp", "port", "443")
    both = gigastream(*RUN, "-r", user_defined, "-r", DEMO_CAPTURE, *words)
    twice = gigastream(*RUN, "-r", DEMO_CAPTURE, "-r", DEMO_CAPTURE, *words[2:])
    assert both.code == 0
    assert sorted(both.out.splitlines()) == sorted(twice.out.splitlines())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("147", "is none of"),
        ("x=RAW", "is not as 147=ETHERNET"),
        ("70000=RAW", "is not as 147=ETHERNET"),
        ("147=USB_LINUX", "'USB_LINUX' is none of"),
        (",".join(f"{n}=RAW" for n in range(147, 164)), "more than 16"),
    ],
)
def test_what_is_wrong_is_said(text: str, problem: str) -> None:
    result = gigastream(*RUN, "-r", DEMO_CAPTURE, "--link-type", text)
    assert result.code == 2
    assert problem in result.err


def test_settings_are_checked() -> None:
    assert Settings(link_types=parse_link_types("147=RAW, 148=PPP")).link_types
    for wrong in (((147, 1, 2),), ((147, 5),), ((-1, 1),), [(147, 1)], (147,)):
        with pytest.raises(SettingsError, match="link_types"):
            Settings(link_types=wrong)  # type: ignore[arg-type]


def test_the_names_are_those_that_are_decoded() -> None:
    registry = (DEMO_CAPTURE.parents[1] / "csrc/capture/linktype.c").read_text()
    for name, number in LINK_TYPES.items():
        known = "EN10MB" if name == "ETHERNET" else name
        lines = [line for line in registry.splitlines() if line.startswith(f"    {{{number}, ")]
        assert [f'"{known}"' in line and "UNSUPPORTED" not in line for line in lines] == [True]
