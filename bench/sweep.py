#!/usr/bin/env python3
# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""Seconds and peak bytes of a training step: ours in every mode beside eager
and compiled PyTorch with cuDNN, offload as unsloth does it, and JAX.

    bench/sweep.py --tokens 16384
    bench/sweep.py --tokens 4096                   # with CUDA graphs
    bench/sweep.py --tokens 1024
    bench/sweep.py --model dit-4096 --tokens 3072  # 32 blocks of width 4096
    bench/sweep.py --model dit-lora --tokens 16384 # rank 16, without JAX

The base is frozen; a step computes the output and the gradient of the input,
with LoRA those of the adapters. All run on the same weights and inputs, JAX on
its own. Peak: what the step allocates at most plus weights, input and output
gradient; `error`: of the output and the gradient against eager PyTorch's.
"""

import gc
import json
import pathlib
import subprocess
import sys

import torch

import ckpt_rt
import peers
import report
import timing
from ours import Ours

# Blocks, heads, width.
MODELS = {
    "dit-3072": (16, 24, 3072),
    "dit-4096": (32, 32, 4096),
    "dit-lora": (16, 24, 3072),
}
MODES = {
    "none": {"backend": "none"},
    "none, offload-attention": {"backend": "none", "offload_attention": True},
    "torch-ffn": {"backend": "torch-ffn"},
    "unsloth-ffn": {"backend": "unsloth-ffn"},
    "torch": {"backend": "torch"},
    "torch, attention-once": {"backend": "torch", "attention_once": True},
    "unsloth": {"backend": "unsloth"},
    "unsloth, attention-once": {"backend": "unsloth", "attention_once": True},
}
PEER_MODES = ("none", "torch-ffn", "unsloth-ffn", "torch", "unsloth")
COMPILED_MODES = ("none", "torch")
# Sizes at which launches count: whole steps are replayed as CUDA graphs.
GRAPH_TOKENS = 4096
COLUMNS = {
    "system": ("", ""),
    "mode": ("", ""),
    "seconds": ("s", lambda s: f"{s:.4f}"),
    "peak": ("peak GiB", report.gib),
    "predicted": ("predicted s", lambda s: f"{s:.4f}"),
    "exact": ("peak exact", str),
    "host": ("host us", lambda s: f"{s * 1e6:.0f}"),
    "error": ("error", ".1e"),
    "note": ("", ""),
}


def release():
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def lengths(options, seconds):
    """Warm steps, then steps that are timed."""
    warm = max(2, min(50, int(options.seconds / 3 / seconds)))
    return warm, max(5, min(200, int(options.seconds / seconds)))


def worst_error(results, expected):
    """Of {name: tensor}, against eager PyTorch's."""
    return max(timing.error(results[name], expected[name]) for name in expected)


#===------------------------------------------------------------------------===#
# Ours
#===------------------------------------------------------------------------===#


def touched(program, options, memory, controls, other):
    """Highest arena byte that a step on poisoned memory uses, plus one."""
    poison = {"poison": 1, "share_host_memory_with": other.step.handle.value}
    ours = Ours(program, options.device, options.sizes, memory, poison, **controls)
    ours.step.run()
    return ours.step.statistics["touched_bytes"]


def run_ours(program, options, memory, mode, expected):
    controls = {**MODES[mode], "blocks": options.blocks}
    graph = {"graph": int(options.graphs)}
    ours = Ours(program, options.device, options.sizes, memory, graph, **controls)
    for name in expected:
        memory[name].fill_(float("nan"))
    timing.synchronize()
    ours.step.run()
    once = timing.steps_by_clock(ours.step.run, 1, 1)
    seconds = timing.steps_by_clock(ours.step.run, *lengths(options, once))
    costs, counts = ours.plan.costs, ours.step.statistics
    row = {
        "seconds": seconds,
        "device_seconds": counts["forward_seconds"] + counts["backward_seconds"],
        "peak": costs["peak_bytes"] + costs["external_bytes"],
        "arena": counts["arena_bytes"],
        "external": costs["external_bytes"],
        "host_bytes": costs["host_bytes"],
        "predicted": costs["seconds"],
        "predicted_exposed": costs["exposed_seconds"],
        "host": counts["issue_seconds"],
        "fallbacks": counts["pool_fallbacks"] + counts["pool_pageable"],
        "error": worst_error(memory, expected),
    }
    row["touched"] = touched(program, options, memory, controls, ours)
    row["exact"] = costs["peak_bytes"] == row["arena"] == row["touched"]
    return row


#===------------------------------------------------------------------------===#
# PyTorch
#===------------------------------------------------------------------------===#


def peak_of(step, memory):
    """Allocated bytes at the peak of a step and, once, what a caller holds."""
    if not torch.cuda.is_available():
        step()
        return None
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    held = sum(
        tensor.nbytes
        for name, tensor in memory.items()
        if name in ("x", "grad.out.x") or name.startswith("blocks.")
    )
    return torch.cuda.max_memory_allocated() - before + held


def make_peer(options, memory, mode, compiled=False):
    heads = MODELS[options.model][1]
    backend = "cudnn" if options.device == "cuda" else "math"
    return peers.Step(memory, options.blocks, heads, backend, mode, compiled)


def run_peer(options, memory, mode, compiled, expected):
    torch._dynamo.reset()
    step = make_peer(options, memory, mode, compiled)
    error = worst_error(dict(zip(step.names, step())), expected)
    step()
    peak = peak_of(step, memory)
    if compiled and options.graphs:
        step = peers.captured(step)
    once = timing.steps_by_events(step, 1, 1)
    seconds = timing.steps_by_events(step, *lengths(options, once))
    return {"seconds": seconds, "peak": peak, "error": error}


