# SPDX-License-Identifier: Apache-2.0
"""The version: the package says it, and what was compiled of queries carries it."""

__version__ = "0.1.0"
