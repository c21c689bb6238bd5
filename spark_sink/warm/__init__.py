# SPDX-License-Identifier: Apache-2.0
"""A session of Spark's that stays, for `run --on spark --warm`: a process of the same user.

It listens on a socket in a folder that only its user enters. A caller writes its own spool and
sends the spool's folder; rows come back as Arrow IPC. Nothing on the socket is code, or pickled.
"""
