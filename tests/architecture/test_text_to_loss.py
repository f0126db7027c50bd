"""What it takes to read ESIM: importing it brings in only what lies below models.

Which files run on the way from text to loss is compared with `docs/layers.md` in
`test_layers_page.py`.
"""

import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="a model needs the extra [train]")


def test_esim_pulls_in_only_what_lies_below_models():
    command = "import softquery.models.esim, sys; print(*sorted(sys.modules))"
    result = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    names = [name.split(".") for name in result.stdout.split()]
    layers = {parts[1] for parts in names if parts[0] == "softquery" and len(parts) > 1}
    assert layers >= {"models", "data", "nn", "attention"}
    below = {"data", "nn", "decoding", "answers", "attention", "text", "files", "atomic",
             "numpy_softmax", "plain_files", "errors"}  # fmt: skip
    assert layers <= {"models", *below}
