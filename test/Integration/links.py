# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""ckpt-run links neither LLVM nor LibTorch, and runs an artifact, other sizes
and another policy of its menu included, in a process that has loaded neither.

usage: links.py CKPT_RUN CKPT_COMPILE EXAMPLES
"""

import pathlib
import subprocess
import sys
import tempfile


def main():
    ckpt_run, ckpt_compile, examples = sys.argv[1:]
    failures = 0

    def expect(good, what):
        nonlocal failures
        failures += not good
        print(f"{'ok  ' if good else 'FAIL'} {what}")

    def is_clean(listing):
        return not any(
            library in listing
            for library in ("libLLVM", "libMLIR", "libtorch", "libc10", "libckpt.so")
        )

    linked = subprocess.run(
        ["ldd", ckpt_run], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    expect(is_clean(linked), "ckpt-run links neither LLVM nor LibTorch")
    with tempfile.TemporaryDirectory() as folder:
        artifact = pathlib.Path(folder) / "step.ckpt"
        subprocess.run(
            [ckpt_compile, f"{examples}/twins/minilm.mlir", "-o", artifact], check=True
        )
        for flags in (
            ["--dim", "tokens=5"],
            ["--dim", "tokens=9", "--backend=unsloth-ffn", "--interval=2"],
        ):
            # LD_DEBUG=files names every library that the process loads.
            run = subprocess.run(
                [ckpt_run, artifact, *flags],
                env={"LD_DEBUG": "files"},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            expect(
                run.returncode == 0 and is_clean(run.stderr),
                f"runs an artifact without them: {' '.join(flags)}",
            )
    print(f"{3 - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
