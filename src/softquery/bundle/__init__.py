"""The model folder: everything that a model needs to answer, and nothing that can run code.

| file | holds |
|---|---|
| `config.json` | what the model is: kind, model, task, text pipeline, versions |
| `tokenizer.json` | how strings become ids |
| `model.safetensors` | the weights |
| `metrics.json` | what was measured |
| `calibration.json` | scaling and thresholds, where they were fitted |
| `README.md` | the model card |
| `onnx/` | graphs without weights, where the model was exported |
| `training/` | the run's settings, log and curves, where the library trained it |

A folder is written whole or not at all, and read with every doubt said in one line.
"""

from softquery.bundle.card import Card, CardData, CardNumber, is_research_only, make_card
from softquery.bundle.config import BUNDLE_VERSION, RECORDS, BundleConfig
from softquery.bundle.opening import Bundle, read_bundle, weights_fingerprint
from softquery.bundle.writing import update_bundle, with_section, write_bundle

__all__ = [
    "BUNDLE_VERSION",
    "RECORDS",
    "Bundle",
    "BundleConfig",
    "Card",
    "CardData",
    "CardNumber",
    "is_research_only",
    "make_card",
    "read_bundle",
    "update_bundle",
    "weights_fingerprint",
    "with_section",
    "write_bundle",
]
