# SPDX-License-Identifier: Apache-2.0
"""Which examples of hypothesis a run of tests tries: the same ones each time, others if it is slow.

What is about to land is not held up by an example that nobody has looked for; a night's tests look.
"""

from __future__ import annotations

from contextlib import suppress

import hypothesis

PROFILE = "gigastream"


def choose_examples(*, at_random: bool) -> None:
    """How long an example takes, or how many are thrown away before one fits, fails no test.

    It is a matter of luck and of what else the machine does. Else hypothesis would take examples
    from the constants of the modules that are loaded, too: by all tests that its worker ran before.
    """
    hypothesis.settings.register_profile(
        PROFILE,
        deadline=None,
        derandomize=not at_random,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile(PROFILE)
    if not at_random:
        with suppress(ImportError):
            from hypothesis.internal.conjecture import providers

            providers.is_local_module_file = _is_local  # type: ignore[assignment]


def _is_local(_path: str) -> bool:
    return False
