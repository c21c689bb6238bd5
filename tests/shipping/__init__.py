# SPDX-License-Identifier: Apache-2.0
"""Spools that are shipped to a shared place, a folder or S3, and who reads them there."""
