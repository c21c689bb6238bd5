# SPDX-License-Identifier: Apache-2.0
"""The resident capture: a supervisor, the process that reads packets, and what they say."""
