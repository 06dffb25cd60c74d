# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""The sweep's block in PyTorch, and its training step in the ways that people
run it: eager, compiled, checkpointed, offloaded, replayed as a CUDA graph.

A block is a function of the state `x` (batch, tokens, width) and of a dict of
weights; `memory` {name: tensor} holds what a ckpt step of the same stack binds.
"""

import functools

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

SDPA = {
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "flash-2": SDPBackend.FLASH_ATTENTION,
    "math": SDPBackend.MATH,
}
LORA_SCALE = 2.0


def flash_attention_4():
    """flash_attn_func of FlashAttention-4, or None where it is not installed."""
    try:
        from flash_attn.cute import flash_attn_func
    except ImportError:
        return None
    return flash_attn_func


def with_sdpa(backend, function):
    """`function`, with PyTorch's attention by that backend alone."""

    def run(*arguments):
        with sdpa_kernel(SDPA[backend]):
            return function(*arguments)

    return run


#===------------------------------------------------------------------------===#
# The block
#===------------------------------------------------------------------------===#


def weights_of(memory, block):
    """The weights of one block by their names after `blocks.{i}.`."""
    prefix = f"blocks.{block}."
    return {k[len(prefix) :]: v for k, v in memory.items() if k.startswith(prefix)}


def linear(w, name, x):
    y = F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])
    if f"{name}.lora_A.weight" not in w:
        return y
    low = F.linear(x, w[f"{name}.lora_A.weight"])
    return y + LORA_SCALE * F.linear(low, w[f"{name}.lora_B.weight"])


def norm(x):
    return F.layer_norm(x, x.shape[-1:], eps=1e-6)


def attention_side(w, heads, x):
    batch, tokens, width = x.shape
    qkv = linear(w, "attn.qkv", norm(x)).view(batch, tokens, 3, heads, -1)
    q, k, v = (t.transpose(1, 2) for t in qkv.unbind(2))
    o = F.scaled_dot_product_attention(q, k, v)
    o = o.transpose(1, 2).reshape(batch, tokens, width)
    return x + linear(w, "attn.proj", o)


def ffn_side(w, x):
    hidden = F.gelu(linear(w, "mlp.fc1", norm(x)), approximate="tanh")
    return x + linear(w, "mlp.fc2", hidden)


def block(w, heads, x):
    return ffn_side(w, attention_side(w, heads, x))


SCOPES = block, attention_side, ffn_side


#===------------------------------------------------------------------------===#
# Offload as unsloth does it, with a pinned pool and prefetch
#===------------------------------------------------------------------------===#


class OffloadPool:
    """Pinned buffers, one for each offloaded state of a step, and the streams
    that fill and empty them. A state is fetched one scope ahead of its use."""

    def __init__(self):
        self.out, self.back = torch.cuda.Stream(), torch.cuda.Stream()
        self.buffers, self.fetched = [], {}
        self.open = 0

    def store(self, x):
        slot = self.open
        self.open += 1
        if slot == len(self.buffers):
            self.buffers.append(torch.empty(x.shape, dtype=x.dtype, pin_memory=True))
        self.out.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.out):
            self.buffers[slot].copy_(x, non_blocking=True)
        x.record_stream(self.out)
        return slot

    def fetch(self, slot):
        if slot < 0 or slot in self.fetched:
            return
        self.back.wait_stream(self.out)
        # Not earlier than compute is now: the buffer would live too long.
        self.back.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.back):
            x = self.buffers[slot].to("cuda", non_blocking=True)
        self.fetched[slot] = x, self.back.record_event()

    def load(self, slot):
        self.fetch(slot)
        x, ready = self.fetched.pop(slot)
        torch.cuda.current_stream().wait_event(ready)
        x.record_stream(torch.cuda.current_stream())
        self.open = slot
        self.fetch(slot - 1)
        return x


class Offloaded(torch.autograd.Function):
    """Runs `scope(x)`, keeps x on the host, and runs it again for the
    gradients of x and of `trainable`."""

    @staticmethod
    def forward(ctx, scope, pool, x, *trainable):
        ctx.scope, ctx.pool, ctx.trainable = scope, pool, trainable
        ctx.slot = pool.store(x)
        with torch.no_grad():
            return scope(x)

    @staticmethod
    def backward(ctx, dy):
        x = ctx.pool.load(ctx.slot).requires_grad_()
        with torch.enable_grad():
            y = ctx.scope(x)
        inputs = [x, *ctx.trainable]
        return None, None, *torch.autograd.grad(y, inputs, dy)


#===------------------------------------------------------------------------===#
# The step
#===------------------------------------------------------------------------===#


class Step:
    """Forward and backward of a stack. `mode`: none, torch, torch-ffn, unsloth
    or unsloth-ffn; `compiled` runs the scopes through torch.compile."""

    def __init__(self, memory, blocks, heads, backend, mode, compiled=False):
        self.x, self.dy = memory["x"], memory["grad.out.x"]
        self.weights = [weights_of(memory, i) for i in range(blocks)]
        lora = [name for name in self.weights[0] if ".lora_" in name]
        for w in self.weights:
            w.update({k: w[k].detach().requires_grad_() for k in lora})
        self.trainable = [w[k] for w in self.weights for k in lora]
        # What ckpt calls the results.
        gradients = [f"blocks.{i}.{k}" for i in range(blocks) for k in lora] or ["x"]
        self.names = ["out.x", *(f"grad.{name}" for name in gradients)]
        wrap = torch.compile if compiled else lambda function: function
        self.block, self.attention, self.ffn = map(wrap, SCOPES)
        self.heads, self.mode = heads, mode
        self.pool = OffloadPool() if mode.startswith("unsloth") else None
        self.run = with_sdpa(backend, self._run)

    def _block(self, w, x):
        if self.mode == "none":
            return self.block(w, self.heads, x)
        if self.mode.endswith("-ffn"):
            x = self.attention(w, self.heads, x)
            prefix, scope = "mlp.", functools.partial(self.ffn, w)
        else:
            prefix, scope = "", functools.partial(self.block, w, self.heads)
        if self.pool:
            inside = [t for name, t in w.items() if name.startswith(prefix)]
            trainable = [t for t in inside if t.requires_grad]
            return Offloaded.apply(scope, self.pool, x, *trainable)
        return checkpoint(scope, x, use_reentrant=False, preserve_rng_state=False)

    def _run(self):
        x = self.x.detach().requires_grad_(not self.trainable)
        y = x
        for w in self.weights:
            y = self._block(w, y)
        gradients = torch.autograd.grad(y, self.trainable or [x], self.dy)
        return y.detach(), *gradients

    def __call__(self):
        """The output; then the gradients of the trainable parameters, or of x
        where there are none."""
        return self.run()


def captured(step):
    """The step as one CUDA graph: a function that replays it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = step()

    def replay():
        graph.replay()
        return results

    return replay
