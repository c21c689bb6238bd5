# SPDX-License-Identifier: Apache-2.0
"""Patterns at random: the engine's matcher and Spark's find what their definition says.

The definition is a tree's: at which places it can end that begins at one. It shares nothing with
automata, and takes the time it takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gigastream.gsql.regular_expressions import Matcher, PatternError, compiled
from tests.functions.driver import Driver, HandleError

Ends = Callable[[bytes, int], set[int]]


@dataclass(frozen=True)
class Tree:
    """A pattern, and where it can end in a text that begins at a place."""

    pattern: bytes
    ends: Ends


def _byte(pattern: bytes, members: bytes) -> Tree:
    def ends(text: bytes, at: int) -> set[int]:
        return {at + 1} if at < len(text) and text[at] in members else set()

    return Tree(pattern, ends)


ALL = bytes(range(256))
LEAVES = [
    *(_byte(bytes([letter]), bytes([letter])) for letter in b"abc"),
    _byte(b".", ALL),
    _byte(b"[ab]", b"ab"),
    _byte(b"[^a]", bytes(set(ALL) - set(b"a"))),
    _byte(rb"\n", b"\n"),
    _byte(rb"[\x00-\x0f]", ALL[:16]),
    _byte(rb"\w", b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"),
    Tree(b"^", lambda text, at: {at} if at == 0 else set()),
    Tree(b"$", lambda text, at: {at} if at == len(text) else set()),
]


def _joined(parts: list[Tree]) -> Tree:
    def ends(text: bytes, at: int) -> set[int]:
        places = {at}
        for part in parts:
            places = {end for place in places for end in part.ends(text, place)}
        return places

    return Tree(b"".join(b"(" + part.pattern + b")" for part in parts), ends)


def _chosen(parts: list[Tree]) -> Tree:
    pattern = b"|".join(part.pattern for part in parts)
    return Tree(
        b"(" + pattern + b")",
        lambda text, at: {end for part in parts for end in part.ends(text, at)},
    )


def _repeated(part: Tree, bounds: tuple[bytes, int, int | None]) -> Tree:
    sign, least, most = bounds

    def ends(text: bytes, at: int) -> set[int]:
        places, found = {at}, {at} if least == 0 else set()
        for times in range(1, (len(text) + least + 1 if most is None else most) + 1):
            places = {end for place in places for end in part.ends(text, place)}
            found |= places if times >= least else set()
        return found

    return Tree(b"(" + part.pattern + b")" + sign, ends)


REPEATS = [(b"*", 0, None), (b"+", 1, None), (b"?", 0, 1), (b"{2}", 2, 2), (b"{1,3}", 1, 3),
           (b"{2,}", 2, None), (b"{,2}", 0, 2)]  # fmt: skip
trees = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.lists(inner, min_size=0, max_size=4).map(_joined),
        st.lists(inner, min_size=2, max_size=3).map(_chosen),
        st.tuples(inner, st.sampled_from(REPEATS)).map(lambda pair: _repeated(*pair)),
    ),
    max_leaves=6,
)
texts = st.lists(st.sampled_from(b"aabbc\n\0\xffZ"), max_size=9).map(bytes)
quickly = settings(max_examples=300)


def found(tree: Tree, text: bytes) -> tuple[int, int] | None:
    """The leftmost longest match."""
    for start in range(len(text) + 1):
        ends = tree.ends(text, start)
        if ends:
            return start, max(ends)
    return None


@quickly
@given(trees, st.lists(texts, min_size=1, max_size=5))
@example(_joined([LEAVES[-1], LEAVES[-2]]), [b"", b"a"])
def test_the_leftmost_longest_match(driver: Driver, tree: Tree, given_texts: list[bytes]) -> None:
    matcher = Matcher(compiled(tree.pattern))
    for text in given_texts:
        wanted = found(tree, text)
        part = None if wanted is None else text[wanted[0] : wanted[1]]
        context = (tree.pattern, text)
        assert matcher.search(text) == wanted, context
        assert matcher.matches(text) == (wanted is not None), context
        extracted = driver.call("str_extract_regex_string_string", text, tree.pattern)
        assert extracted == part, context
        matched = driver.call("str_regex_match_string_string", text, tree.pattern)
        assert matched == (wanted is not None), context


WIDE = (b"(a|b)*a(a|b){14}c", b"user.{1,60}pass", b"a.{30}b.{30}c", b"(.*)(.*)(.*)y")
"""Patterns whose sets of steps are too many for a table, or were too much for glibc."""


@pytest.mark.long
@pytest.mark.parametrize("pattern", WIDE)
def test_what_has_no_table_is_run_step_by_step(driver: Driver, pattern: bytes) -> None:
    matcher = Matcher(compiled(pattern))
    texts = [b"", b"a" * 700, b"ab" * 700, b"xuser" * 200 + b"pass", b"abaab" * 20 + b"c" + b"y"]
    texts += [b"a" + b"x" * 30 + b"b" + b"y" * 30 + b"c", b"zz" + b"a" * 16 + b"c"]
    for text in texts:
        wanted = matcher.search(text)
        part = None if wanted is None else text[wanted[0] : wanted[1]]
        assert driver.call("str_extract_regex_string_string", text, pattern) == part
        matched = driver.call("str_regex_match_string_string", text, pattern)
        assert matched == matcher.matches(text) == (wanted is not None)


def test_the_longest_text(driver: Driver) -> None:
    text = b"a" * 65_535
    assert driver.call("str_regex_match_string_string", text, b"(a*)*(a*)*b") is False
    assert driver.call("str_extract_regex_string_string", text, b"(a|aa)+$") == text


MOST = [b"a{1000}b{1000}", b"(?:ab){1000}", b"." * 2000, b"a{0,1000}"]
"""Patterns of as many steps as there may be."""


@pytest.mark.parametrize("pattern", MOST)
def test_the_longest_patterns(driver: Driver, pattern: bytes) -> None:
    for text in (b"a" * 1000 + b"b" * 1000, b"ab" * 1000, b""):
        wanted = re.search(pattern, text, re.DOTALL)
        given = driver.call("str_extract_regex_string_string", text, pattern)
        assert given == (wanted and wanted[0])


REFUSED = [
    (b"a{1000}b{1000}c", 14, "the pattern takes more than 2000 steps from here on"),
    (b"(((){1000}){1000}){1000}", 11, "the pattern takes more than 2000 steps from here on"),
    (b"a{1,32767}{1,32767}", 4, "a repeat goes up to 1000"),
    (b"(" * 20_000, 50, "brackets nest deeper than 50"),
    (b"|".join([b"ab"] * 50_000), 2001, "the pattern takes more than 2000 steps from here on"),
    (b"((a{100}){100}){100}", 9, "the pattern takes more than 2000 steps from here on"),
    (rb"(a)\1", 3, "there are no back-references"),
    (b"(?=a)", 0, "there is no looking ahead"),
    (b"(?<!a)b", 0, "there is no looking back, and groups have no names"),
    (b"(?P<x>a)", 0, "groups have no names"),
    (rb"\bword", 0, "there are no word boundaries"),
    (b"a*?", 2, "a repeat of a repeat"),
    (b"*a", 0, "there is nothing to repeat"),
    (b"a|*", 2, "there is nothing to repeat"),
    (b"^*", 1, "an anchor cannot be repeated"),
    (b"a{3,2}", 4, "2 is less than 3"),
    (b"(a", 0, "this bracket is not closed"),
    (b"a)", 1, "this bracket closes nothing"),
    (b"[a", 0, "this bracket is not closed"),
    (b"[", 0, "this bracket is not closed"),
    (b"[b-a]", 1, "this range runs backwards"),
    (rb"[a-\d]", 1, "a range is from one byte to another"),
    (b"[[:no:]]", 1, "no class [:no:]"),
    (b"[[.a.]]", 1, "there are no collating elements"),
    (rb"[^\x00-\xff]", 0, "no byte is in these brackets"),
    ("[ä]".encode(), 1, "a character of several bytes in brackets"),
    ("ä+".encode(), 0, "a repeat would take this character apart"),
    (b"a\\", 1, "nothing stands behind this backslash"),
    (rb"\x1", 0, r"two digits stand behind \x"),
    (rb"\p{L}", 0, "there are no classes of Unicode"),
    (rb"\y", 0, r"\y means nothing"),
]


@pytest.mark.parametrize(("pattern", "at", "message"), REFUSED, ids=[m for _, _, m in REFUSED])
def test_a_pattern_is_refused_with_its_place(pattern: bytes, at: int, message: str) -> None:
    with pytest.raises(PatternError) as caught:
        compiled(pattern)
    assert (str(caught.value), caught.value.at) == (message, at)


def test_a_program_that_is_none_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    driver = Driver(tmp_path_factory.mktemp("driver"), prepared=False)
    for program in (b"", bytes(259), bytes(300), compiled(b"a").encoded()[:-1]):
        with pytest.raises(HandleError, match="was not compiled as expected"):
            driver.call("str_regex_match_string_string", b"a", program)
    assert driver.close() == 0
