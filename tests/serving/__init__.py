# SPDX-License-Identifier: Apache-2.0
"""Spools that are served to other hosts: server processes on the loopback, and those who ask them."""
