# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""How kernels and steps are timed. All times are seconds.

A kernel that runs after a cool one reads up to 14 % fast, because the card is
bound by power. So candidates take turns in both directions, each after a warm
burst of its own, and only numbers of one `compare` are compared:

    sustained   a warm burst, then one of the same length that is timed
    burst       the card idle, one launch, then two that are timed

Every figure is the median over the rounds.
"""

import collections
import statistics
import time

import torch

WARM = 25e-3
IDLE = 30e-3

Timing = collections.namedtuple("Timing", "sustained burst low high mhz watts")


def _gpu():
    return torch.cuda.is_available()


def synchronize():
    if _gpu():
        torch.cuda.synchronize()


class _Sensors:
    """Clock (MHz) and power (W) of the card, zeros where they are unknown."""

    def __init__(self):
        try:
            import pynvml

            pynvml.nvmlInit()
            self.nvml = pynvml
            self.card = pynvml.nvmlDeviceGetHandleByIndex(0)
        except Exception:
            self.nvml = None

    def read(self):
        if not self.nvml:
            return 0, 0
        clock = self.nvml.nvmlDeviceGetClockInfo(self.card, self.nvml.NVML_CLOCK_SM)
        return clock, self.nvml.nvmlDeviceGetPowerUsage(self.card) / 1000


def by_events(function):
    """A timer of a function that enqueues work: `timer(n)` is the seconds of
    one of n calls back to back."""

    def on_gpu(count):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(count):
            function()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1e3 / count

    def on_host(count):
        begin = time.perf_counter()
        for _ in range(count):
            function()
        return (time.perf_counter() - begin) / count

    return on_gpu if _gpu() else on_host


def by_command(step, index):
    """The same of one command of a ckpt step, by the device's own events."""
    return lambda count: step.time_command(index, count)


def compare(timers, rounds=5):
    """Times candidates {name: timer} beside each other: {name: Timing}."""
    sensors = _Sensors()
    counts = {}
    for name, timer in timers.items():
        timer(2)
        counts[name] = max(3, min(2000, int(WARM / max(timer(3), 1e-7))))
    sustained = collections.defaultdict(list)
    burst = collections.defaultdict(list)
    sensed = collections.defaultdict(list)
    for turn in range(rounds):
        names = list(timers) if turn % 2 == 0 else list(timers)[::-1]
        for name in names:
            timers[name](counts[name])
            sustained[name].append(timers[name](counts[name]))
            sensed[name].append(sensors.read())
    for _ in range(rounds):
        for name, timer in timers.items():
            time.sleep(IDLE)
            timer(1)
            burst[name].append(timer(2))
    return {
        name: Timing(
            statistics.median(sustained[name]),
            statistics.median(burst[name]),
            min(sustained[name]),
            max(sustained[name]),
            *map(statistics.median, zip(*sensed[name])),
        )
        for name in timers
    }


def steps_by_events(step, warm, count):
    """Seconds of a training step that enqueues work: the median of `count`
    that follow each other without a pause."""
    for _ in range(warm):
        step()
    if not _gpu():
        return statistics.median(by_events(step)(1) for _ in range(count))
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    torch.cuda.synchronize()
    pairs = zip(marks, marks[1:])
    return statistics.median(a.elapsed_time(b) / 1e3 for a, b in pairs)


def steps_by_clock(step, warm, count):
    """The same of a step that returns when it is done."""
    for _ in range(warm):
        step()
    seconds = []
    for _ in range(count):
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def error(result, reference):
    """Relative Frobenius error; `reference` may be of a wider type."""
    wide = reference.double()
    return ((result.double() - wide).norm() / wide.norm()).item()
