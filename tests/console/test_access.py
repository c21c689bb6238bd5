# SPDX-License-Identifier: Apache-2.0
"""Who may see the console."""

from __future__ import annotations

import pytest

from gigastream.console.access import ConsoleAccess
from gigastream.console.errors import ConsoleError


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_the_loopback_needs_no_certificate(host: str) -> None:
    assert ConsoleAccess(host, 8642).is_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com", ""])
def test_other_addresses_do(host: str) -> None:
    with pytest.raises(ConsoleError, match="is not the loopback"):
        ConsoleAccess(host, 8642)
    assert not ConsoleAccess(host, 8642, "cert.pem", "key.pem").is_loopback


def test_a_certificate_goes_with_a_key() -> None:
    with pytest.raises(ConsoleError, match="needs its key"):
        ConsoleAccess("127.0.0.1", 8642, "cert.pem")


def test_tokens_are_not_guessed() -> None:
    access = ConsoleAccess("127.0.0.1", 8642)
    other = ConsoleAccess("127.0.0.1", 8642)
    assert access.token != other.token
    assert len(access.token) >= 32
    assert access.knows(f"Bearer {access.token}")
    assert not access.knows(access.token)
    assert not access.knows(None)
    for shown in ("", access.token[:-1], other.token, "ä"):
        assert not access.knows(f"Bearer {shown}")


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [
        ("127.0.0.1:8642", True),
        ("localhost:8642", True),
        ("[::1]:8642", True),
        ("localhost", True),
        ("probe.example", True),
        ("evil.example:8642", False),
        ("127.0.0.1.evil.example:8642", False),
        ("127.0.0.1:8642:8642", False),
        ("", False),
        (None, False),
    ],
)
def test_a_name_bound_to_the_loopback_is_not_ours(host: str | None, is_ours: bool) -> None:
    access = ConsoleAccess("127.0.0.1", 8642, names=("probe.example",))
    assert access.is_ours(host) is is_ours


def test_pages_of_others_change_nothing() -> None:
    access = ConsoleAccess("127.0.0.1", 8642)
    assert access.is_own_origin(None, "127.0.0.1:8642")
    assert access.is_own_origin("http://127.0.0.1:8642", "127.0.0.1:8642")
    for origin in (
        *("http://evil.example", "null", "http://evil.example:8642", "file://", "http://[::1", ""),
        *("http://127.0.0.1", "http://127.0.0.1:80", "http://localhost:8642"),
        "https://127.0.0.1:8642",
    ):
        assert not access.is_own_origin(origin, "127.0.0.1:8642")


def test_a_page_with_tls_is_of_its_scheme() -> None:
    access = ConsoleAccess("0.0.0.0", 443, "cert.pem", "key.pem", names=("probe.example",))
    assert access.is_own_origin("https://probe.example", "probe.example")
    assert not access.is_own_origin("http://probe.example", "probe.example")
