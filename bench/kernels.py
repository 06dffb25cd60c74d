#!/usr/bin/env python3
# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""Kernel by kernel: ours beside cuBLAS, cuDNN, flash-2 and others on one card.

    bench/kernels.py --only gemm        # the sweep's GEMMs, plain and fused
    bench/kernels.py --only attention   # forward and whole backward
    bench/kernels.py --only rows        # norms and elementwise, beside a copy
    bench/kernels.py --only step        # every launch of one block, predicted

Each takes a few minutes. Times are medians; `x peer` is the peer's time over
ours, so more than 1 is faster. See timing.py for sustained and burst.
"""

import math

import torch

import attention_kernels
import ckpt_rt
import report
import timing
from ours import Ours
from report import COLUMNS, rows_of

# Name: out, in (y = x w^T).
LINEARS = {
    "qkv": (9216, 3072),
    "proj": (3072, 3072),
    "fc1": (12288, 3072),
    "fc2": (3072, 12288),
}
# Of the block: linear, in the backward, controls, kernel, what is fused.
FUSED = [
    ("qkv", False, "none", "linear", "bias"),
    ("proj", False, "none", "linear_add", "residual"),
    ("fc1", False, "torch", "linear_gelu", "gelu"),
    ("fc1", False, "none", "linear_gelu", "gelu and its input"),
    ("fc2", False, "none", "linear_add", "residual"),
    ("fc2", True, "none", "linear_dx_gelu_dx", "gelu backward"),
]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


#===------------------------------------------------------------------------===#
# GEMM
#===------------------------------------------------------------------------===#


def fused_timers(options, blocks, linear, backward, flops):
    """Timers of the block's launches of this linear: {what: timer}."""
    made = {}
    for name, in_backward, mode, kernel, what in FUSED:
        if (name, in_backward) != (linear, backward):
            continue
        for command in blocks[mode].plan.commands:
            if (
                command.kind == "launch"
                and command.backward == backward
                and command.kernel.startswith(kernel)
                and abs(command.flops / flops - 1) < 0.05
            ):
                made[f"ours + {what}"] = timing.by_command(
                    blocks[mode].step, command.index
                )
                break
    return made


