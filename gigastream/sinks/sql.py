# SPDX-License-Identifier: Apache-2.0
"""What the databases of SQL share: how names are written."""

from __future__ import annotations

from collections.abc import Iterable


def quoted(name: str) -> str:
    """Return a name as SQL has it, in its own case."""
    return '"' + name.replace('"', '""') + '"'


def quoted_table(name: str) -> str:
    """Return a table's name, which may be `SCHEMA.TABLE`."""
    return ".".join(quoted(part) for part in name.split("."))


def listed(names: Iterable[str]) -> str:
    """Return names with commas between them."""
    return ", ".join(quoted(name) for name in names)
