# Lit configuration. Each tool that was built is a feature of its own name, so
# that a test can say `REQUIRES: ckpt-run`; the oracle is `ckpt_reference`.
# CKPT_VERIFY_ROUNDTRIP=1 in the environment runs every ckpt-opt with
# --verify-roundtrip.

import os

import lit.formats

config.name = "ckpt"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Consumer", "Gpu"]
config.test_source_root = os.path.dirname(__file__)
config.available_features.update(config.available)
config.environment["PATH"] = os.pathsep.join(
    [config.ckpt_tools_dir, config.llvm_tools_dir, os.environ["PATH"]]
)

opt = os.path.join(config.ckpt_tools_dir, "ckpt-opt")
if os.environ.get("CKPT_VERIFY_ROUNDTRIP"):
    opt += " --verify-roundtrip"
# Whole words only: `ckpt-opt` also stands in file names.
config.substitutions.append((r"(?<![\w/.-])ckpt-opt(?![\w.-])", opt))
for tool in ["ckpt-compile", "ckpt-run", "ckpt-lsp-server"]:
    path = os.path.join(config.ckpt_tools_dir, tool)
    config.substitutions.append((rf"(?<![\w/.-]){tool}(?![\w.-])", path))
for tool in ["FileCheck", "not"]:
    path = os.path.join(config.llvm_tools_dir, tool)
    config.substitutions.append((rf"(?<![\w/.%-]){tool}(?![\w.-])", path))
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%examples", os.path.join(os.path.dirname(config.test_source_root), "examples")))
config.substitutions.append(("%source_root", os.path.dirname(config.test_source_root)))
