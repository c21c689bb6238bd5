# SPDX-License-Identifier: Apache-2.0
"""anonymize (csrc/abi/gs_crypto_pan.h), with Spark's own AES. Addresses are texts of bits here.

ECB, since every block is one of its own; the block of padding that Spark adds is not looked at.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from gigastream.gsql.types import Type
from spark_sink.expressions.addresses import is_mapped, mapped, unmapped
from spark_sink.expressions.binding import bound
from spark_sink.expressions.values import literal

_WORD = 32
_BLOCK = 128


class Anonymizer:
    """Crypto-PAn under a key of 64 hexadecimal digits."""

    def __init__(self, key: bytes) -> None:
        octets = bytes.fromhex(key.decode("ascii"))
        self._key = literal(octets[:16], Type.STRING)
        self._pad = _bits_of_bytes(self._encrypted(literal(octets[16:], Type.STRING)), _BLOCK)

    def ip(self, ip: Column) -> Column:
        """An IP."""
        return bound(lambda x: _number(self._flipped(_bits(x), _WORD)), ip)

    def ipv6(self, address: Column) -> Column:
        """16 bytes."""
        return bound(
            lambda x: _bytes(self._flipped(_bits_of_bytes(x, _BLOCK), _BLOCK), _BLOCK), address
        )

    def inet(self, address: Column) -> Column:
        """An IPv4 address in 16 bytes stays one."""
        return F.when(is_mapped(address), mapped(self.ip(unmapped(address)))).otherwise(
            self.ipv6(address)
        )

    def _flipped(self, bits: Column, width: int) -> Column:
        """Each bit differs from what was there where the block of those before it begins with 1."""

        def flip(at: Column) -> Column:
            block = F.concat(
                F.substring(bits, F.lit(1), at), F.substring(self._pad, at + 1, _BLOCK)
            )
            first = F.substring(F.hex(self._encrypted(_bytes(block, _BLOCK))), 1, 1)
            return (first >= "8") != (F.substring(bits, at + 1, F.lit(1)) == "1")

        flips = F.transform(
            F.sequence(F.lit(0), F.lit(width - 1)),
            lambda at: F.when(flip(at), F.lit("1")).otherwise(F.lit("0")),
        )
        return F.array_join(flips, "")

    def _encrypted(self, block: Column) -> Column:
        """The first block; hexadecimal digits of others stand behind it."""
        return F.aes_encrypt(block, self._key, F.lit("ECB"), F.lit("PKCS"))


def _bits(number: Column) -> Column:
    return F.lpad(F.conv(number.cast("string"), 10, 2), _WORD, "0")


def _bits_of_bytes(octets: Column, width: int) -> Column:
    words = [F.hex(F.substring(octets, 1 + at // 8, _WORD // 8)) for at in range(0, width, _WORD)]
    return F.concat(*(F.lpad(F.conv(word, 16, 2), _WORD, "0") for word in words))


def _bytes(bits: Column, width: int) -> Column:
    words = [F.substring(bits, 1 + at, _WORD) for at in range(0, width, _WORD)]
    return F.unhex(F.concat(*(F.lpad(F.conv(word, 2, 16), _WORD // 4, "0") for word in words)))


def _number(bits: Column) -> Column:
    return F.conv(bits, 2, 10).try_cast("bigint")
