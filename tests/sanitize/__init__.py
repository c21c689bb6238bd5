# SPDX-License-Identifier: Apache-2.0
"""The whole engine under ASan, UBSan, LSan and valgrind (README.md)."""
