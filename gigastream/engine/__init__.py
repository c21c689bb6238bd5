# SPDX-License-Identifier: Apache-2.0
"""The engine's boundary: thin and checked. Sessions run plans; what is hot is in csrc/."""
