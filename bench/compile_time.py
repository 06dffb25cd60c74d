#!/usr/bin/env python3
# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""Seconds from block IR to an artifact for the GPU, from nothing and from the
cache, and to a plan for a new number of tokens. Needs LLVM and no GPU.

    bench/compile_time.py                    # the sweep's 16 blocks
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOKENS = (1000, 4096, 5000, 16384)


def seconds(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("source", nargs="?", default=ROOT / "examples/dit-3072.mlir")
    options = parser.parse_args()
    library = options.build / "lib/libckpt_rt.so.1"
    os.environ.setdefault("CKPT_RT_LIBRARY", str(library))
    import ckpt_rt

    with tempfile.TemporaryDirectory() as folder:
        artifact = pathlib.Path(folder) / "step.ckpt"
        command = [options.build / "bin/ckpt-compile", options.source]
        command += ["--target=nvptx", "--cubin", "-o", artifact]
        environment = {**os.environ, "CKPT_CACHE_DIR": f"{folder}/cache"}
        compile_once = lambda: subprocess.run(command, env=environment, check=True)
        cores = len(os.sched_getaffinity(0))
        print(f"cold compile, {cores} cores  {seconds(compile_once):.2f} s")
        warm = statistics.median(seconds(compile_once) for _ in range(5))
        print(f"from the cache         {warm:.3f} s")
        program = ckpt_rt.Program(artifact)
        for backend in ("none", "unsloth"):
            for tokens in TOKENS:
                plan = lambda: ckpt_rt.Plan(
                    program, {"image": tokens}, backend=backend
                )
                took = statistics.median(seconds(plan) for _ in range(5))
                print(f"plan {backend:8} {tokens:6} tokens  {took * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
