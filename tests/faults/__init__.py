# SPDX-License-Identifier: Apache-2.0
"""Calls of the system that fail: each once, in every output and in a spool."""
