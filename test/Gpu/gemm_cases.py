# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""Products on a machine with a GPU, through ckpt-run:

    python3 test/Gpu/gemm_cases.py BUNDLE [MODEL ...]

BUNDLE is what bench/bundle makes; what each block is for stands in its file.
Results and gradients are held against PyTorch in float64. One line each; the
exit code is the number of those that failed.
"""

import sys

import safetensors.torch

from runner import Runner, report, write

# Rows under, at and past a tile, and so many that every multiprocessor has
# several tiles.
ROWS = (1, 63, 64, 129, 1000, 4100)
MODELS = (
    "gemm_depths",
    "gemm_low_rank",
    "gemm_odd_rows",
    "gemm_ragged",
    "gemm_ragged_f16",
)


def ones(runner):
    """Field case C1, a tail of K that is dropped: ones times ones is K."""
    rows, columns, depth = 3452, 1024, 2040
    inputs, weights, outputs = (runner.folder / name for name in ("i", "w", "o"))
    shapes = {"x": [rows, depth], "grad.out.x": [rows, columns]}
    write(inputs, shapes, dict.fromkeys(shapes, 1))
    write(weights, {"w": [columns, depth]}, {"w": 1})
    flags = [f"--inputs={inputs}", f"--weights={weights}", f"--save-outputs={outputs}"]
    fault = runner.run("gemm_ones-det", {"rows": rows}, *flags)
    if fault:
        return fault
    found = safetensors.torch.load_file(outputs)
    for name, wanted in (("out.x", depth), ("grad.x", columns)):
        if (found[name] != wanted).any():
            return f"{name}: expected {wanted}, found {found[name].unique()[:4]}"
    return None


def main():
    runner = Runner(sys.argv[1])
    cases = {"gemm_ones": lambda: ones(runner)}

    def add(model, **sizes):
        name = f"{model} {' '.join(str(size) for size in sizes.values())}"
        cases[name] = lambda: runner.run(f"{model}-det", sizes, "--check")

    for model in MODELS:
        for rows in ROWS:
            add(model, rows=rows)
    add("gemm_wide_tiles", batch=2, tokens=1100)
    return report(cases, sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