#===------------------------------------------------------------------------===#
# JAX
#===------------------------------------------------------------------------===#


def run_jax(options):
    """Rows of jax_step.py, in a process with memory of its own."""
    script = pathlib.Path(__file__).with_name("jax_step.py")
    _, heads, width = MODELS[options.model]
    command = [sys.executable, script, "--heads", heads, "--width", width]
    command += ["--blocks", options.blocks, "--tokens", options.tokens]
    command += ["--device", options.device, "--seconds", options.seconds]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"]
    if done.returncode:
        rows.append({"mode": "", "note": f"failed with code {done.returncode}"})
    return [{"system": "JAX", **row} for row in rows]


#===------------------------------------------------------------------------===#
# All
#===------------------------------------------------------------------------===#


# Ours: another's, or ours in another mode.
RATIOS = [
    ("none", "compile", "none"),
    ("torch", "compile", "torch"),
    ("torch, attention-once", "ckpt", "none"),
    ("unsloth", "ckpt", "torch"),
    ("unsloth", "JAX", "unsloth"),
    ("unsloth-ffn", "ckpt", "torch-ffn"),
    ("none", "eager", "none"),
    ("torch-ffn", "eager", "torch-ffn"),
    ("unsloth-ffn", "eager", "unsloth-ffn"),
    ("torch", "eager", "torch"),
    ("unsloth", "eager", "unsloth"),
]
RATIO_COLUMNS = {
    "ours": ("ours", ""),
    "other": ("over", ""),
    "time": ("time", report.ratio),
    "memory": ("peak", report.ratio),
}


def ratios(rows):
    made = []
    found = {(r["system"].split(",")[0], r["mode"]): r for r in rows if "seconds" in r}
    pairs = [("ckpt", mode, *other) for mode, *other in RATIOS]
    for *ours, system, mode in [*pairs, ("ckpt det", "none", "ckpt", "none")]:
        a, b = found.get(tuple(ours)), found.get((system, mode))
        if a and b:
            made.append({"ours": ", ".join(ours), "other": f"{system}, {mode}"})
            made[-1]["time"] = a["seconds"] / b["seconds"]
            made[-1]["memory"] = a["peak"] / b["peak"] if b.get("peak") else None
    return made


def measure(rows, system, mode, function, *arguments):
    """Adds a row, also when this system cannot do it."""
    row = {"system": system, "mode": mode}
    try:
        row.update(function(*arguments))
    except Exception as failure:
        row["note"] = f"failed: {str(failure).splitlines()[0][:60]}"
    rows.append(row)
    shown = row.get("note") or f"{row['seconds']:.4f} s"
    print(f"{system}, {mode}: {shown}", flush=True)
    release()


def parse():
    parser = report.arguments(__doc__)
    parser.add_argument("--model", choices=MODELS, default="dit-3072")
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("--blocks", type=int, help="the first so many")
    parser.add_argument(
        "--systems",
        nargs="+",
        choices=["ours", "eager", "compile", "jax"],
        default=["ours", "eager", "compile", "jax"],
    )
    parser.add_argument("--seconds", type=float, default=2, help="timed, a mode")
    options = parser.parse_args()
    options.blocks = options.blocks or MODELS[options.model][0]
    options.sizes = {"image": options.tokens}
    options.graphs = options.device == "cuda" and options.tokens <= GRAPH_TOKENS
    return options


def main():
    options = parse()
    bundle = report.use_bundle(options.bundle)
    name = f"sweep-{options.model}-{options.tokens}"
    results = report.Report(name, options, bundle)
    program = ckpt_rt.Program(options.bundle / f"{options.model}.ckpt")
    memory, rows = {}, []
    # Makes the tensors that all share.
    Ours(program, options.device, options.sizes, memory, blocks=options.blocks)
    reference = make_peer(options, memory, "none")
    expected = dict(zip(reference.names, reference()))
    # So that the first mode too runs on a warm card.
    once = timing.steps_by_events(reference, 1, 1)
    timing.steps_by_events(reference, 0, max(1, int(options.seconds / once)))
    del reference
    release()

    if "ours" in options.systems:
        for mode in MODES:
            arguments = program, options, memory, mode, expected
            measure(rows, "ckpt", mode, run_ours, *arguments)
        deterministic = options.bundle / f"{options.model}-det.ckpt"
        if deterministic.exists():
            arguments = ckpt_rt.Program(deterministic), options, memory, "none"
            measure(rows, "ckpt det", "none", run_ours, *arguments, expected)
    if "eager" in options.systems:
        for mode in PEER_MODES:
            arguments = options, memory, mode, False, expected
            measure(rows, "eager", mode, run_peer, *arguments)
    if "compile" in options.systems:
        for mode in COMPILED_MODES:
            system = "compile, CUDA graphs" if options.graphs else "compile"
            arguments = options, memory, mode, True, expected
            measure(rows, system, mode, run_peer, *arguments)
    if "ours" in options.systems:
        # How much the card drifts over a run.
        arguments = program, options, memory, "none", expected
        measure(rows, "ckpt again", "none", run_ours, *arguments)
    memory.clear()
    expected.clear()
    release()
    if "jax" in options.systems and options.model != "dit-lora":
        rows += run_jax(options)
    title = f"{options.model}, {options.blocks} blocks, {options.tokens} tokens"
    results.table(title, rows, COLUMNS)
    results.table(f"Ratios, {title}", ratios(rows), RATIO_COLUMNS)


if __name__ == "__main__":
    main()
