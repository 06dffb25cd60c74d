# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""Field cases about copies and memory, on a machine with a GPU:

    python3 test/Gpu/memory_cases.py BUNDLE [CASE ...]

BUNDLE is what bench/bundle makes. Every case prints one line; the exit code is the
number of those that failed. Which public fault a case stands for is written at
each function.
"""

import os
import pathlib
import statistics
import sys
import threading
import time

BUNDLE = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(".")
os.environ.setdefault("CKPT_RT_LIBRARY", str(BUNDLE / "lib/libckpt_rt.so.1"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import torch  # noqa: E402

import ckpt_rt  # noqa: E402
from ours import Ours  # noqa: E402

POISON_START, POISON_FREED = 1, 2
MIB = 2**20


def blend(sizes, memory=None, poison=POISON_START, **controls):
    program = ckpt_rt.Program(BUNDLE / "blend-det.ckpt")
    memory = {} if memory is None else memory
    return Ours(program, "cuda", sizes, memory, {"poison": poison}, **controls)


def equal(a, b):
    """Bit for bit, and no NaN anywhere."""
    return all(
        torch.equal(a[name], b[name]) and not torch.isnan(a[name]).any() for name in a
    )


def run_and_read(ours):
    ours.step.run()
    return ours.results()


def x1():
    """A copy back reads host memory that the copy out still fills. Two blocks
    around trivial compute, host slots filled with NaN, 100 runs, the first
    among them."""
    sizes, memory = {"batch": 1, "image": 12288}, {}  # 96 MiB a copy
    expected = run_and_read(blend(sizes, memory, backend="torch", blocks=2))
    ours = blend(sizes, memory, backend="unsloth", blocks=2)
    assert ours.step.statistics["copied_to_host"] == 0
    for run in range(100):
        if not equal(expected, run_and_read(ours)):
            return f"run {run} differs from torch"
    copied = ours.step.statistics["copied_to_host"]
    return None if copied == 100 * 96 * MIB else f"copied {copied} bytes"


def x3():
    """Device memory is reused while a copy still reads it. Four blocks with
    views, memory poisoned when its value dies."""
    sizes, memory = {"batch": 2, "image": 2048}, {}
    expected = run_and_read(blend(sizes, memory, backend="none", blocks=4))
    ours = blend(sizes, memory, POISON_FREED, backend="unsloth", interval=1, blocks=4)
    for run in range(10):
        if not equal(expected, run_and_read(ours)):
            return f"run {run} differs from none"
    return None


def m1():
    """Pinned memory rounded up to powers of two. Eight borders of 36 MiB, of
    which the first is the caller's own."""
    ours = blend({"batch": 1, "image": 4608}, poison=0, backend="unsloth")
    ours.step.run()
    pinned = ours.step.statistics["pool_pinned_bytes"]
    wanted = 7 * 36 * MIB
    if not wanted <= pinned <= 1.05 * wanted:
        return f"expected {wanted} pinned bytes, found {pinned}"
    return None


def m3():
    """Memory that stays after the steps are gone. 20 steps of unsloth, then of
    torch: the same after each, nothing after the last."""
    sizes, memory = {"batch": 1, "image": 4096}, {}
    run_and_read(blend(sizes, memory, backend="torch", blocks=4))
    torch.cuda.empty_cache()
    before = torch.cuda.mem_get_info()[0]
    arenas = {}
    for backend in ("none", "unsloth", "torch"):
        ours = blend(sizes, memory, 0, backend=backend, blocks=4)
        arenas[backend] = ours.step.statistics["arena_bytes"]
        ours.step.run()
        first = torch.cuda.mem_get_info()[0]
        for _ in range(19):
            ours.step.run()
        if torch.cuda.mem_get_info()[0] != first:
            return f"{backend}: memory grew from step 1 to step 20"
        del ours
        after = torch.cuda.mem_get_info()[0]
        # The driver hands memory out in blocks of 2 MiB.
        if before - after > 2 * MIB:
            return f"{backend}: {before - after} bytes stay"
    return None if arenas["torch"] < arenas["none"] else f"arenas {arenas}"


def k1():
    """32-bit offsets. A hidden value of 32769 x 65536: its last row starts at
    element 2^31 and must come out as an equal row 0 does."""
    program = ckpt_rt.Program(BUNDLE / "wide-det.ckpt")
    memory = {}
    ours = Ours(program, "cuda", {"rows": 32769}, memory, backend="none")
    memory["x"][32768] = memory["x"][0]
    memory["grad.out.x"][32768] = memory["grad.out.x"][0]
    torch.cuda.synchronize()
    for name, value in run_and_read(ours).items():
        if torch.isnan(value).any():
            return f"{name} has NaN"
        if not torch.equal(value[32768], value[0]):
            return f"{name}: the last row differs from the first"
    return None


def steps():
    """A thousand steps of a whole model take no more memory than ten, and all
    give the same bits."""
    program = ckpt_rt.Program(BUNDLE / "dit-3072-det.ckpt")
    ours = Ours(program, "cuda", {"image": 256}, {}, backend="unsloth-ffn", blocks=4)
    for _ in range(10):
        ours.step.run()
    expected, free = ours.results(), torch.cuda.mem_get_info()[0]
    for _ in range(990):
        ours.step.run()
    if not equal(expected, ours.results()):
        return "the last step differs"
    taken = free - torch.cuda.mem_get_info()[0]
    return None if taken <= 0 else f"{taken} bytes more"


def traffic():
    """Copies that are late and slow: others keep the link and the card busy
    meanwhile, both ways."""
    sizes, memory = {"batch": 1, "image": 12288}, {}
    expected = run_and_read(blend(sizes, memory, backend="torch"))
    ours = blend(sizes, memory, backend="unsloth")
    quiet, busy, stop = [], [], threading.Event()

    def disturb(out):
        stream = torch.cuda.Stream()
        device = torch.empty(256 * MIB, dtype=torch.uint8, device="cuda")
        host = torch.empty(256 * MIB, dtype=torch.uint8, pin_memory=True)
        while not stop.is_set():
            with torch.cuda.stream(stream):
                for _ in range(8):
                    if out:
                        host.copy_(device, non_blocking=True)
                    else:
                        device.copy_(host, non_blocking=True)
            stream.synchronize()

    def measure(seconds):
        for _ in range(30):
            ours.step.run()
            found = ours.step.statistics
            seconds.append(found["forward_seconds"] + found["backward_seconds"])
            if not equal(expected, ours.results()):
                return False
        return True

    if not measure(quiet):
        return "differs from torch"
    threads = [threading.Thread(target=disturb, args=(out,)) for out in (0, 1)]
    for thread in threads:
        thread.start()
    # Until they have their memory.
    time.sleep(1)
    same = measure(busy)
    stop.set()
    for thread in threads:
        thread.join()
    slower = statistics.median(busy) / statistics.median(quiet)
    if slower < 1.1:
        return f"the traffic did not disturb: {slower:.2f} times the time"
    return None if same else "differs from torch under traffic"


CASES = {case.__name__: case for case in (x1, x3, m1, m3, k1, steps, traffic)}


def main():
    failed = 0
    for name in sys.argv[2:] or CASES:
        fault = CASES[name]()
        failed += fault is not None
        title = CASES[name].__doc__.split(".")[0]
        print(f"{name:4} {'ok' if fault is None else 'FAILED: ' + fault}  ({title})")
        torch.cuda.empty_cache()
    return failed


if __name__ == "__main__":
    sys.exit(main())
