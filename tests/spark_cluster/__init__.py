# SPDX-License-Identifier: Apache-2.0
"""A cluster of Spark's own, a master and two workers on the loopback, and jobs submitted to it."""
