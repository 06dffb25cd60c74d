# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""Attention on a machine with a GPU, through ckpt-run:

    python3 test/Gpu/attention_cases.py BUNDLE [CASE ...]

BUNDLE is what bench/bundle makes. Every case prints one line; the exit code is
the number of those that failed. Which public fault a case stands for is written
at each function.
"""

import sys

import safetensors.torch

from runner import Runner, report, write


class AttentionRunner(Runner):
    def values(self, queries, keys, value, *flags):
        """Results and gradients with q = k = v = `value` and dout = 1."""
        folder = self.folder / f"{value}-{queries}-{keys}"
        folder.mkdir()
        inputs, outputs = folder / "in", folder / "out"
        q, k = [1, queries, 3, 64], [1, keys, 3, 64]
        shapes = {"q": q, "k": k, "v": k, "grad.out.q": q}
        write(inputs, shapes, {**dict.fromkeys("qkv", value), "grad.out.q": 1})
        fault = self.run(
            "attention_d64",
            {"queries": queries, "keys": keys},
            f"--inputs={inputs}",
            f"--save-outputs={outputs}",
            *flags,
        )
        return fault or safetensors.torch.load_file(outputs)


def a3(runner):
    """Loads past the end that the backward does not mask: all ones, lengths
    around and below blocks. dq = dk = 0 and dv = queries / keys."""
    for keys in (1, 8, 16, 17, 63, 65, 127, 129, 192):
        for queries in (keys - 1, keys, keys + 1):
            if queries < 1:
                continue
            found = runner.values(queries, keys, 1)
            if isinstance(found, str):
                return found
            wanted = {"out.q": 1, "grad.q": 0, "grad.k": 0, "grad.v": queries / keys}
            for name, value in wanted.items():
                # A rounding of P and one of dv; dq, dk by those of delta.
                bound = 2**-7 * (value or queries / keys)
                worst = (found[name].double() - value).abs().max().item()
                if not worst <= bound:
                    return f"{queries} x {keys}: {name} is off by {worst}"
    return None


def n1(runner):
    """Large equal logits, whose products with the scale round: P is 1 or 0.5
    and the output exactly v."""
    for length in (1, 2):
        found = runner.values(length, length, 133120)
        if isinstance(found, str):
            return found
        if (found["out.q"] != 133120).any():
            return f"{length} keys: found {found['out.q'].flatten()[:4]}"
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
        for model in ("attention_qkv", "attention_qkv-det"):
            sizes = dict(batch=batch, image=image, text=text)
            fault = runner.run(model, sizes, "--blocks=2", "--check")
            if fault:
                return fault
    return None


def a9(runner):
    """"Deterministic" accepted and ignored: 100 runs give the same bits."""
    for model in ("attention_d128-det", "attention_d64-det"):
        for sizes in (
            dict(batch=2, queries=1400, keys=1400),
            dict(batch=1, queries=2048, keys=2048),
        ):
            fault = runner.run(model, sizes, "--steps=100")
            fault = fault or runner.run(model, sizes, "--check")
            if fault:
                return fault
    return None


def main():
    runner = AttentionRunner(sys.argv[1])
    cases = {case.__name__: lambda case=case: case(runner) for case in CASES}
    return report(cases, sys.argv[2:])


CASES = [a3, n1, ragged, views, a9]

if __name__ == "__main__":
    sys.exit(main())
