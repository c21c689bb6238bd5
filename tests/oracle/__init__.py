# SPDX-License-Identifier: Apache-2.0
"""The answer that a query should have, computed in plain Python from the capture's bytes.

Nothing here knows the engine: see README.md for what it shares with it (nothing) and for each
decision that the contract left open.
"""
