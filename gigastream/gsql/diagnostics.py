# SPDX-License-Identifier: Apache-2.0
"""Messages about a query: values with a place, collected many in a run, rendered at the top."""

from __future__ import annotations

from collections.abc import Iterable

from gigastream.gsql.source import Span
from gigastream.late_dataclass import dataclass

MAX_ERRORS = 100
"""Beyond as many errors (or warnings) the rest is counted, not kept: nobody reads that far."""

_EXCERPT_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message: severity `error` or `warning`, a stable code, what is wrong, where, a hint."""

    severity: str
    code: str
    message: str
    span: Span
    hint: str | None = None

    def render(self) -> str:
        """Return `file:line:col: error: what`, the line, a caret underline and the hint."""
        line, column = self.span.file.position(self.span.start)
        place = f"{printable(self.span.file.name, limit=None)}:{line}:{column}"
        first = f"{place}: {self.severity}: {_one_line(self.message)}"
        rows = [first, *_excerpt(self.span, line, column)]
        if self.hint is not None:
            rows.append(f"hint: {_one_line(self.hint)}")
        return "\n".join(rows)


class GsqlError(Exception):
    """A query text that cannot be used; carries all that was found wrong with it."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(render_all(self.diagnostics))


class DiagnosticSink:
    """Collects the messages of one run; a second message of one code at one place is dropped."""

    __slots__ = ("_collected", "_counts", "_seen", "suppressed")

    def __init__(self) -> None:
        self._collected: list[Diagnostic] = []
        self._counts = {"error": 0, "warning": 0}
        self._seen: set[tuple[int, int, str]] = set()
        self.suppressed = 0

    def error(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        """Add an error."""
        self.add(Diagnostic("error", code, message, span, hint))

    def warning(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        """Add a warning."""
        self.add(Diagnostic("warning", code, message, span, hint))

    def add(self, diagnostic: Diagnostic) -> None:
        """Add a message, unless its like was said at its place, or there are too many."""
        key = (id(diagnostic.span.file), diagnostic.span.start, diagnostic.code)
        if key in self._seen:
            return
        if self._counts[diagnostic.severity] >= MAX_ERRORS:
            self.suppressed += 1
            return
        self._counts[diagnostic.severity] += 1
        self._seen.add(key)
        self._collected.append(diagnostic)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All messages: those of a file together, in the order of their places."""
        files: dict[int, int] = {}
        for item in self._collected:
            files.setdefault(id(item.span.file), len(files))

        def place(item: Diagnostic) -> tuple[int, int]:
            return files[id(item.span.file)], item.span.start

        return tuple(sorted(self._collected, key=place))

    @property
    def has_errors(self) -> bool:
        """True if any message is an error."""
        return self.error_count > 0

    @property
    def error_count(self) -> int:
        """How many errors were kept; a reader compares it before and after a part."""
        return self._counts["error"]

    @property
    def is_full(self) -> bool:
        """True if further errors would only be counted: a parser may stop then."""
        return self.error_count >= MAX_ERRORS

    def raise_if_errors(self) -> None:
        """Raise GsqlError with all messages if any of them is an error."""
        if self.has_errors:
            raise GsqlError(self.diagnostics)

    def render(self) -> str:
        """Return all messages as the text a user reads."""
        text = render_all(self.diagnostics)
        if self.suppressed:
            text += f"\n{self.suppressed} further messages are not shown"
        return text


def render_all(diagnostics: Iterable[Diagnostic]) -> str:
    """Return messages as the text a user reads, one below the other."""
    return "\n".join(item.render() for item in diagnostics)


def printable(text: str, limit: int | None = 60) -> str:
    """Return text fit for a terminal: control characters replaced, long text cut in the middle.

    Names of files are never cut (limit None): editors open what `file:line:column` says.
    """
    if limit is not None and len(text) > limit:
        half = limit // 2
        text = f"{text[:half]}…{text[-half:]}"
    return "".join(character if _is_shown(character) else "\ufffd" for character in text)


def _one_line(text: str) -> str:
    """A message, which may quote a query of several lines, and whatever signs are in it."""
    return printable("".join(" " if each.isspace() else each for each in text), limit=None)


def _is_shown(character: str) -> bool:
    return character.isprintable()


def _excerpt(span: Span, line: int, column: int) -> list[str]:
    """Return the source line and the caret line; a very long line is cut around the caret.

    Of a file that could not be read, or holds nothing, there is none.
    """
    if not span.file.text.strip():
        return []
    start, end = span.file.line_bounds(line)
    at = column - 1
    first = 0 if end - start <= _EXCERPT_CHARACTERS else max(0, at - _EXCERPT_CHARACTERS // 2)
    last = min(end - start, first + _EXCERPT_CHARACTERS)
    text = span.file.text[start + first : start + last]
    marked = max(1, min(span.end - span.start, last - at))
    under = "".join(_blank(character) for character in text[: at - first])
    carets = "^" + "~" * (_width(text, at - first, marked) - 1)
    return ["    " + _shown_line(text), "    " + under + carets]


def _shown_line(text: str) -> str:
    return "".join(c if c == "\t" or _is_shown(c) else "\ufffd" for c in text)


def _blank(character: str) -> str:
    return "\t" if character == "\t" else " " * _cells(character)


def _width(text: str, start: int, count: int) -> int:
    marked = text[start : start + count]
    return max(1, sum(_cells(character) for character in marked))


def _cells(character: str) -> int:
    """Return the terminal cells of a character, so that carets stand right in any script."""
    if character < "\u0300":
        return 1
    from unicodedata import combining, east_asian_width

    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate nearest to a misspelt name, or None if all are further than two letters.

    Distance is in inserted, deleted, changed or swapped letters, whatever their case; one letter
    is allowed in names of up to three, so that `ts` does not suggest `id`.
    """
    allowed = 1 if len(name) <= 3 else 2
    best: tuple[int, bool, str] | None = None
    for candidate in candidates:
        distance = edit_distance(name.lower(), candidate.lower(), allowed)
        ranked = (distance, name[:1].lower() != candidate[:1].lower(), candidate)
        if distance <= allowed and (best is None or ranked < best):
            best = ranked
    return None if best is None else best[2]


def edit_distance(left: str, right: str, limit: int) -> int:
    """Return the edit distance (swaps count one) of two texts, or limit + 1 if it is greater."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    above = list(range(len(right) + 1))
    for i in range(1, len(left) + 1):
        row = _distance_row(i, left, right, above, before)
        if min(row) > limit:
            return limit + 1
        before, above = above, row
    return min(above[-1], limit + 1)


def _distance_row(i: int, left: str, right: str, above: list[int], before: list[int]) -> list[int]:
    row = [i]
    for j in range(1, len(right) + 1):
        changed = above[j - 1] + (left[i - 1] != right[j - 1])
        best = min(above[j] + 1, row[j - 1] + 1, changed)
        if i > 1 and j > 1 and left[i - 1] == right[j - 2] and left[i - 2] == right[j - 1]:
            best = min(best, before[j - 2] + 1)
        row.append(best)
    return row


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """Return the hint `did you mean …?`, or None where nothing is near."""
    found = closest(name, candidates)
    return None if found is None else f"did you mean {found}?"
