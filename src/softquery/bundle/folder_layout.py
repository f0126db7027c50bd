"""The names of a bundle's files, and JSON as bundles hold it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from softquery.errors import BundleError

CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.safetensors"
SOURCE_TOKENIZER = "source_tokenizer.json"
"""That of the source, where a generator has a vocabulary for each side."""
METRICS, CALIBRATION, CARD = "metrics.json", "calibration.json", "README.md"
GRAPHS = "onnx"
"""A folder with the graphs of an exported model."""
RECORDS = "training"
"""A folder with what tells how the model came to be; nothing reads it."""
REQUIRED = (CONFIG, TOKENIZER, WEIGHTS, METRICS, CARD)


def refuse(path: Path, reason: object) -> NoReturn:
    r"""Say in one line which file cannot be used and why.

    >>> refuse(Path("m/config.json"), "holds\nno object")
    Traceback (most recent call last):
    softquery.errors.BundleError: m/config.json: holds no object
    """
    # Escaped, because a damaged file may hold what no terminal can print.
    line = " ".join(f"{path}: {reason}".split())
    raise BundleError(line.encode("utf-8", "backslashreplace").decode("utf-8"))


def to_json(data: Mapping[str, Any]) -> str:
    """The text of a JSON file: readable, UTF-8, no NaN.

    >>> print(to_json({"n": 2}), end="")
    {
      "n": 2
    }
    """
    return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def read_text(path: Path) -> str:
    """The text of a file, or the reason why there is none."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(path, f"is not UTF-8 text (byte {error.start})")
    except OSError as error:
        refuse(path, error.strerror or error)


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; anything else is refused with the line where it breaks."""
    text = read_text(path)
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        refuse(path, f"broken JSON in line {error.lineno}, column {error.colno}: {error.msg}")
    except (ValueError, RecursionError) as error:
        refuse(path, f"broken JSON: {error}")
    if not isinstance(data, dict):
        refuse(path, f"expected a JSON object, found {type(data).__name__}")
    return data


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
