# SPDX-License-Identifier: Apache-2.0
"""A spool of this host, brought to a place that readers on other hosts reach.

In: a spool, finished or growing (`gigastream.spool`). Out: its segments, each once, and numbered
objects that tell of all else, each behind the segments that it lists. `gigastream.spool.README.md`
shows what is at the destination. Imports `gigastream.spool`.
"""
