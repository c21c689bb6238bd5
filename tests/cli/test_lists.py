# SPDX-License-Identifier: Apache-2.0
"""The commands that list what there is."""

from __future__ import annotations

import pytest
from cli.command import gigastream

LISTS = {
    "fields": (("fields",), ("IPV4", "DataProtocol", "ICMP")),
    "fields of one": (("fields", "tcp"), ("srcPort", "INET", "increasing", "another name of")),
    "functions": (("functions",), ("getlpmid(IP, string HANDLE)", "str_exists_substr[")),
    "one function": (("functions", "UMIN"), ("UMIN(uint, uint)",)),
    "help": (("--help",), ("explain", "functions")),
    "help of run": (("run", "--help"), ("--disorder", "BPF FILTER", "exit codes")),
    "version": (("version",), ("gigastream ",)),
}


@pytest.mark.parametrize("case", LISTS)
def test_a_list_names_what_there_is(case: str) -> None:
    words, expected = LISTS[case]
    result = gigastream(*words)
    assert result.code == 0
    assert result.err == ""
    for text in expected:
        assert text in result.out.decode()
