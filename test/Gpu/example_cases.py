# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""The examples under every combination of controls, on a machine with a GPU:

    python3 test/Gpu/example_cases.py BUNDLE [EXAMPLE ...]

BUNDLE is what bench/bundle makes. Real widths, four blocks, few tokens in odd
numbers. Without checkpointing every result and gradient is held against PyTorch
in float64; under any other controls they must be the same bits, and the bytes
predicted, placed and touched the same. One line each; the exit code is the
number of those that failed.
"""

import concurrent.futures
import itertools
import json
import pathlib
import subprocess
import sys

from runner import WORKERS

BUNDLE = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(".")
EXAMPLES = {
    "dit-3072": {"image": 203},
    "dit-lora": {"image": 203},
    "wan-1.3b": {"image": 203, "text": 77},
}


def all_controls():
    """Every legal combination: flags as a list."""
    segments = [[], ["--interval=1"], ["--interval=2"], ["--interval=3"]]
    segments += [["--interval=1", "--segment-stride=2"]]
    segments += [["--interval=2", "--segment-stride=3"]]
    for backend in ("torch", "unsloth", "torch-ffn", "unsloth-ffn"):
        attention = [[], ["--offload-attention"]]
        if not backend.endswith("-ffn"):
            attention += [["--attention-once"]]
        for segment, extra in itertools.product(segments, attention):
            yield [f"--backend={backend}", *segment, *extra]
    yield ["--backend=none", "--offload-attention"]
    yield ["--backend=unsloth", "--pin-memory-max-buckets=0"]


def run(example, flags):
    """(report, None) or (None, why it failed)."""
    command = [BUNDLE / "bin/ckpt-run", BUNDLE / f"{example}-det.ckpt"]
    command += ["--blocks=4", "--report=json", *flags]
    for name, value in EXAMPLES[example].items():
        command += ["--dim", f"{name}={value}"]
    done = subprocess.run(command, text=True, capture_output=True, timeout=300)
    if done.returncode:
        lines = (done.stderr + done.stdout).strip().splitlines()
        return None, " ".join(lines[-3:])[-300:]
    return json.loads(done.stdout), None


def fault_of(report, digest):
    if report["digest"] != digest:
        return "other bits than none"
    peak = report["peak"]
    if not peak["predicted"] == peak["arena"] == peak["touched"]:
        return f"predicted, placed and touched differ: {peak}"
    return None


def check(example, pool):
    """How many combinations failed."""
    checked = pool.submit(run, example, ["--backend=none", "--check"])
    jobs = {" ".join(flags): pool.submit(run, example, flags) for flags in all_controls()}
    report, fault = checked.result()
    print(f"{example} none, against float64: {fault or 'ok'}", flush=True)
    if fault:
        return 1
    failed = 0
    for flags, job in jobs.items():
        other, fault = job.result()
        fault = fault or fault_of(other, report["digest"])
        if fault:
            failed += 1
            print(f"{example} {flags}: FAILED: {fault}", flush=True)
    print(f"{example}: {len(jobs) - failed} of {len(jobs)} controls as none", flush=True)
    return failed


def main():
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        return sum(check(example, pool) for example in sys.argv[2:] or EXAMPLES)


if __name__ == "__main__":
    sys.exit(main())
