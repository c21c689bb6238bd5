# SPDX-License-Identifier: Apache-2.0
"""Which information element is which column: IANA's registry of IPFIX, which is NetFlow v9's, too.

Elements of enterprises are their own: none is a column.
"""

from __future__ import annotations

from enum import Enum, auto


class Kind(Enum):
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


ELEMENTS: dict[int, tuple[str, Kind]] = {
    1: ("bytes", Kind.NUMBER),
    85: ("bytes", Kind.NUMBER),
    23: ("bytes", Kind.NUMBER),
    2: ("packets", Kind.NUMBER),
    86: ("packets", Kind.NUMBER),
    24: ("packets", Kind.NUMBER),
    4: ("protocol", Kind.NUMBER),
    5: ("tos", Kind.NUMBER),
    6: ("flags", Kind.NUMBER),
    7: ("srcPort", Kind.NUMBER),
    180: ("srcPort", Kind.NUMBER),
    182: ("srcPort", Kind.NUMBER),
    11: ("destPort", Kind.NUMBER),
    181: ("destPort", Kind.NUMBER),
    183: ("destPort", Kind.NUMBER),
    8: ("srcIP", Kind.ADDRESS),
    27: ("srcIP", Kind.ADDRESS),
    12: ("destIP", Kind.ADDRESS),
    28: ("destIP", Kind.ADDRESS),
    15: ("next_hop", Kind.ADDRESS),
    62: ("next_hop", Kind.ADDRESS),
    18: ("next_hop", Kind.ADDRESS),
    63: ("next_hop", Kind.ADDRESS),
    9: ("src_mask", Kind.NUMBER),
    29: ("src_mask", Kind.NUMBER),
    13: ("dest_mask", Kind.NUMBER),
    30: ("dest_mask", Kind.NUMBER),
    10: ("input_interface", Kind.NUMBER),
    14: ("output_interface", Kind.NUMBER),
    16: ("src_as", Kind.NUMBER),
    17: ("dest_as", Kind.NUMBER),
    31: ("flow_label", Kind.NUMBER),
    32: ("icmp", Kind.ICMP),
    139: ("icmp", Kind.ICMP),
    176: ("icmp_type", Kind.NUMBER),
    178: ("icmp_type", Kind.NUMBER),
    177: ("icmp_code", Kind.NUMBER),
    179: ("icmp_code", Kind.NUMBER),
    34: ("sampling_rate", Kind.NUMBER),
    50: ("sampling_rate", Kind.NUMBER),
    48: ("sampler", Kind.NUMBER),
    302: ("sampler", Kind.NUMBER),
    305: ("sampled_packets", Kind.NUMBER),
    306: ("passed_packets", Kind.NUMBER),
    309: ("sampled_size", Kind.NUMBER),
    310: ("sampled_population", Kind.NUMBER),
    56: ("srcMAC", Kind.NUMBER),
    81: ("srcMAC", Kind.NUMBER),
    57: ("destMAC", Kind.NUMBER),
    80: ("destMAC", Kind.NUMBER),
    58: ("vlan", Kind.NUMBER),
    59: ("vlan", Kind.NUMBER),
    243: ("vlan", Kind.NUMBER),
    60: ("ipversion", Kind.NUMBER),
    61: ("direction", Kind.NUMBER),
    70: ("mpls_label", Kind.MPLS),
    256: ("etherType", Kind.NUMBER),
    22: ("flow_start", Kind.UPTIME_MS),
    21: ("flow_end", Kind.UPTIME_MS),
    150: ("flow_start", Kind.SECONDS),
    151: ("flow_end", Kind.SECONDS),
    152: ("flow_start", Kind.MILLISECONDS),
    153: ("flow_end", Kind.MILLISECONDS),
    154: ("flow_start", Kind.NTP),
    155: ("flow_end", Kind.NTP),
    156: ("flow_start", Kind.NTP),
    157: ("flow_end", Kind.NTP),
    158: ("flow_start", Kind.BEFORE_EXPORT_US),
    159: ("flow_end", Kind.BEFORE_EXPORT_US),
    160: ("begun_ms", Kind.NUMBER),
}
"""Column and kind by element. Columns that no flow record has, as `sampler`, are the decoder's."""
