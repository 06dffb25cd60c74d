#!/usr/bin/env python3
# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""Milliseconds a step in which compute waits for copies, predicted and measured.

    bench/copies.py                        # 16384 and 4096 tokens

Measured twice: `waits` adds up, by events of the device, how long the compute
stream stood at a wait, and how long it was done before the copies at the end of
forward and backward; `slower` is the step's time less that of the same kernels
without the copies. `off` is predicted less `waits`, as a part of the step.
"""

import statistics

import torch

import ckpt_rt
import report
import timing
from ours import Ours

# Mode: controls, and the controls that run the same kernels without copies.
MODES = {
    "unsloth": ({"backend": "unsloth"}, {"backend": "torch"}),
    "unsloth, attention-once": (
        {"backend": "unsloth", "attention_once": True},
        {"backend": "torch", "attention_once": True},
    ),
    "unsloth-ffn": ({"backend": "unsloth-ffn"}, {"backend": "torch-ffn"}),
    "none, offload-attention": (
        {"backend": "none", "offload_attention": True},
        {"backend": "none"},
    ),
}
COLUMNS = {
    "mode": ("", ""),
    "step": ("step ms", report.milliseconds),
    "copied": ("GiB each way", report.gib),
    "out": ("out GB/s", lambda rate: f"{rate / 1e9:.1f}"),
    "back": ("in GB/s", lambda rate: f"{rate / 1e9:.1f}"),
    "predicted": ("predicted ms", report.milliseconds),
    "waits": ("waits ms", report.milliseconds),
    "slower": ("slower ms", report.milliseconds),
    "off": ("off", ".1%"),
}


def exposed(ours):
    """Seconds in which compute waited in the last run of a step that measures."""
    total = 0.0
    ends = {}
    for command in ours.plan.commands:
        begin, end = ours.step.command_times(command.index)
        if command.kind == "wait" and command.stream == "compute":
            total += end - begin
        entry = ends.setdefault(command.backward, {})
        entry[command.stream] = max(entry.get(command.stream, 0), end)
    return total + sum(max(e.values()) - e["compute"] for e in ends.values())


def seconds_of(program, options, memory, controls):
    ours = Ours(program, options.device, options.sizes, memory, **controls)
    return timing.steps_by_clock(ours.step.run, 2, options.steps)


def rate(ours, kind):
    """Bytes a second of the largest copy of this kind, alone."""
    copies = [c for c in ours.plan.commands if c.kind == kind]
    if not copies:
        return None
    largest = max(copies, key=lambda c: c.bytes)
    return largest.bytes / ours.step.time_command(largest.index, 10)


def one_mode(program, options, memory, mode):
    controls, without = ({**c, "blocks": options.blocks} for c in MODES[mode])
    step = seconds_of(program, options, memory, controls)
    slower = step - seconds_of(program, options, memory, without)
    measure = {"measure": 1}
    ours = Ours(program, options.device, options.sizes, memory, measure, **controls)
    waits = []
    for _ in range(options.steps):
        ours.step.run()
        waits.append(exposed(ours))
    predicted = ours.plan.costs["exposed_seconds"]
    waits = statistics.median(waits[1:])
    return {
        "mode": mode,
        "step": step,
        "copied": ours.plan.costs["copied_to_host"],
        "out": rate(ours, "copy-out"),
        "back": rate(ours, "copy-in"),
        "predicted": predicted,
        "waits": waits,
        "slower": slower,
        "off": (predicted - waits) / step,
    }


def main():
    parser = report.arguments(__doc__)
    parser.add_argument("--tokens", nargs="+", type=int, default=[16384, 4096])
    parser.add_argument("--blocks", type=int, help="the first so many")
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    results = report.Report("copies", options, report.use_bundle(options.bundle))
    program = ckpt_rt.Program(options.bundle / "dit-3072.ckpt")
    for tokens in options.tokens:
        options.sizes = {"image": tokens}
        memory = {}
        rows = [one_mode(program, options, memory, mode) for mode in MODES]
        results.table(f"Exposed copies, {tokens} tokens", rows, COLUMNS)
        del memory
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
