# SPDX-License-Identifier: Apache-2.0
"""Query files as test cases.

Lines at the top of a file say how it is checked: `-- interfaces eth0 lo` gives the interfaces that
there are, `-- property eth0 site=Ulm` one of theirs, `-- parameter w=5` a --param,
`-- definitions levels.gsql` a file of definitions/, `-- library` says that library/ is the library,
`-- closed` that FROM may name no list's file.
"""

from __future__ import annotations

from pathlib import Path

from gigastream.gsql.binder.binder import check
from gigastream.gsql.catalog.build import load_catalog
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.gsql.queries import CheckedQuery

HERE = Path(__file__).parent


def check_file(path: Path, sink: DiagnosticSink) -> list[CheckedQuery]:
    """Check a query file as its first lines say; raises GsqlError with what is wrong."""
    text = path.read_text()
    words = [line.split()[1:] for line in text.splitlines() if line.startswith("-- ")]
    interfaces = [name for key, *rest in words if key == "interfaces" for name in rest]
    given = [item for key, *rest in words if key == "parameter" for item in rest]
    files = [name for key, *rest in words if key == "definitions" for name in rest]
    properties: dict[str, dict[str, str]] = {name: {} for name in interfaces}
    for key, *rest in words:
        if key == "property":
            name, value = rest[1].split("=", 1)
            properties[rest[0]][name] = value
    return check(
        [(text, path.name)],
        catalog=load_catalog([HERE / "definitions" / name for name in files]),
        parameters=dict(item.split("=", 1) for item in given),
        interfaces=properties or None,
        library=HERE / "library" if ["library"] in words else None,
        opens_lists=["closed"] not in words,
        sink=sink,
    )
