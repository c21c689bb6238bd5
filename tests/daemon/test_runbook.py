# SPDX-License-Identifier: Apache-2.0
"""Every alert has its paragraph in the runbook, every metric that is explained exists."""

from __future__ import annotations

import re

from captures import ROOT

PAGE = (ROOT / "docs" / "daemon.md").read_text()


def test_every_alert_says_what_to_do() -> None:
    alerts = re.findall(r"- alert: (\w+)", (ROOT / "configs" / "alerts.yml").read_text())
    assert alerts
    assert re.findall(r"^\*\*(Gigastream\w+)\*\*", PAGE, re.MULTILINE) == alerts
