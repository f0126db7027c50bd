"""Reads what a list of models shows of a model folder, or why it cannot be read."""

import json
import os
from pathlib import Path
from typing import Any

from softquery.errors import BundleError
from softquery.plain_files import read_plain

EXPECTED = ("config.json", "tokenizer.json", "model.safetensors", "metrics.json", "README.md")

SOURCE_NOTE = ".added.json"
"""Beside the files of a model that was added: where it came from."""
LARGEST = 1 << 24
"""The most bytes of a file that is looked at."""


def glance_json(path: Path) -> dict[str, Any]:
    """The object of a small JSON file."""
    try:
        data = json.loads(read_plain(path, LARGEST))
    except json.JSONDecodeError as error:
        raise BundleError(f"{path.name}: broken JSON in line {error.lineno}") from None
    except (ValueError, RecursionError) as error:
        raise BundleError(printable(f"{path.name}: broken JSON ({error})")) from None
    except OSError as error:
        raise BundleError(f"{path.name}: {error.strerror or 'cannot be read'}") from None
    if not isinstance(data, dict):
        raise BundleError(f"{path.name}: expected a JSON object")
    return data


def glance_card(path: Path) -> tuple[str, str]:
    """The licence in the front matter of a card, and the first line of its prose."""
    try:
        text = read_plain(path, LARGEST).decode("utf-8", "replace")
    except OSError as error:
        raise BundleError(f"{path.name}: {error.strerror or 'cannot be read'}") from None
    settings, body = split_card(text)
    licence = settings.get("license_name", settings.get("license", ""))
    prose = (line.strip() for line in body.splitlines())
    summary = next((line for line in prose if line and not line.startswith("#")), "")
    return licence, summary


def split_card(text: str) -> tuple[dict[str, str], str]:
    r"""The plain settings in the front matter of a card, and what stands below it.

    >>> split_card('---\nlicense: "mit"\ntags:\n- a\n---\n# toy\n')
    ({'license': 'mit'}, '# toy')
    """
    front, body = _split(text)
    pairs = [line.split(": ", 1) for line in front.splitlines() if ": " in line]
    return {key: _unquoted(value.strip()) for key, value in pairs}, body


def glance_source(folder: Path) -> str:
    """Where a model was added from, as `softquery models add` noted it; empty if it was not."""
    try:
        return str(glance_json(folder / SOURCE_NOTE).get("source", ""))
    except BundleError:
        return ""


def check_complete(folder: Path) -> None:
    """Refuse a folder that lacks a file of a bundle, or borrows one from elsewhere."""
    missing = [name for name in EXPECTED if not (folder / name).is_file()]
    if missing:
        raise BundleError(f"{' and '.join(missing)} missing")
    for name in EXPECTED:
        if leads_out(folder / name, folder):
            raise BundleError(f"{name}: is a link that leads out of the model folder")


def leads_out(path: Path, folder: Path) -> bool:
    """Whether what lies in a folder is in truth a link to somewhere else."""
    return Path(os.path.realpath(folder)) not in Path(os.path.realpath(path)).parents


def folder_size(folder: Path) -> int:
    """The bytes of all files in a folder and below; links are not followed."""
    total = 0
    for parent, _, names in os.walk(folder):
        total += sum(os.lstat(os.path.join(parent, name)).st_size for name in names)
    return total


def printable(text: str) -> str:
    r"""One line that any terminal can print.

    >>> printable("a\nb\udcff")
    'a b\\udcff'
    """
    return " ".join(text.split()).encode("utf-8", "backslashreplace").decode("utf-8")


def _unquoted(value: str) -> str:
    if not value.startswith('"'):  # a bare or single-quoted YAML string
        return value.strip("'")
    try:
        return str(json.loads(value))
    except (ValueError, RecursionError):
        return value


def _split(text: str) -> tuple[str, str]:
    """Front matter and body; empty front matter where there is none."""
    lines = text.splitlines()
    if lines[:1] != ["---"] or "---" not in lines[1:]:
        return "", text
    end = lines.index("---", 1)
    return "\n".join(lines[1:end]), "\n".join(lines[end + 1 :])
