# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""What every benchmark prints and writes: tables, and JSON with the card, the
date and the commit."""

import argparse
import datetime
import json
import os
import pathlib
import platform

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent


def arguments(description):
    """A parser with the flags that all benchmarks have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--bundle",
        type=pathlib.Path,
        default=ROOT / "build/bench-bundle",
        help="folder that bench/bundle made",
    )
    parser.add_argument(
        "--out", type=pathlib.Path, help="folder for NAME.json; none is written without"
    )
    parser.add_argument(
        "--device",
        choices=["cuda", "host"],
        default="cuda",
        help="host: try the script without a GPU, on small sizes",
    )
    return parser


def use_bundle(bundle):
    """Makes ckpt_rt load the bundle's library; returns what bundle.json says."""
    path = bundle / "bundle.json"
    if not path.exists():
        raise SystemExit(f"{path}: expected a bundle, found none; run bench/bundle")
    os.environ.setdefault("CKPT_RT_LIBRARY", str(bundle / "lib/libckpt_rt.so.1"))
    return json.loads(path.read_text())


def environment(bundle):
    made = {
        "date": datetime.date.today().isoformat(),
        "commit": bundle["commit"],
        "torch": torch.__version__,
        "card": platform.processor() or platform.machine(),
    }
    if torch.cuda.is_available():
        made["card"] = torch.cuda.get_device_name(0)
        made["cudnn"] = torch.backends.cudnn.version()
        made["cuda"] = torch.version.cuda
    return made


class Report:
    """Rows of results: printed as they come, then written as JSON."""

    def __init__(self, name, options, bundle):
        self.name, self.out = name, options.out
        self.data = {"benchmark": name, **environment(bundle), "rows": []}
        print(", ".join(f"{k} {v}" for k, v in self.data.items() if k != "rows"))

    def table(self, title, rows, columns):
        """Prints and keeps rows (dicts). `columns`: {key: (heading, format)};
        a format is a format spec, empty for text, or a function. Columns that
        no row has are left out."""
        self.data["rows"] += [{"table": title, **row} for row in rows]
        self.write()
        columns = {
            key: column
            for key, column in columns.items()
            if any(row.get(key) is not None for row in rows)
        }
        cells = [[heading for heading, _ in columns.values()]]
        for row in rows:
            cells.append([_cell(row.get(k), f) for k, (_, f) in columns.items()])
        widths = [max(map(len, column)) for column in zip(*cells)]
        texts = [spec == "" for _, spec in columns.values()]
        print(f"\n{title}")
        for line in cells:
            padded = (
                cell.ljust(width) if text else cell.rjust(width)
                for cell, width, text in zip(line, widths, texts)
            )
            print("  ".join(padded).rstrip(), flush=True)

    def write(self):
        if self.out:
            self.out.mkdir(parents=True, exist_ok=True)
            text = json.dumps(self.data, indent=1)
            (self.out / f"{self.name}.json").write_text(text + "\n")


def _cell(value, spec):
    if value is None:
        return "-"
    if callable(spec):
        return spec(value)
    return format(value, spec)


def milliseconds(seconds):
    return f"{seconds * 1e3:.3f}"


def gib(size):
    return f"{size / 2**30:.2f}"


def teraflops(rate):
    return f"{rate / 1e12:.0f}"


def ratio(value):
    return f"{value:.3f}"


# Candidates of one timing.compare.
COLUMNS = {
    "what": ("", ""),
    "name": ("", ""),
    "sustained": ("ms", milliseconds),
    "rate": ("TFLOP/s", teraflops),
    "speedup": ("x peer", ratio),
    "burst": ("burst ms", milliseconds),
    "burst_speedup": ("x peer", ratio),
    "spread": ("spread", ".1%"),
    "mhz": ("MHz", ".0f"),
    "watts": ("W", ".0f"),
    "error": ("error", ".3e"),
}


def rows_of(what, timings, peer, work, errors):
    """Rows of one comparison, the peer first."""
    base = timings[peer]
    return [
        {
            "what": what,
            "name": name,
            "sustained": t.sustained,
            "rate": work / t.sustained,
            "speedup": base.sustained / t.sustained,
            "burst": t.burst,
            "burst_speedup": base.burst / t.burst,
            "spread": (t.high - t.low) / t.sustained,
            "mhz": t.mhz,
            "watts": t.watts,
            "error": errors.get(name),
        }
        for name, t in timings.items()
    ]
