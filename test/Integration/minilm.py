# Part of ckpt, under the Apache License v2.0 with LLVM Exceptions.
"""Real weights, real sentences: MiniLM under every policy.

The last hidden state under `none` is held against the transformers package by
scripts/minilm-inputs (f32 bound of design section 7); every other policy must
give the same digest, that is the same bits of the output and all gradients,
and `--check` holds each tensor of each run against the oracle.

usage: minilm.py CKPT_RUN REPOSITORY
"""

import json
import pathlib
import subprocess
import sys
import tempfile

POLICIES = [
    "",
    "--offload-attention",
    "--backend=torch",
    "--backend=torch --interval=2",
    "--backend=torch --interval=2 --segment-stride=4",
    "--backend=torch --attention-once",
    "--backend=torch --offload-attention",
    "--backend=torch-ffn",
    "--backend=torch-ffn --interval=2",
    "--backend=unsloth",
    "--backend=unsloth --interval=2 --attention-once",
    "--backend=unsloth-ffn --interval=2",
    "--backend=unsloth-ffn --offload-attention",
]


def main():
    ckpt_run, root = sys.argv[1], pathlib.Path(sys.argv[2])
    scripts = root / "scripts"

    def output(*command):
        return subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True
        ).stdout.strip()

    weights = output(scripts / "fetch-minilm")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        inputs, outputs = f"{folder}/inputs.safetensors", f"{folder}/out.safetensors"
        sizes = output(scripts / "minilm-inputs", "-o", inputs).split()
        digest = None
        for policy in POLICIES:
            run = subprocess.run(
                [ckpt_run, root / "examples/minilm.mlir", *sizes, f"--weights={weights}",
                 f"--inputs={inputs}", f"--save-outputs={outputs}", "--check",
                 "--report=json", *policy.split()],
                stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            if run.returncode:
                print(f"FAIL {policy or 'none'}: exit code {run.returncode}")
                failures += 1
                continue
            report = json.loads(run.stdout)
            if digest is None:
                digest = report["digest"]
                print(output(scripts / "minilm-inputs", "--check", outputs, "--inputs", inputs))
            names = sorted(tensor["name"] for tensor in report["check"]["tensors"])
            good = (
                report["digest"] == digest
                and report["check"]["passed"] is True
                and names == ["grad.x", "out.x"]
            )
            failures += not good
            print(f"{'ok  ' if good else 'FAIL'} {policy or 'none'}: {report['digest']}")
    print(f"{len(POLICIES) - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
