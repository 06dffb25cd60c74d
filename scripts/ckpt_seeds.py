#!/usr/bin/env python3
# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""Tensors from a seed: the Python twin of runtime/lib/Tensors/Seeds.h.

    values = ckpt_seeds.fill_tensor("param", "blocks.0.fc1.weight", (12, 3),
                                    "bf16", seed=0)

gives the elements as their bits (uint32 for f32, uint16 for bf16 and f16); f32
bits become numbers by `.view(numpy.float32)`, bf16 ones by `bf16_to_f32`.

    ckpt_seeds.py --check FILE

reads lines `seed kind name dtype shape(comma separated) fnv1a64-of-bytes` and
fails on the first tensor whose bytes differ.
"""

import argparse
import math
import sys

import numpy

UNIT = math.sqrt(3.0) / 65536
KINDS = ("state", "input", "param", "output-gradient")


def _mix(word):
    """The finalizer of splitmix64, on a uint64 array."""
    word = (word ^ (word >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return word ^ (word >> numpy.uint64(31))


def fnv1a64(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def rule_of(kind, name, shape):
    """(scale, offset): value = round_f32(offset + count * scale)."""
    if kind != "param":
        return numpy.float32(UNIT), 0.0
    if len(shape) >= 2:
        return numpy.float32(UNIT / math.sqrt(shape[-1])), 0.0
    lower = name.lower()
    norm = "norm" in lower and lower.endswith("weight")
    return numpy.float32(UNIT / 10), 1.0 if norm else 0.0


def fill_seeded(seed, name, rule, dtype, first, count):
    """Bits of the elements [first, first + count) of the tensor `name`."""
    scale, offset = rule
    key = _mix(numpy.array([seed ^ fnv1a64(name.encode())], numpy.uint64))
    index = numpy.arange(first + 1, first + count + 1, dtype=numpy.uint64)
    word = _mix(key + index * numpy.uint64(0x9E3779B97F4A7C15))
    total = numpy.zeros(count, numpy.int64)
    for shift in (0, 16, 32, 48):
        field = word >> numpy.uint64(shift) & numpy.uint64(0xFFFF)
        total += field.astype(numpy.int64)
    wide = offset + (total - 131070).astype(numpy.float64) * float(scale)
    bits = wide.astype(numpy.float32).view(numpy.uint32)
    if dtype == "f32":
        return bits
    if dtype == "f16":
        return wide.astype(numpy.float32).astype(numpy.float16).view(numpy.uint16)
    # To nearest, ties to even; no NaN comes out of a seed.
    half = numpy.uint32(0x7FFF) + (bits >> numpy.uint32(16) & numpy.uint32(1))
    return (bits + half >> numpy.uint32(16)).astype(numpy.uint16)


def fill_tensor(kind, name, shape, dtype, seed):
    """Bits of a whole tensor, in its shape."""
    rule = rule_of(kind, name, shape)
    count = math.prod(shape)
    return fill_seeded(seed, name, rule, dtype, 0, count).reshape(shape)


def bf16_to_f32(bits):
    return (bits.astype(numpy.uint32) << numpy.uint32(16)).view(numpy.float32)


def check(path):
    lines = [line.split() for line in open(path, encoding="utf-8") if line.strip()]
    for seed, kind, name, dtype, shape, expected in lines:
        if kind not in KINDS:
            sys.exit(f"{path}: expected a kind of {', '.join(KINDS)}, found '{kind}'")
        extents = tuple(int(extent) for extent in shape.split(","))
        bits = fill_tensor(kind, name, extents, dtype, int(seed))
        found = fnv1a64(bits.tobytes())
        if found != int(expected, 16):
            sys.exit(
                f"tensor '{name}' ({kind}, {dtype}, {shape}) of seed {seed}: "
                f"expected bytes with hash {expected}, found {found:016x}"
            )
    if not lines:
        sys.exit(f"{path}: expected at least one tensor, found none")
    print(f"{len(lines)} tensors agree")


def main():
    parser = argparse.ArgumentParser(description="Tensors from a seed.")
    parser.add_argument("--check", metavar="FILE", required=True)
    check(parser.parse_args().check)


if __name__ == "__main__":
    main()
