# SPDX-License-Identifier: MIT
"""XXH3, 64 bits, of the algorithm that xxHash 0.8 froze: with the default secret, with or without a
seed, for any length. Plain Python and slow (some MB/s), for the reader beside it.

    >>> hex(xxh3_64(b""))
    '0x2d06800538d394c2'
"""
import struct

MASK = 2**64 - 1

PRIME32_1, PRIME32_2, PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
PRIME64_1, PRIME64_2 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F
PRIME64_3, PRIME64_4, PRIME64_5 = 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MIX_1, MIX_2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")

STRIPE, STRIPES_PER_BLOCK = 64, (len(SECRET) - 64) // 8


def u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def u64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def rotl(x, n):
    return (x << n | x >> 64 - n) & MASK


def swapped(x, size):
    return int.from_bytes(x.to_bytes(size, "little"), "big")


def fold(a, b):
    """The two halves of a product of 128 bits, one XOR the other."""
    product = a * b
    return (product ^ product >> 64) & MASK


def avalanche(x):
    x = (x ^ x >> 37) * MIX_1 & MASK
    return x ^ x >> 32


def avalanche_of_xxh64(x):
    x = (x ^ x >> 33) * PRIME64_2 & MASK
    x = (x ^ x >> 29) * PRIME64_3 & MASK
    return x ^ x >> 32


def up_to_3(data, seed):
    size = len(data)
    word = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
    return avalanche_of_xxh64(word ^ (u32(SECRET, 0) ^ u32(SECRET, 4)) + seed & MASK)


def up_to_8(data, seed):
    size = len(data)
    seed ^= swapped(seed & 0xFFFFFFFF, 4) << 32
    word = u32(data, size - 4) + (u32(data, 0) << 32)
    x = word ^ (u64(SECRET, 8) ^ u64(SECRET, 16)) - seed & MASK
    x = (x ^ rotl(x, 49) ^ rotl(x, 24)) * MIX_2 & MASK
    x = (x ^ (x >> 35) + size) * MIX_2 & MASK
    return x ^ x >> 28


def up_to_16(data, seed):
    size = len(data)
    low = u64(data, 0) ^ (u64(SECRET, 24) ^ u64(SECRET, 32)) + seed & MASK
    high = u64(data, size - 8) ^ (u64(SECRET, 40) ^ u64(SECRET, 48)) - seed & MASK
    return avalanche(size + swapped(low, 8) + high + fold(low, high) & MASK)


def mixed_16(data, at, secret_at, seed):
    """16 bytes of the input, mixed with 16 of the secret."""
    return fold(u64(data, at) ^ u64(SECRET, secret_at) + seed & MASK,
                u64(data, at + 8) ^ u64(SECRET, secret_at + 8) - seed & MASK)


def up_to_128(data, seed):
    size = len(data)
    x = size * PRIME64_1
    for i in range((size - 1) // 32 + 1):  # from both ends inwards
        x += mixed_16(data, 16 * i, 32 * i, seed)
        x += mixed_16(data, size - 16 * (i + 1), 32 * i + 16, seed)
    return avalanche(x & MASK)


def up_to_240(data, seed):
    size = len(data)
    x = size * PRIME64_1 + sum(mixed_16(data, 16 * i, 16 * i, seed) for i in range(8))
    x = avalanche(x & MASK)
    x += sum(mixed_16(data, 16 * i, 16 * (i - 8) + 3, seed) for i in range(8, size // 16))
    x += mixed_16(data, size - 16, 136 - 17, seed)
    return avalanche(x & MASK)


def accumulate(lanes, words, keys):
    """One stripe of 8 words into the 8 lanes; keys is the secret's part for it."""
    for i in range(8):
        word = words[i]
        mixed = word ^ keys[i]
        lanes[i ^ 1] = lanes[i ^ 1] + word & MASK
        lanes[i] = lanes[i] + (mixed & 0xFFFFFFFF) * (mixed >> 32) & MASK


def beyond_240(data, seed):
    size = len(data)
    secret = b"".join(
        struct.pack("<QQ", u64(SECRET, at) + seed & MASK, u64(SECRET, at + 8) - seed & MASK)
        for at in range(0, len(SECRET), 16))
    keys_at = [struct.unpack_from("<8Q", secret, 8 * i) for i in range(STRIPES_PER_BLOCK + 1)]
    lanes = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1]
    for i in range((size - 1) // STRIPE):
        accumulate(lanes, struct.unpack_from("<8Q", data, STRIPE * i),
                   keys_at[i % STRIPES_PER_BLOCK])
        if (i + 1) % STRIPES_PER_BLOCK == 0:  # a block is done
            lanes = [(x ^ x >> 47 ^ key) * PRIME32_1 & MASK
                     for x, key in zip(lanes, keys_at[STRIPES_PER_BLOCK])]
    accumulate(lanes, struct.unpack_from("<8Q", data, size - STRIPE),
               struct.unpack_from("<8Q", secret, len(secret) - STRIPE - 7))
    x = size * PRIME64_1
    for i in range(0, 8, 2):
        x += fold(lanes[i] ^ u64(secret, 11 + 8 * i), lanes[i + 1] ^ u64(secret, 19 + 8 * i))
    return avalanche(x & MASK)


def xxh3_64(data, seed=0):
    """The hash of bytes, an integer of 64 bits."""
    if len(data) > 240:
        return beyond_240(data, seed)
    if len(data) > 128:
        return up_to_240(data, seed)
    if len(data) > 16:
        return up_to_128(data, seed)
    if len(data) > 8:
        return up_to_16(data, seed)
    if len(data) > 3:
        return up_to_8(data, seed)
    if len(data) > 0:
        return up_to_3(data, seed)
    return avalanche_of_xxh64(seed ^ u64(SECRET, 56) ^ u64(SECRET, 64))
