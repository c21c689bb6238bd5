# SPDX-License-Identifier: Apache-2.0
"""Spools that are served to other hosts: server processes on the loopback, and who asks them."""
