# SPDX-License-Identifier: Apache-2.0
"""Spools offered to other hosts by Arrow Flight: read, and committed to by readers, no more.

In: spools of this host. Out: answers to what gigastream.spool.protocol says. No path that a client
names reaches the file system: it names what there is, and the path is made here.
"""
