# SPDX-License-Identifier: Apache-2.0
"""Which information element is which column: IANA's registry of IPFIX, which is NetFlow v9's, too.

Elements of enterprises are their own: none is a column.
"""

from __future__ import annotations

from enum import Enum, auto


class ElementKind(Enum):
    """How the bytes of an element are read."""

    NUMBER = auto()
    ADDRESS = auto()
    ICMP = auto()
    """Type and code in two bytes."""
    MPLS = auto()
    """A label, three bits and the bottom of the stack, in three bytes."""
    UPTIME_MS = auto()
    """Since the exporter began."""
    SECONDS = auto()
    MILLISECONDS = auto()
    NTP = auto()
    """Seconds since 1900, and their fraction, 32 bits each (RFC 7011, section 6.1.9)."""
    BEFORE_EXPORT_US = auto()


ELEMENTS: dict[int, tuple[str, ElementKind]] = {
    1: ("bytes", ElementKind.NUMBER),
    85: ("bytes", ElementKind.NUMBER),
    23: ("bytes", ElementKind.NUMBER),
    2: ("packets", ElementKind.NUMBER),
    86: ("packets", ElementKind.NUMBER),
    24: ("packets", ElementKind.NUMBER),
    4: ("protocol", ElementKind.NUMBER),
    5: ("tos", ElementKind.NUMBER),
    6: ("flags", ElementKind.NUMBER),
    7: ("srcPort", ElementKind.NUMBER),
    180: ("srcPort", ElementKind.NUMBER),
    182: ("srcPort", ElementKind.NUMBER),
    11: ("destPort", ElementKind.NUMBER),
    181: ("destPort", ElementKind.NUMBER),
    183: ("destPort", ElementKind.NUMBER),
    8: ("srcIP", ElementKind.ADDRESS),
    27: ("srcIP", ElementKind.ADDRESS),
    12: ("destIP", ElementKind.ADDRESS),
    28: ("destIP", ElementKind.ADDRESS),
    15: ("next_hop", ElementKind.ADDRESS),
    62: ("next_hop", ElementKind.ADDRESS),
    18: ("next_hop", ElementKind.ADDRESS),
    63: ("next_hop", ElementKind.ADDRESS),
    9: ("src_mask", ElementKind.NUMBER),
    29: ("src_mask", ElementKind.NUMBER),
    13: ("dest_mask", ElementKind.NUMBER),
    30: ("dest_mask", ElementKind.NUMBER),
    10: ("input_interface", ElementKind.NUMBER),
    14: ("output_interface", ElementKind.NUMBER),
    16: ("src_as", ElementKind.NUMBER),
    17: ("dest_as", ElementKind.NUMBER),
    31: ("flow_label", ElementKind.NUMBER),
    32: ("icmp", ElementKind.ICMP),
    139: ("icmp", ElementKind.ICMP),
    176: ("icmp_type", ElementKind.NUMBER),
    178: ("icmp_type", ElementKind.NUMBER),
    177: ("icmp_code", ElementKind.NUMBER),
    179: ("icmp_code", ElementKind.NUMBER),
    34: ("sampling_rate", ElementKind.NUMBER),
    50: ("sampling_rate", ElementKind.NUMBER),
    48: ("sampler", ElementKind.NUMBER),
    302: ("sampler", ElementKind.NUMBER),
    305: ("sampled_packets", ElementKind.NUMBER),
    306: ("passed_packets", ElementKind.NUMBER),
    309: ("sampled_size", ElementKind.NUMBER),
    310: ("sampled_population", ElementKind.NUMBER),
    56: ("srcMAC", ElementKind.NUMBER),
    81: ("srcMAC", ElementKind.NUMBER),
    57: ("destMAC", ElementKind.NUMBER),
    80: ("destMAC", ElementKind.NUMBER),
    58: ("vlan", ElementKind.NUMBER),
    59: ("vlan", ElementKind.NUMBER),
    243: ("vlan", ElementKind.NUMBER),
    60: ("ipversion", ElementKind.NUMBER),
    61: ("direction", ElementKind.NUMBER),
    70: ("mpls_label", ElementKind.MPLS),
    256: ("etherType", ElementKind.NUMBER),
    22: ("flow_start", ElementKind.UPTIME_MS),
    21: ("flow_end", ElementKind.UPTIME_MS),
    150: ("flow_start", ElementKind.SECONDS),
    151: ("flow_end", ElementKind.SECONDS),
    152: ("flow_start", ElementKind.MILLISECONDS),
    153: ("flow_end", ElementKind.MILLISECONDS),
    154: ("flow_start", ElementKind.NTP),
    155: ("flow_end", ElementKind.NTP),
    156: ("flow_start", ElementKind.NTP),
    157: ("flow_end", ElementKind.NTP),
    158: ("flow_start", ElementKind.BEFORE_EXPORT_US),
    159: ("flow_end", ElementKind.BEFORE_EXPORT_US),
    160: ("begun_ms", ElementKind.NUMBER),
}
"""Column and kind by element. Columns that no flow record has, as `sampler`, are the decoder's."""
