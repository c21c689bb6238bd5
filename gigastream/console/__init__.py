# SPDX-License-Identifier: Apache-2.0
"""The console: a page in the browser about one daemon, which it asks over the control socket."""
