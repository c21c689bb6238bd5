# SPDX-License-Identifier: Apache-2.0
"""Inputs that nobody would send: made by `make fuzz`, kept in corpus/, replayed always."""
