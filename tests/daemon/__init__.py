# SPDX-License-Identifier: Apache-2.0
"""The daemon, part by part, and whole on real links."""