def gemm_shape(options, program, name, rows, out, inner, blocks):
    """Forward and dX of one linear beside cuBLAS."""
    memory = {}
    sizes = {"rows": rows, "out64": out // 64, "in64": inner // 64}
    ours = Ours(program, options.device, sizes, memory)
    ours.step.run()
    x, w, dy = memory["x"], memory["weight"], memory["grad.out.x"]
    made = []
    flops = 2.0 * rows * out * inner
    for backward, a, b, result in (
        (False, x, w.t(), "out.x"),
        (True, dy, w, "grad.x"),
    ):
        peer = torch.empty_like(memory[result])
        torch.mm(a, b, out=peer)
        reference = a.double() @ b.double()
        errors = {
            "cuBLAS": timing.error(peer, reference),
            "ours": timing.error(memory[result], reference),
        }
        del reference
        command = ours.find("linear", backward)
        timers = {
            "cuBLAS": timing.by_events(lambda: torch.mm(a, b, out=peer)),
            "ours": timing.by_command(ours.step, command.index),
            **fused_timers(options, blocks, name, backward, flops),
        }
        timings = timing.compare(timers, options.rounds)
        what = f"{name}{' dX' if backward else ''} {rows}x{out}x{inner}"
        made += rows_of(what, timings, "cuBLAS", flops, errors)
    return made


def gemm(options, results):
    program = ckpt_rt.Program(options.bundle / "linear.ckpt")
    dit = ckpt_rt.Program(options.bundle / "dit-3072.ckpt")
    for tokens in options.tokens:
        memory = {}
        blocks = {
            mode: Ours(
                dit, options.device, {"image": tokens}, memory, blocks=1, backend=mode
            )
            for mode in ("none", "torch")
        }
        for block in blocks.values():
            block.step.run()
        made = []
        for name, (out, inner) in LINEARS.items():
            made += gemm_shape(options, program, name, tokens, out, inner, blocks)
        title = f"GEMM, {tokens} tokens"
        results.table(title, made, COLUMNS)
        plain = [row for row in made if row["name"] == "ours"]
        for kind in ("speedup", "burst_speedup"):
            values = [row[kind] for row in plain]
            mean = geometric_mean(values)
            print(f"{kind}: mean {mean:.3f}, least {min(values):.3f} of cuBLAS")
        del blocks, memory
    size = 8192 if options.device == "cuda" else 256
    made = gemm_shape(options, program, "cube", size, size, size, {})
    results.table(f"GEMM, {size} cubed", made, COLUMNS)


#===------------------------------------------------------------------------===#
# Norms and elementwise
#===------------------------------------------------------------------------===#

ROW_COLUMNS = {
    "what": ("", ""),
    "bytes": ("MiB moved", lambda size: f"{size / 2**20:.0f}"),
    "sustained": ("ms", report.milliseconds),
    "rate": ("GB/s", lambda rate: f"{rate / 1e9:.0f}"),
    "speedup": ("of copy", report.ratio),
    "burst_speedup": ("burst", report.ratio),
}


def copy_timer(options, size):
    """A copy that moves `size` bytes, half of them read."""
    device = "cuda" if options.device == "cuda" else "cpu"
    a = torch.empty(size // 4, dtype=torch.bfloat16, device=device).normal_()
    b = torch.empty_like(a)
    return timing.by_events(lambda: b.copy_(a))


def rows(options, results):
    for name, sizes in (
        ("dit-3072", {"image": options.tokens[0]}),
        ("wan-1.3b-det", {"image": options.tokens[0], "text": 512}),
    ):
        program = ckpt_rt.Program(options.bundle / f"{name}.ckpt")
        ours = Ours(program, options.device, sizes, {}, blocks=1, backend="none")
        ours.step.run()
        made, seen = [], set()
        for command in ours.plan.commands:
            if command.kernel_class != "row-wise" or command.kernel in seen:
                continue
            seen.add(command.kernel)
            timers = {
                "copy": copy_timer(options, command.bytes),
                "ours": timing.by_command(ours.step, command.index),
            }
            timings = timing.compare(timers, options.rounds)
            ratios = rows_of(command.kernel, timings, "copy", command.bytes, {})
            made.append({**ratios[1], "bytes": command.bytes})
        title = f"Rows of {name}, {options.tokens[0]} tokens, copies of the same bytes"
        results.table(title, made, ROW_COLUMNS)
    size = 2**32 if options.device == "cuda" else 2**26
    rate = size / copy_timer(options, size)(20)
    print(f"a copy that moves {size / 2**30:g} GiB: {rate / 1e9:.0f} GB/s")


#===------------------------------------------------------------------------===#
# Every launch of a block
#===------------------------------------------------------------------------===#

STEP_COLUMNS = {
    "what": ("", ""),
    "class": ("", ""),
    "predicted": ("predicted ms", report.milliseconds),
    "sustained": ("ms", report.milliseconds),
    "rate": ("TFLOP/s", report.teraflops),
    "bandwidth": ("GB/s", lambda rate: f"{rate / 1e9:.0f}"),
}


def step(options, results):
    program = ckpt_rt.Program(options.bundle / "dit-3072.ckpt")
    for tokens in options.tokens:
        ours = Ours(
            program, options.device, {"image": tokens}, {}, blocks=1, backend="none"
        )
        ours.step.run()
        made = []
        for command in ours.plan.commands:
            if command.kind != "launch":
                continue
            timer = timing.by_command(ours.step, command.index)
            t = timing.compare({"ours": timer}, options.rounds)["ours"]
            made.append(
                {
                    "what": str(command),
                    "class": command.kernel_class,
                    "predicted": command.end - command.begin,
                    "sustained": t.sustained,
                    "rate": command.flops / t.sustained,
                    "bandwidth": command.bytes / t.sustained,
                }
            )
        results.table(f"Launches of one block, {tokens} tokens", made, STEP_COLUMNS)
        for kind in ("predicted", "sustained"):
            total = sum(row[kind] for row in made)
            print(f"one block {kind}: {total * 1e3:.2f} ms, 16: {total * 16:.4f} s")


GROUPS = {
    "gemm": gemm,
    "attention": attention_kernels.attention,
    "rows": rows,
    "step": step,
}


def main():
    parser = report.arguments(__doc__)
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--tokens", nargs="+", type=int, default=[16384, 4096, 1024])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--prototype", help="folder with a kernel prototype's cubins and bench code"
    )
    options = parser.parse_args()
    bundle = report.use_bundle(options.bundle)
    torch.backends.cuda.matmul.allow_tf32 = False
    results = report.Report("kernels-" + "-".join(options.only), options, bundle)
    with torch.no_grad():
        for name in options.only:
            GROUPS[name](options, results)


if __name__ == "__main__":
    main()
