# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""Attention on a machine with a GPU, through ckpt-run:

    python3 test/Gpu/attention_cases.py CKPT_RUN [--target host] [CASE ...]

Compiles the attention blocks beside this file. Every case prints one line; the
exit code is the number of those that failed. Which public fault a case stands
for is written at each function.
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BF16_ONE, BF16_133120 = 0x3F80, 0x4802


def write(path, tensors):
    """Tensors of one bf16 value: {name: (shape, bits)}."""
    header, data = {}, b""
    for name, (shape, bits) in tensors.items():
        count = 1
        for extent in shape:
            count *= extent
        begin = len(data)
        data += struct.pack("<H", bits) * count
        header[name] = dict(
            dtype="BF16", shape=shape, data_offsets=[begin, len(data)]
        )
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path):
    """{name: list of numbers} of bf16 and f32 tensors."""
    whole = path.read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    tensors = {}
    for name, entry in json.loads(whole[8 : 8 + length]).items():
        begin, end = (8 + length + at for at in entry["data_offsets"])
        raw = whole[begin:end]
        if entry["dtype"] == "BF16":
            words = struct.unpack(f"<{len(raw) // 2}H", raw)
            raw = struct.pack(f"<{len(words)}I", *(word << 16 for word in words))
        tensors[name] = struct.unpack(f"<{len(raw) // 4}f", raw)
    return tensors


class Runner:
    def __init__(self, program, target):
        self.program, self.target = program, target
        self.folder = pathlib.Path(tempfile.mkdtemp())

    def run(self, model, sizes, *flags):
        """The reason why it failed, or None."""
        command = [self.program, str(HERE / f"{model}.mlir"), "--target", self.target]
        for name, value in sizes.items():
            command += ["--dim", f"{name}={value}"]
        done = subprocess.run(
            [*command, *flags], text=True, capture_output=True, timeout=600
        )
        if done.returncode == 0:
            return None
        lines = (done.stderr + done.stdout).strip().splitlines()
        bad = [line for line in lines if "out" in line or "rror" in line]
        return f"{model} {sizes}: " + "; ".join(bad[-4:] or lines[-2:])

    def values(self, queries, keys, bits, *flags):
        """Results and gradients with q = k = v = `bits` and dout = 1."""
        inputs, outputs = self.folder / "in", self.folder / "out"
        q, k = [1, queries, 3, 64], [1, keys, 3, 64]
        write(
            inputs,
            {
                "q": (q, bits),
                "k": (k, bits),
                "v": (k, bits),
                "grad.out.q": (q, BF16_ONE),
            },
        )
        outputs.unlink(missing_ok=True)
        fault = self.run(
            "attention_d64",
            {"queries": queries, "keys": keys},
            f"--inputs={inputs}",
            f"--save-outputs={outputs}",
            *flags,
        )
        return fault or read(outputs)


def a3(runner):
    """Loads past the end that the backward does not mask: all ones, lengths
    around and below blocks. dq = dk = 0 and dv = queries / keys."""
    for keys in (1, 8, 16, 17, 63, 65, 127, 129, 192):
        for queries in (keys - 1, keys, keys + 1):
            if queries < 1:
                continue
            found = runner.values(queries, keys, BF16_ONE)
            if isinstance(found, str):
                return found
            wanted = {"out.q": 1, "grad.q": 0, "grad.k": 0, "grad.v": queries / keys}
            for name, value in wanted.items():
                # A rounding of P and one of dv; dq, dk by those of delta.
                bound = 2**-7 * (value or queries / keys)
                worst = max(abs(x - value) for x in found[name])
                if not worst <= bound:
                    return f"{queries} x {keys}: {name} is off by {worst}"
    return None


def n1(runner):
    """Large equal logits, whose products with the scale round: P is 1 or 0.5
    and the output exactly v."""
    for length in (1, 2):
        found = runner.values(length, length, BF16_133120)
        if isinstance(found, str):
            return found
        wrong = [x for x in found["out.q"] if x != 133120]
        if wrong:
            return f"{length} keys: found {wrong[0]} for 133120"
    return None


def ragged(runner):
    """Every result and gradient against float64: lengths under, at and past
    whole blocks, queries and keys of different lengths, samples."""
    sizes = [
        (1, 1, 1),
        (2, 79, 129),
        (1, 80, 128),
        (1, 81, 176),
        (3, 333, 512),
        (2, 1000, 77),
        (1, 77, 1000),
        (2, 1400, 1400),
        (1, 2817, 2816),
    ]
    for model in ("attention_d128", "attention_d64", "attention_d64_f16"):
        for batch, queries, keys in sizes:
            fault = runner.run(
                model, dict(batch=batch, queries=queries, keys=keys), "--check"
            )
            if fault:
                return fault
    return None


def views(runner):
    """q, k and v inside one tensor, gradients into one; dq alone in parts."""
    for batch, image, text in ((1, 200, 77), (2, 1400, 512), (1, 4111, 130)):
        for flags in ([], ["--deterministic"]):
            fault = runner.run(
                "attention_qkv",
                dict(batch=batch, image=image, text=text),
                "--blocks=2",
                "--check",
                *flags,
            )
            if fault:
                return fault
    return None


def a9(runner):
    """"Deterministic" accepted and ignored: 100 runs give the same bits."""
    for model in ("attention_d128", "attention_d64"):
        for sizes in (
            dict(batch=2, queries=1400, keys=1400),
            dict(batch=1, queries=2048, keys=2048),
        ):
            fault = runner.run(model, sizes, "--deterministic", "--steps=100")
            fault = fault or runner.run(model, sizes, "--deterministic", "--check")
            if fault:
                return fault
    return None


CASES = [a3, n1, ragged, views, a9]


def main():
    arguments = sys.argv[1:]
    program, target = arguments.pop(0), "nvptx"
    if arguments[:1] == ["--target"]:
        target = arguments[1]
        arguments = arguments[2:]
    runner = Runner(program, target)
    failed = 0
    for case in CASES:
        if arguments and case.__name__ not in arguments:
            continue
        fault = case(runner)
        failed += fault is not None
        print(f"{case.__name__}: {'ok' if fault is None else 'FAILED ' + fault}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
