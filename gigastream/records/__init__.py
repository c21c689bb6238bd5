# SPDX-License-Identifier: Apache-2.0
"""Records that arrive from outside, for the STREAMs that queries read (GSQL section 2).

A place (a file, a folder being filled, a TCP port, memory) gives bytes or rows; a format makes rows
of bytes; each row becomes a frame, which the engine reads from a pipe like a packet. So a record
has a time, a promise and counters as a packet has, and what reads packets reads it.
"""
