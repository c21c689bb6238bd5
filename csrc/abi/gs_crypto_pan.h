/* SPDX-License-Identifier: Apache-2.0 */
/* anonymize: Crypto-PAn (Fan, Xu, Ammar, Moon, Computer Networks 46(2), 2004). Two addresses share
 * as many leading bits afterwards as they did before, and no others, for whoever has no key: bit i
 * is flipped or not by a function of the i bits before it, here AES-128 (FIPS 197) of those bits
 * and of a secret pad behind them. One block a bit: 32 for IPv4, 128 for IPv6. Tables of bytes
 * alone, so that time may tell something of the key to whoever measures packet by packet. */
#ifndef GS_CRYPTO_PAN_H
#define GS_CRYPTO_PAN_H

#include <stdio.h>

#include "gs_bytes.h"
#include "gs_functions.h"

#define GS_AES_ROUNDS 10
#define GS_PAN_KEY_BYTES 32

struct gs_pan {
    uint8_t keys[(GS_AES_ROUNDS + 1) * 16];
    uint8_t substitute[256];
    uint8_t pad[16];
};

/* --- AES-128, to encrypt alone --- */

/* Times x in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1. */
static inline uint8_t gs_aes_doubled(uint8_t a)
{
    return (uint8_t)(a << 1 ^ (a >> 7) * 0x1b);
}

static inline uint8_t gs_rotate_byte(uint8_t a, int bits)
{
    return (uint8_t)(a << bits | a >> (8 - bits));
}

/* The S-box: p runs through the powers of 3, q through those of its inverse. */
static inline void gs_aes_fill_box(uint8_t *box)
{
    uint8_t p = 1, q = 1;
    do {
        p ^= gs_aes_doubled(p);
        q ^= (uint8_t)(q << 1);
        q ^= (uint8_t)(q << 2);
        q ^= (uint8_t)(q << 4);
        if (q & 0x80) q ^= 0x09;
        box[p] = (uint8_t)(q ^ gs_rotate_byte(q, 1) ^ gs_rotate_byte(q, 2) ^ gs_rotate_byte(q, 3) ^
                           gs_rotate_byte(q, 4) ^ 0x63);
    } while (p != 1);
    box[0] = 0x63;
}

static inline void gs_aes_expand(struct gs_pan *pan, const uint8_t *key)
{
    const uint8_t *box = pan->substitute;
    uint8_t constant = 1, *keys = pan->keys;
    memcpy(keys, key, 16);
    for (size_t at = 16; at < sizeof pan->keys; at += 4) {
        uint8_t word[4];
        memcpy(word, keys + at - 4, 4);
        if (at % 16 == 0) {
            uint8_t turned[4] = {(uint8_t)(box[word[1]] ^ constant), box[word[2]], box[word[3]],
                                 box[word[0]]};
            memcpy(word, turned, 4);
            constant = gs_aes_doubled(constant);
        }
        for (int i = 0; i < 4; i++)
            keys[at + (size_t)i] = keys[at + (size_t)i - 16] ^ word[i];
    }
}

static inline void gs_aes_add_key(uint8_t *state, const uint8_t *key)
{
    for (int i = 0; i < 16; i++)
        state[i] ^= key[i];
}

/* SubBytes and ShiftRows: row r, of bytes r, r + 4, …, turns by r columns. */
static inline void gs_aes_substitute(uint8_t *state, const uint8_t *box)
{
    uint8_t turned[16];
    for (int i = 0; i < 16; i++)
        turned[i] = box[state[(i + i % 4 * 4) % 16]];
    memcpy(state, turned, 16);
}

static inline void gs_aes_mix_column(uint8_t *c)
{
    uint8_t all = c[0] ^ c[1] ^ c[2] ^ c[3], first = c[0];
    for (int i = 0; i < 4; i++) {
        uint8_t next = i < 3 ? c[i + 1] : first;
        c[i] ^= (uint8_t)(all ^ gs_aes_doubled(c[i] ^ next));
    }
}

