# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""Attention forward and whole backward beside PyTorch's backends,
FlashAttention-4 where it is installed, and a prototype's cubins where given."""

import torch
import torch.nn.functional as F

import ckpt_rt
import peers
import report
import timing
from ours import Ours

HEADS = {128: 24, 64: 48}
# Tokens of the checks against float64: ragged, and even.
CHECKED = (1400, 4096)


class Peer:
    """Attention of PyTorch under one backend on the tensors of ours."""

    def __init__(self, backend, memory):
        q, k, v, do = (
            memory[name].transpose(1, 2).contiguous()
            for name in ("q", "k", "v", "grad.out.q")
        )
        self.inputs = [t.requires_grad_() for t in (q, k, v)]
        self.attend = peers.with_sdpa(backend, F.scaled_dot_product_attention)
        with torch.enable_grad():
            self.o = self.attend(*self.inputs)
        self.do = do

    def forward(self):
        return self.attend(*self.inputs)

    def backward(self):
        return torch.autograd.grad(self.o, self.inputs, self.do, retain_graph=True)

    def results(self):
        """O, dQ, dK, dV as ours lays them out."""
        tensors = self.o.detach(), *self.backward()
        return [t.transpose(1, 2) for t in tensors]


class FlashAttention4:
    def __init__(self, function, memory, deterministic):
        self.inputs = [memory[n].clone().requires_grad_() for n in ("q", "k", "v")]
        self.function, self.do = function, memory["grad.out.q"]
        with torch.enable_grad():
            o = function(*self.inputs, deterministic=deterministic)
        self.o = o[0] if isinstance(o, tuple) else o

    def forward(self):
        return self.function(*self.inputs)

    backward = Peer.backward


def reference(memory):
    """O, dQ, dK, dV in float64, a head at a time."""
    names = ("q", "k", "v", "grad.out.q")
    results = [torch.empty_like(memory["q"], dtype=torch.float64) for _ in range(4)]
    scale = memory["q"].shape[-1] ** -0.5
    for head in range(memory["q"].shape[2]):
        q, k, v, do = (memory[name][0, :, head].double() for name in names)
        p = torch.softmax(q @ k.t() * scale, -1)
        o = p @ v
        ds = p * (do @ v.t() - (do * o).sum(-1, keepdim=True)) * scale
        for result, value in zip(results, (o, ds @ k, ds.t() @ q, p.t() @ do)):
            result[0, :, head] = value
    return results


def results_of(memory):
    return [memory[name] for name in ("out.q", "grad.q", "grad.k", "grad.v")]


CHECK_COLUMNS = {
    "what": ("", ""),
    "name": ("", ""),
    **{name: (name, ".3e") for name in ("o", "dq", "dk", "dv")},
    "worst": ("of flash-2's", report.ratio),
    "repeats": ("repeats bit for bit", str),
}


def check(options, programs, head, tokens, base):
    memory, made = {}, []
    ours = {
        name: Ours(program, options.device, {"tokens": tokens}, memory)
        for name, program in programs.items()
    }
    wide = reference(memory)

    def add(name, results, repeats=None):
        errors = [timing.error(*pair) for pair in zip(results, wide)]
        made.append({"what": f"{HEADS[head]} x {tokens} x {head}", "name": name})
        made[-1].update(zip(("o", "dq", "dk", "dv"), errors), repeats=repeats)
        peer = [made[0][key] for key in ("o", "dq", "dk", "dv")]
        made[-1]["worst"] = max(a / b for a, b in zip(errors, peer))

    add(base, Peer(base, memory).results())
    for name, step in ours.items():
        step.step.run()
        first = step.results()
        step.step.run()
        again = step.results()
        same = all(torch.equal(first[key], again[key]) for key in first)
        add(name, results_of(memory), same)
    return made


def one_shape(options, programs, prototype, head, tokens, names):
    """Rows of forward and backward at one shape."""
    memory = {}
    ours = {
        name: Ours(program, options.device, {"tokens": tokens}, memory)
        for name, program in programs.items()
    }
    for step in ours.values():
        step.step.run()
    candidates = {name: Peer(name, memory) for name in names}
    function = peers.flash_attention_4()
    if function and options.device == "cuda":
        candidates["FA4"] = FlashAttention4(function, memory, False)
        candidates["FA4 det"] = FlashAttention4(function, memory, True)
    shape = f"{HEADS[head]} x {tokens} x {head}"
    made = []
    for direction, count in (("forward", 4.0), ("backward", 10.0)):
        timers = {
            name: timing.by_events(getattr(candidate, direction))
            for name, candidate in candidates.items()
            if (name, direction) != ("FA4 det", "forward")
        }
        for name, step in ours.items():
            if direction == "backward":
                command = step.find("sdpa_dx")
            elif name == "ours":
                command = step.find("sdpa")
            else:
                continue
            timers[name] = timing.by_command(step.step, command.index)
        if prototype:
            timers.update(prototype.timers(direction, memory))
        work = count * HEADS[head] * tokens * tokens * head
        timings = timing.compare(timers, options.rounds)
        what = f"{direction} {shape}"
        made += report.rows_of(what, timings, names[0], work, {})
    return made


def attention(options, results):
    on_gpu = options.device == "cuda"
    names = ["cudnn", "flash-2"] if on_gpu else ["math"]
    prototype = None
    if options.prototype:
        from prototype import Prototype

        prototype = Prototype(options.prototype)
    checks, shapes = [], []
    for head in HEADS:
        programs = {
            "ours": ckpt_rt.Program(options.bundle / f"attention-{head}.ckpt"),
            "ours det": ckpt_rt.Program(options.bundle / f"attention-{head}-det.ckpt"),
        }
        for tokens in CHECKED if on_gpu else (70,):
            checks += check(options, programs, head, tokens, names[-1])
        for tokens in options.tokens:
            shapes += one_shape(options, programs, prototype, head, tokens, names)
    results.table("Attention, errors against float64", checks, CHECK_COLUMNS)
    results.table("Attention", shapes, report.COLUMNS)
