# SPDX-License-Identifier: Apache-2.0
"""Which lines of the engine the tests run."""
