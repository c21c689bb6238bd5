# SPDX-License-Identifier: Apache-2.0
"""Tests of the tests: the oracle, the models and the strategies hold against second witnesses."""
