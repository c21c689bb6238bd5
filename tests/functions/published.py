# SPDX-License-Identifier: Apache-2.0
"""What others have defined, in Python as they say it: XXH64 and Crypto-PAn."""

from __future__ import annotations

P1, P2, P3, P4, P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
MASK = 2**64 - 1


def _rotated(x: int, n: int) -> int:
    return ((x << n) | ((x & MASK) >> (64 - n))) & MASK


def _round(lane: int, word: bytes) -> int:
    return _rotated((lane + int.from_bytes(word, "little") * P2) & MASK, 31) * P1 & MASK


def xxh64(data: bytes, seed: int) -> int:
    """XXH64 from its specification."""
    hash_, rest = seed + P5, data
    if len(data) >= 32:
        lanes = [seed + P1 + P2, seed + P2, seed, seed - P1]
        while len(rest) >= 32:
            lanes = [_round(lane, rest[8 * i : 8 * i + 8]) for i, lane in enumerate(lanes)]
            rest = rest[32:]
        hash_ = sum(_rotated(lane, n) for lane, n in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            hash_ = (hash_ ^ _round(0, lane.to_bytes(8, "little"))) * P1 + P4 & MASK
    hash_ = hash_ + len(data) & MASK
    while len(rest) >= 8:
        hash_ = _rotated(hash_ ^ _round(0, rest[:8]), 27) * P1 + P4 & MASK
        rest = rest[8:]
    if len(rest) >= 4:
        word = int.from_bytes(rest[:4], "little")
        hash_ = _rotated(hash_ ^ word * P1 & MASK, 23) * P2 + P3 & MASK
        rest = rest[4:]
    for byte in rest:
        hash_ = _rotated(hash_ ^ byte * P5 & MASK, 11) * P1 & MASK
    hash_ = (hash_ ^ hash_ >> 33) * P2 & MASK
    hash_ = (hash_ ^ hash_ >> 29) * P3 & MASK
    return hash_ ^ hash_ >> 32


def crypto_pan(key: bytes, address: bytes) -> bytes:
    """The paper's definition, over somebody else's AES."""
    from cryptography.hazmat.primitives import ciphers

    encrypt = ciphers.Cipher(ciphers.algorithms.AES(key[:16]), ciphers.modes.ECB()).encryptor()
    pad = int.from_bytes(encrypt.update(key[16:]), "big")
    width, value, flips = 8 * len(address), int.from_bytes(address, "big"), 0
    for bit in range(width):
        kept = value >> (width - bit) << (128 - bit) if bit else 0
        block = kept | pad & ((1 << (128 - bit)) - 1)
        flips = flips << 1 | encrypt.update(block.to_bytes(16, "big"))[0] >> 7
    return (value ^ flips).to_bytes(len(address), "big")