static inline void gs_aes_encrypt(const struct gs_pan *pan, uint8_t *state)
{
    gs_aes_add_key(state, pan->keys);
    for (int round = 1; round <= GS_AES_ROUNDS; round++) {
        gs_aes_substitute(state, pan->substitute);
        for (int column = 0; round < GS_AES_ROUNDS && column < 4; column++)
            gs_aes_mix_column(state + 4 * column);
        gs_aes_add_key(state, pan->keys + 16 * round);
    }
}

/* --- addresses --- */

/* `bits` leading bits of an address, each flipped where the block of those before it says so. */
static inline void gs_pan_anonymize(const struct gs_pan *pan, uint8_t *address, int bits)
{
    uint8_t flips[16] = {0}, input[16], block[16];
    memcpy(input, pan->pad, 16);
    for (int i = 0; i < bits; i++) {
        uint8_t bit = (uint8_t)(0x80 >> i % 8);
        memcpy(block, input, 16);
        gs_aes_encrypt(pan, block);
        if (block[0] & 0x80) flips[i / 8] |= bit;
        input[i / 8] = (uint8_t)((input[i / 8] & ~bit) | (address[i / 8] & bit));
    }
    for (int i = 0; i < bits / 8; i++)
        address[i] ^= flips[i];
}

static inline uint32_t gs_pan_ip(uint32_t ip, const struct gs_pan *pan)
{
    uint32_t network_order = __builtin_bswap32(ip);
    uint8_t bytes[4];
    memcpy(bytes, &network_order, 4);
    gs_pan_anonymize(pan, bytes, 32);
    return gs_load_be32(bytes);
}

static inline struct gs_inet gs_pan_ipv6(struct gs_inet address, const struct gs_pan *pan)
{
    uint8_t bytes[16];
    memcpy(bytes, &address, 16);
    gs_pan_anonymize(pan, bytes, 128);
    return gs_inet_from_bytes(bytes);
}

/* An IPv4 address stays one. */
static inline struct gs_inet gs_pan_inet(struct gs_inet address, const struct gs_pan *pan)
{
    if (!gs_inet_is_ip(address)) return gs_pan_ipv6(address, pan);
    return gs_inet_from_ip(gs_pan_ip(gs_inet_to_ip(address), pan));
}

/* --- the key: 16 bytes of AES, 16 that the pad is made of --- */

static inline void *gs_pan_new(struct gs_string text, char *message, size_t message_size)
{
    uint8_t key[GS_PAN_KEY_BYTES];
    bool is_key = text.length == 2 * sizeof key;
    for (uint32_t i = 0; is_key && i < sizeof key; i++) {
        uint8_t high = gs_hex_digit(text.bytes[2 * i]), low = gs_hex_digit(text.bytes[2 * i + 1]);
        is_key = high < 16 && low < 16;
        key[i] = (uint8_t)(high << 4 | low);
    }
    struct gs_pan *pan = is_key ? malloc(sizeof *pan) : NULL;
    if (pan == NULL) {
        snprintf(message, message_size, is_key ? "no memory" : "a key is 64 hexadecimal digits");
        return NULL;
    }
    gs_aes_fill_box(pan->substitute);
    gs_aes_expand(pan, key);
    memcpy(pan->pad, key + 16, 16);
    gs_aes_encrypt(pan, pan->pad);
    return pan;
}

#define GS_ANONYMIZE(type, c_type)                                                                 \
    static inline void *gs_handle_anonymize_##type##_string_new(                                   \
        struct gs_string text, char *message, size_t message_size)                                 \
    {                                                                                              \
        return gs_pan_new(text, message, message_size);                                            \
    }                                                                                              \
    static inline void gs_handle_anonymize_##type##_string_free(void *handle)                      \
    {                                                                                              \
        free(handle);                                                                              \
    }                                                                                              \
    static inline c_type gs_function_anonymize_##type##_string(c_type address, const void *handle) \
    {                                                                                              \
        return gs_pan_##type(address, handle);                                                     \
    }

GS_ANONYMIZE(ip, uint32_t)
GS_ANONYMIZE(ipv6, struct gs_inet)
GS_ANONYMIZE(inet, struct gs_inet)
#undef GS_ANONYMIZE

#endif
