# SPDX-License-Identifier: Apache-2.0
"""The interfaces that an LFTA is bound to."""

from __future__ import annotations

from gigastream.codegen.c_text import Lines, string_literal
from gigastream.gsql.stream_names import is_of_stream
from gigastream.plan.operators.low_node import LowNode


class UnknownInterfacesError(Exception):
    """An interface set is asked for where nothing says which interfaces there are."""

    exit_code = 2
    hint = "-c FILE.toml names a configuration with their properties, [interface.NAME]"

    def __init__(self, interface_set: str) -> None:
        super().__init__(f"which interfaces are in the set {interface_set} is not known")


def bound_interfaces(node: LowNode) -> tuple[str, ...] | None:
    """The interfaces that an LFTA is bound to; None: every one."""
    source = node.source
    if source.interface:
        return (source.interface,)
    if source.interfaces is None and source.interface_set != "default":
        raise UnknownInterfacesError(source.interface_set)
    return source.interfaces


def is_read(node: LowNode, interface: str) -> bool:
    """Whether an LFTA of the node is on this interface. Raises UnknownInterfacesError."""
    bound = bound_interfaces(node)
    return not is_of_stream(interface) if bound is None else interface in bound


def write_interfaces(lines: Lines, prefix: str, node: LowNode) -> str:
    """Their names; return what refers to them."""
    interfaces = bound_interfaces(node)
    if interfaces is None:
        return "NULL"
    names = "".join(f"{string_literal(name.encode())}, " for name in interfaces)
    lines.add(f"static const char *const {prefix}_interfaces[] = {{{names}NULL}};")
    return f"{prefix}_interfaces"
