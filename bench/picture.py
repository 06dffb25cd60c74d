#!/usr/bin/env python3
# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""Time against peak memory, from what sweep.py wrote.

    bench/picture.py out/sweep-*.json -o docs/sweep.svg
"""

import argparse
import json
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

MARKERS = {"ckpt": "o", "ckpt det": "D", "eager": "s", "compile": "^", "JAX": "v"}


def draw(axes, data):
    rows = [row for row in data["rows"] if row.get("seconds") and row.get("peak")]
    for index, (system, marker) in enumerate(MARKERS.items()):
        own = [r for r in rows if r["system"].split(",")[0] == system]
        if not own:
            continue
        points = [(r["peak"] / 2**30, r["seconds"] * 1e3) for r in own]
        axes.scatter(*zip(*points), marker=marker, color=f"C{index}", label=system)
        for row, point in zip(own, points):
            axes.annotate(
                row["mode"],
                point,
                xytext=(4, 3),
                textcoords="offset points",
                fontsize=6,
                color=f"C{index}",
            )
    axes.set_title(rows[0]["table"] if rows else data["benchmark"], fontsize=9)
    axes.set_xlabel("peak memory, GiB")
    axes.set_ylabel("one step, ms")
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    data = [json.loads(path.read_text()) for path in options.files]
    figure, axes = plt.subplots(
        len(data), 1, figsize=(8, 5 * len(data)), squeeze=False, layout="constrained"
    )
    for one, part in zip(axes[:, 0], data):
        draw(one, part)
    about = {(d["card"], d["date"], d["commit"]) for d in data}
    figure.suptitle("; ".join(", ".join(one) for one in sorted(about)), fontsize=9)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.output)


if __name__ == "__main__":
    main()
