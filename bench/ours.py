# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""ckpt steps over torch tensors."""

import functools
import math

import torch

import ckpt_rt
import timing


def _random(tensor, device):
    """As the oracle's seeds: parameters scaled by their fan-in, all else of
    unit size, so that no value grows over the blocks and no kernel runs on
    zeros, which take less power."""
    made = torch.empty(tensor.shape, device=device, dtype=getattr(torch, tensor.dtype))
    if tensor.kind in ("output", "gradient"):
        return made.fill_(math.nan)
    if tensor.kind != "param":
        return made.normal_()
    fan_in = tensor.shape[-1] if len(tensor.shape) > 1 else 100
    return made.normal_(std=fan_in**-0.5)


@functools.cache
def _device(name):
    """One for all steps, so that they can share host memory."""
    return ckpt_rt.Device(name)


class Ours:
    """A step and the tensors that are bound to it.

    `memory` {name: tensor} is shared: what it lacks is made, so that several
    steps and their peers run on the same weights and inputs.
    """

    def __init__(self, program, device, sizes, memory, options=None, **controls):
        where = "cpu" if device == "host" else "cuda"
        self.plan = ckpt_rt.Plan(program, sizes, **controls)
        self.memory = memory
        self.step = ckpt_rt.Step(self.plan, _device(device), **(options or {}))
        for tensor in self.plan.tensors:
            if tensor.name not in memory:
                memory[tensor.name] = _random(tensor, where)
            pointer = memory[tensor.name].data_ptr()
            self.step.bind(tensor.name, pointer, tensor.bytes)
        # The step runs on streams of its own.
        timing.synchronize()

    def results(self):
        """{name: copy} of outputs and gradients."""
        made = {
            tensor.name: self.memory[tensor.name].clone()
            for tensor in self.plan.tensors
            if tensor.kind in ("output", "gradient")
        }
        # The next run may overwrite them.
        timing.synchronize()
        return made

    def find(self, kernel, backward=None):
        """The first launch of a kernel whose name begins like this."""
        for command in self.plan.commands:
            if command.kind == "launch" and command.kernel.startswith(kernel):
                if backward is None or command.backward == backward:
                    return command
        names = {c.kernel for c in self.plan.commands if c.kernel}
        raise SystemExit(f"no launch of {kernel}; there are {', '.join(sorted(names))}")
