# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""The sweep's training step in JAX: a scan over the blocks under
jax.checkpoint. Prints one JSON object a mode: seconds, and the peak bytes that
XLA plans (arguments, results and temporaries). sweep.py runs this."""

import argparse
import functools
import json
import os
import statistics
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

MODES = ("none", "torch-ffn", "torch", "unsloth")


def norm(x):
    wide = x.astype(jnp.float32)
    mean = wide.mean(-1, keepdims=True)
    variance = wide.var(-1, keepdims=True)
    return ((wide - mean) * jax.lax.rsqrt(variance + 1e-6)).astype(x.dtype)


def linear(w, name, x):
    return x @ w[name] + w[f"{name}.bias"]


def attention_side(heads, implementation, w, x):
    batch, tokens, width = x.shape
    qkv = linear(w, "qkv", norm(x)).reshape(batch, tokens, 3, heads, -1)
    q, k, v = (qkv[:, :, i] for i in range(3))
    o = jax.nn.dot_product_attention(q, k, v, implementation=implementation)
    return x + linear(w, "proj", o.reshape(batch, tokens, width))


def ffn_side(w, x):
    hidden = jax.nn.gelu(linear(w, "fc1", norm(x)), approximate=True)
    return x + linear(w, "fc2", hidden)


def block_of(mode, attend):
    if mode == "torch-ffn":
        ffn = jax.checkpoint(ffn_side, prevent_cse=False)
        return lambda w, x: ffn(w, attend(w, x))
    whole = lambda w, x: ffn_side(w, attend(w, x))
    if mode == "none":
        return whole
    if mode == "torch":
        return jax.checkpoint(whole, prevent_cse=False)
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["x"],
        offload_src="device",
        offload_dst="pinned_host",
    )
    named = lambda w, x: whole(w, checkpoint_name(x, "x"))
    return jax.checkpoint(named, policy=policy, prevent_cse=False)


def make_tensors(options):
    shapes = {
        "qkv": (options.width, 3 * options.width),
        "proj": (options.width, options.width),
        "fc1": (options.width, 4 * options.width),
        "fc2": (4 * options.width, options.width),
    }
    key = jax.random.key(0)
    weights = {}
    for name, shape in shapes.items():
        key, one, two = jax.random.split(key, 3)
        made = jax.random.normal(one, (options.blocks, *shape), jnp.bfloat16)
        weights[name] = made * shape[0] ** -0.5
        bias = jax.random.normal(two, (options.blocks, shape[1]), jnp.bfloat16)
        weights[f"{name}.bias"] = bias * 0.1
    one, two = jax.random.split(key)
    shape = 1, options.tokens, options.width
    return weights, *(jax.random.normal(k, shape, jnp.bfloat16) for k in (one, two))


def peak_of(compiled):
    memory = compiled.memory_analysis()
    sizes = memory.argument_size_in_bytes + memory.output_size_in_bytes
    return sizes + memory.temp_size_in_bytes - memory.alias_size_in_bytes


def run(options, mode, weights, x, dy):
    implementation = "cudnn" if options.device == "cuda" else "xla"
    attend = functools.partial(attention_side, options.heads, implementation)
    block = block_of(mode, attend)

    def forward(x, weights):
        return jax.lax.scan(lambda x, w: (block(w, x), None), x, weights)[0]

    @jax.jit
    def step(weights, x, dy):
        y, backward = jax.vjp(lambda x: forward(x, weights), x)
        return y, backward(dy)[0]

    begin = time.perf_counter()
    compiled = step.lower(weights, x, dy).compile()
    compile_seconds = time.perf_counter() - begin
    jax.block_until_ready(compiled(weights, x, dy))
    spent, seconds = 0, []
    while spent < options.seconds * 4 / 3 or len(seconds) < 7:
        begin = time.perf_counter()
        jax.block_until_ready(compiled(weights, x, dy))
        seconds.append(time.perf_counter() - begin)
        spent += seconds[-1]
    warm = seconds[len(seconds) // 4 :]
    return {
        "mode": mode,
        "seconds": statistics.median(warm),
        "peak": peak_of(compiled),
        "compile_seconds": compile_seconds,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("blocks", "heads", "width", "tokens"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--device", choices=["cuda", "host"], default="cuda")
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    tensors = make_tensors(options)
    for mode in MODES:
        try:
            row = run(options, mode, *tensors)
        except Exception as failure:
            row = {"mode": mode, "note": f"failed: {str(failure).splitlines()[0][:60]}"}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
