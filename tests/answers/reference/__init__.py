# SPDX-License-Identifier: Apache-2.0
"""What GSQL means, in plain Python: a query's text and packets to rows.

Written from GSQL §3 to §6 alone and as simple as can be: no bursts, no windows that close, no
levels. It shares nothing with the engine; packets come from tests/oracle.
"""
