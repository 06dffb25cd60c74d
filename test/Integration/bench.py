# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""What the benchmarks stand on, without a GPU: the C API from Python, and that
ours and PyTorch's block compute the same.

usage: bench.py CKPT_COMPILE LIBCKPT_RT REPOSITORY
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import torch

CKPT_COMPILE, LIBRARY, ROOT = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
os.environ["CKPT_RT_LIBRARY"] = LIBRARY
sys.path.insert(0, str(ROOT / "bench"))

import ckpt_rt
import copies
import peers
import timing
from ours import Ours

BLOCKS, HEADS, SIZES = 3, 24, {"image": 40}
MODES = [
    {"backend": "torch"},
    {"backend": "torch-ffn", "interval": 2},
    {"backend": "unsloth", "attention_once": True},
    {"backend": "none", "offload_attention": True},
]


def check_steps(program):
    memory = {}
    plain = Ours(program, "host", SIZES, memory, blocks=BLOCKS, backend="none")
    plain.step.run()
    expected = plain.results()
    step = peers.Step(memory, BLOCKS, HEADS, "math", "none")
    assert set(step.names) == set(expected), (step.names, list(expected))
    for name, result in zip(step.names, step()):
        error = timing.error(expected[name], result)
        # Both round to bf16; small differences of large terms meet in adapters.
        assert error < 0.15, f"{name}: differs by {error} from PyTorch's"
    for controls in MODES:
        ours = Ours(
            program, "host", SIZES, memory, {"measure": 1}, blocks=BLOCKS, **controls
        )
        ours.step.run()
        for name, result in ours.results().items():
            assert torch.equal(result, expected[name]), f"{controls}: {name}"
        costs, counts = ours.plan.costs, ours.step.statistics
        assert counts["arena_bytes"] == costs["peak_bytes"]
        assert counts["copied_to_host"] == costs["copied_to_host"]
        assert copies.exposed(ours) >= 0
        launch = ours.find("linear")
        assert launch.flops > 0 and launch.kernel_class == "gemm"
        assert ours.step.time_command(launch.index, 2) > 0


def check_refusals(program):
    for controls, word in (
        ({"backend": "torch", "interval": 0}, "interval"),
        ({"sizes": {**SIZES, "picture": 3}}, "picture"),
    ):
        try:
            ckpt_rt.Plan(program, **{"sizes": SIZES, **controls})
        except ckpt_rt.Error as error:
            assert word in str(error), error
        else:
            raise AssertionError(f"{controls} were taken")


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("dit-3072", "dit-lora"):
            path = pathlib.Path(folder) / f"{name}.ckpt"
            source = ROOT / f"examples/twins/{name}.mlir"
            subprocess.run([CKPT_COMPILE, source, "-o", path], check=True)
            program = ckpt_rt.Program(path)
            assert program.target == "host" and "image" in program.sizes
            check_steps(program)
            check_refusals(program)


if __name__ == "__main__":
    main()
