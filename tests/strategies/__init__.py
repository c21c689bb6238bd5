# SPDX-License-Identifier: Apache-2.0
"""Captures for hypothesis: packets and files are built byte by byte, by nothing of the project."""
