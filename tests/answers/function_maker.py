# SPDX-License-Identifier: Apache-2.0
"""Queries at random that call every function of which the reference has another account."""

from __future__ import annotations

from tests.answers.query_maker import ADDRESSES, IP, STRING, TIMESTAMP, WHOLE, QueryMaker

OF_WHOLES = ("PACK(UINT({}), UINT({}))", "UMIN({}, {})", "UMAX({}, {})", "greatest({}, {}, 3)",
             "least({}, {})", "coalesce(nullif({}, {}), 9)", "ifnull(nullif({}, 1), {})",
             "IF({} > 5, {}, NULL)", "INT({} % 1000) * {}", "CAST({} AS int) - {}",
             "{} * 3000000000 + {}", "{} << 40 | {}", "ULLONG({}) - {}", "-UINT({}) / (1 + {})",
             "CAST(CAST({} AS float) / 3 AS llong) + {}", "nullif({} % 2, 0) * {}")  # fmt: skip
OF_TEXTS = ("strpos({}, {})", "length({}) - str_length({})", "length(concat({}, {}))",
            "get_byte({}, 0) + get_bit({}, 3)", "strpos(reverse({}), left({}, 1))",
            "length(split_part({}, left({}, 1), 2))", "length(repeat({}, length({}) % 5))",
            "length(replace({}, left({}, 1), 'xyz'))")  # fmt: skip
OF_TIMES = ("{part}({}) + {part}({})", "epoch_{unit}({}) - epoch_{unit}({})",
            "date_part('{part}', {}) * extract('{part}', {})",
            "LLONG({}) / 1000000 - LLONG({}) / 7",
            "({} - {}) / 1000000", "IF({} > {}, 1, NULL)", "{part}(to_timestamp(epoch_s({}, {})))",
            "nanosecond({}) - microsecond({})", "{part}(time_bucket('{n} {width}', UMAX({}, {})))",
            "{part}(date_trunc('{part_of}', least({}, {})))")  # fmt: skip
PARTS = ("year", "quarter", "month", "week", "day", "dayofyear", "dayofweek", "isodow", "hour",
         "minute", "second")  # fmt: skip
UNITS = ("ms", "us", "ns")
WIDTHS = ("ms", "sec", "min", "hour", "day")
STARTS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month",
          "quarter", "year")  # fmt: skip
TEXT_OF = ("text({})", "hex({})", "to_hex_string({})", "lpad(text({}), 6, '0')",
           "concat(text({}), ':', NULL)", "replace(text({}), '1', 'one')")  # fmt: skip
OF_TWO_TEXTS = ("concat({}, {})", "replace({}, {}, '#')", "trim({}, {})", "ltrim({}, {})",
                "rtrim({}, left({}, 2))", "split_part({}, right({}, 1), -2)", "least({}, {})",
                "coalesce(nullif({}, 'GET'), {})", "lpad({}, 9, concat({}, '.'))",
                "rpad(left({}, 9), 12, concat({}, '-'))", "get_list_entry({}, left({}, 1), 1)",
                "substring({}, length({}) % 5, 3)", "left({}, length({}) - 4)",
                "str_truncate({}, length({}) % 7)", "str_suffix({}, str_length({}) % 4)",
                "from_base64(to_base64(concat({}, {})))", "unhex(concat(hex({}), hex({})))",
                "printable(concat(reverse({}), {}))", "str_extract_regex({}, '[A-Z]+ [^ ]+')",
                "str_extract_regex({}, '^[a-z]+')",
                "str_extract_regex({}, '[0-9.]+$')")  # fmt: skip
TESTS_OF_TEXTS = ("contains({}, {})", "starts_with({}, left({}, 2))", "ends_with({}, right({}, 1))",
                  "str_exists_substr[{}, {}]", "str_match_start[{}, left({}, 1)]", "{} = {}",
                  "{} < {}", "reverse({}) BETWEEN 'a' AND {}",
                  "{} IN ['GET', 'one two'] = ({} = '')",
                  "({} LIKE '%e%' OR {} !~ '[0-9]$')", "nullif({}, {}) IS NULL",
                  "str_match_offset[2, right({}, 1), {}]", "byte_match_offset[1, 69, {}]",
                  "str_regex_match({}, 'T+P')", "regexp_matches({}, '^.e')")  # fmt: skip
TESTS_OF_PATTERNS = ("LIKE '%GET%'", "LIKE 'G_T%'", "ILIKE 'get%'", "NOT LIKE '%.__'",
                     "ILIKE '%E%N%'", "LIKE '100#%' ESCAPE '#'", "~ '(GET|POST)'", "~ '^[a-z]'",
                     "!~ 'o{2}'", "~ '[^ -~]'", "~ 'e.*e'", "!~ '^$'", "~ 'T+P?/1[.][01]'",
                     "~ '[[:digit:]]+'", "~ '(a|b)*c$'")  # fmt: skip
