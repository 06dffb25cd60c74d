# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""What the checks on a GPU share: ckpt-run over a bundle's artifacts."""

import concurrent.futures
import pathlib
import subprocess
import tempfile

import safetensors.torch
import torch

# Processes at a time: most of each is start-up and float64 on the processor.
WORKERS = 6


def write(path, shapes, values):
    """A safetensors file of bf16 tensors that hold one value each."""
    tensors = {
        name: torch.full(shape, values[name], dtype=torch.bfloat16)
        for name, shape in shapes.items()
    }
    safetensors.torch.save_file(tensors, path)


class Runner:
    def __init__(self, bundle):
        self.bundle = pathlib.Path(bundle)
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)

    def run(self, model, sizes, *flags):
        """The reason why it failed, or None."""
        command = [self.bundle / "bin/ckpt-run", self.bundle / f"{model}.ckpt"]
        for name, value in sizes.items():
            command += ["--dim", f"{name}={value}"]
        done = subprocess.run(
            [*command, *flags], text=True, capture_output=True, timeout=600
        )
        if done.returncode == 0:
            return None
        lines = (done.stderr + done.stdout).strip().splitlines()
        bad = [line for line in lines if "out" in line or "rror" in line]
        return f"{model} {sizes}: " + "; ".join(bad[-4:] or lines[-2:])


def report(cases, chosen):
    """Runs {name: function that gives why it failed, or None}, several at a
    time, each a process of its own; a line each. How many failed."""
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        jobs = {
            name: pool.submit(case)
            for name, case in cases.items()
            if not chosen or name.split()[0] in chosen
        }
        if not jobs:
            raise SystemExit(f"expected one of {', '.join(cases)}, found {chosen}")
        for name, job in jobs.items():
            fault = job.result()
            failed += fault is not None
            state = "ok" if fault is None else f"FAILED: {fault}"
            print(f"{name:24} {state}", flush=True)
    return failed
