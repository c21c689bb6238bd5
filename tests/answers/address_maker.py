# SPDX-License-Identifier: Apache-2.0
"""Queries at random that hide addresses, look them up in a file, and hash texts."""

from __future__ import annotations

from pathlib import Path

from tests.answers.function_maker import FunctionMaker
from tests.answers.query_maker import ADDRESSES, STRING

PREFIXES = Path(__file__).with_name("prefixes.csv")
KEYS = (
    "1522178d33a4cf80130a5b1649907d10d8988f837979652762574c2d2a842202",
    "00" * 16 + "ff" * 16,
)
OF_ADDRESS = ("getlpmid({}, 'FILE')", "getlpmid({}, 'FILE') % 3", "getlpmid({}, 'FILE') / 7",
              "coalesce(nullif(getlpmid({}, 'FILE'), 1), 9)",
              "length(text(anonymize({}, 'KEY')))")  # fmt: skip
TESTS = ("getlpmid({}, 'FILE') = getlpmid({}, 'FILE')", "getlpmid({}, 'FILE') > 1",
         "anonymize({}, 'KEY') < {}", "anonymize({}, 'KEY') = anonymize({}, 'KEY')",
         "prefix(anonymize({}, 'KEY'), 31) = anonymize(prefix({}, 31), 'KEY')",
         "is_private(anonymize({}, 'KEY'))")  # fmt: skip
HASHES = ("string_hash({})", "string_hash({}) % 5", "string_hash({}) >> 40",
          "UINT(string_hash({}) & 1023)", "string_hash({}) - string_hash({})")  # fmt: skip


class AddressMaker(FunctionMaker):
    """A third of the calls are these."""

    def _of_lookup(self, forms: tuple[str, ...], kind: str, depth: int) -> str:
        text = self._of_form(forms, kind, depth)
        return text.replace("FILE", str(PREFIXES)).replace("KEY", self._pick(*KEYS))

    def _address_kinds(self) -> list[str]:
        return [column.kind for column in self._columns if column.kind in ADDRESSES]

    def _is_lookup(self) -> bool:
        return self._random.random() < 0.35

    def _whole_call(self, kind: str, depth: int) -> str:
        if not self._is_lookup():
            return super()._whole_call(kind, depth)
        addresses = self._address_kinds()
        if addresses and self._random.random() < 0.7:
            return self._of_lookup(OF_ADDRESS, self._pick(*addresses), depth)
        return self._of_lookup(HASHES, STRING, depth)

    def _address_call(self, kind: str, depth: int) -> str:
        if not self._is_lookup():
            return super()._address_call(kind, depth)
        return self._of_lookup(("anonymize({}, 'KEY')",), kind, depth)

    def _comparison(self, kind: str, depth: int) -> str:
        addresses = self._address_kinds()
        if not addresses or not self._is_lookup():
            return super()._comparison(kind, depth)
        return self._of_lookup(TESTS, self._pick(*addresses), depth)
