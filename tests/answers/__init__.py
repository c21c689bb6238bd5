# SPDX-License-Identifier: Apache-2.0
"""Whole answers: from a query's text and a capture's bytes to rows, held against the reference."""
