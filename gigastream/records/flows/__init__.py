# SPDX-License-Identifier: Apache-2.0
"""Flow records of exporters, NetFlow v5 and v9, IPFIX and sFlow v5: datagrams to columns.

Datagrams are hostile input. What is remembered of exporters, templates and sampling rates has a
greatest size, the least recently used goes; what cannot be read is counted by its cause.
"""
