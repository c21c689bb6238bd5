# SPDX-License-Identifier: Apache-2.0
"""configs/packet.gsql and csrc/abi/gs_fields_*.h speak of the same accessors, in the same types."""

from __future__ import annotations

import re

import pytest

from gigastream.gsql.catalog.build import load_catalog
from gigastream.gsql.catalog.catalog import Field
from tests.decode.harness import ROOT

HEADERS = (
    *(f"gs_fields_{layer}.h" for layer in ("link", "network", "transport")),
    "gs_community_id.h",
)
C_TYPES = {
    "bool": "uint8_t",
    "ushort": "uint16_t",
    "uint": "uint32_t",
    "llong": "int64_t",
    "ullong": "uint64_t",
    "string": "struct gs_string",
    "ip": "uint32_t",
    "ipv6": "struct gs_inet",
    "inet": "struct gs_inet",
    "timestamp": "int64_t",
}
FIELDS = [
    field
    for protocol in load_catalog().protocols.values()
    if protocol.is_builtin
    for field in protocol.fields.values()
]


def _accessors() -> dict[str, str]:
    """The C type of what each accessor gives."""
    text = "".join((ROOT / "csrc/abi" / name).read_text() for name in HEADERS)
    pattern = r"bool gs_field_(\w+)\([^)]*?((?:struct )?\w+) \*\w+\)\n\{"
    return dict(re.findall(pattern, text))


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: f"{field.protocol}-{field.name}")
def test_accessor(field: Field) -> None:
    assert _accessors()[field.accessor] == C_TYPES[field.type.name.lower()]
