# SPDX-License-Identifier: Apache-2.0
"""The engine, held step by step against the models and packet by packet against the oracle."""