OF_FLOATS = ("exp({} / 5000.0)", "log2({} + 1)", "log10({})", "fmod({}, 7.5)", "ceil({} / 9.0)",
             "trunc({} / 8.0)", "round({} / 4.0)", "abs(100 - {} / 2.0)", "sqrt({} - 80)",
             "pow({}, 1.5)", "UMAX({} / 3.0, 20)", "greatest({}, 90.5)", "FLOAT({}) % 7",
             "coalesce(nullif({} / 2.0, 32.0), 0.25)", "({} - 64) / ({} - 64.0)",
             "CAST({} AS float) * 1e300 * 1e10")  # fmt: skip
OF_ADDRESSES = ("greatest({}, {})", "least({}, {})", "coalesce(nullif({}, {}), {})",
                "IF({} < {}, prefix({}, 31), NULL)", "prefix(coalesce({}, {}), 29)")  # fmt: skip
OF_IPS = ("UMIN({}, {})", "UMAX({}, {})", "strtoip(text(greatest({}, {})))",
          "strtoip(split_part(concat(text({}), '/', text({})), '/', 2))")  # fmt: skip
TESTS_OF_ADDRESSES = ("is_private({})", "NOT is_multicast({})", "is_link_local({})",
                      "family({}) = 6", "is_loopback({}) IS NULL", "text({}) LIKE '10.%'",
                      "length(text({})) > 8", "text({}) ~ '[13579]$'")  # fmt: skip
OF_MOMENTS = ("to_timestamp({whole} % 4000000)", "greatest({}, {})", "least({}, {})",
              "UMIN({}, {})", "UMAX({}, {})", "coalesce(nullif({}, {}), {})",
              "date_trunc('{part_of}', {})", "time_bucket('{n} {width}', {})",
              "IF({} > {}, {}, NULL)", "{} + {whole} % 1000",
              "date_trunc('{part_of}', {}) - 1")  # fmt: skip


class FunctionMaker(QueryMaker):
    """As the base, whose own calls are a half of those that it makes."""

    def _of_form(self, forms: tuple[str, ...], kind: str, depth: int) -> str:
        """A form whose blanks are filled, each with an expression of its own."""
        text = self._random.choice(forms)
        named = {"part": PARTS, "unit": UNITS, "width": WIDTHS, "part_of": STARTS}
        named["n"] = ("1", "2", "7", "30")
        for name, choices in named.items():
            text = text.replace(f"{{{name}}}", self._pick(*choices))
        text = text.replace("epoch_s({}, {})", "({} - {}) / 1000000000")
        if "{whole}" in text:
            text = text.replace("{whole}", self._small_name())
        while "{}" in text:
            text = text.replace("{}", self.expression(kind, max(0, depth - 1)), 1)
        return f"({text})"

    def _is_own(self) -> bool:
        return self._random.random() < 0.5

    def _whole_call(self, kind: str, depth: int) -> str:
        if self._is_own():
            return super()._whole_call(kind, depth)
        of = self._pick(WHOLE, WHOLE, STRING, TIMESTAMP)
        forms = {STRING: OF_TEXTS, TIMESTAMP: OF_TIMES}.get(of, OF_WHOLES)
        return self._of_form(forms, of, depth)

    def _string_call(self, kind: str, depth: int) -> str:
        if self._is_own():
            return super()._string_call(kind, depth)
        addresses = [column.kind for column in self._columns if column.kind in ADDRESSES]
        if self._random.random() < 0.3:
            of = self._pick(*addresses, WHOLE)
            forms = TEXT_OF if of == WHOLE else TEXT_OF[:1] + TEXT_OF[4:]
            return self._of_form(forms, of, depth)
        return self._of_form(OF_TWO_TEXTS, STRING, depth)

    def _float_call(self, kind: str, depth: int) -> str:
        if self._is_own():
            return super()._float_call(kind, depth)
        if self._random.random() < 0.2:
            return f"epoch({self._field(TIMESTAMP)})"
        return f"({self._random.choice(OF_FLOATS).replace('{}', self._small_name())})"

    def _address_call(self, kind: str, depth: int) -> str:
        if self._is_own():
            return super()._address_call(kind, depth)
        forms = OF_ADDRESSES + (OF_IPS if kind == IP else ())
        return self._of_form(forms, kind, depth)

    def _moved(self, kind: str, depth: int) -> str:
        if self._is_own():
            return super()._moved(kind, depth)
        return self._of_form(OF_MOMENTS, kind, depth)

    def _comparison(self, kind: str, depth: int) -> str:
        if self._is_own():
            return super()._comparison(kind, depth)
        of = self._random.choice(self._columns).kind
        if of == STRING:
            if self._is_own():
                return f"{self.expression(STRING, depth)} {self._pick(*TESTS_OF_PATTERNS)}"
            return self._of_form(TESTS_OF_TEXTS, STRING, depth)
        if of in ADDRESSES:
            return self._of_form(TESTS_OF_ADDRESSES, of, depth)
        return super()._comparison(kind, depth)
