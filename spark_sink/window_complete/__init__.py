# SPDX-License-Identifier: Apache-2.0
"""Window-complete micro-batches: what closes between two punctuations, by plain batch operators.

A punctuation is an offset. The micro-batch from one to the next reads every row of the windows
that close between them, and answers as a batch: no state store, and no second micro-batch that lets
go what the first one closed. The spool is the state.
"""
