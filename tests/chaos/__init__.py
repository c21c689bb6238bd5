# SPDX-License-Identifier: Apache-2.0
"""kill -9 of everything between packets and Parquet, and every row is there once all the same.

A writer (`gigastream run -o spool:`) is fed packets through pipes, a server (`gigastream serve`)
offers its spool, and a job (`gigastream spark`) takes it from there to Parquet. The writer, the
server, the job and Spark's Python workers are killed at random moments, all but the last started
again. What the manifests list in the end is the truth: the engine's high level here makes the rows
of it that the Parquet files must hold.

    python -m tests.chaos --kills 50 --seed 7
"""
