"""What a bundle says about itself in `config.json`, the names of its files, and its JSON."""

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

from softquery.errors import BundleError, ConfigError
from softquery.plain_files import read_plain

CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.safetensors"
SOURCE_TOKENIZER = "source_tokenizer.json"
"""That of the source, where a generator has a vocabulary for each side."""
METRICS, CALIBRATION, CARD = "metrics.json", "calibration.json", "README.md"
GRAPHS = "onnx"
"""A folder with the graphs of an exported model."""
RECORDS = "training"
"""A folder with what tells how the model came to be; nothing reads it."""
REPORT, REPORT_PAGE = "report.json", "report.html"
"""What a run on a file found, with rows of it; they stay where the run was made."""
REQUIRED = (CONFIG, TOKENIZER, WEIGHTS, METRICS, CARD)
LARGEST_TEXT = 1 << 24
LARGEST_TOKENIZER = 1 << 28
"""The most bytes of a file of text, and of one with a vocabulary, which may be of millions."""


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
    most = LARGEST_TOKENIZER if path.name in (TOKENIZER, SOURCE_TOKENIZER) else LARGEST_TEXT
    try:
        return read_plain(path, most).decode("utf-8-sig")
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


BUNDLE_VERSION = 1
"""The newest folder format that this softquery reads, and the one it writes."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LONGEST_COLUMN = 1000
_FINGERPRINT = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, kw_only=True, slots=True)
class BundleConfig:
    """What a model is, what it answers, and how text reaches it.

    Args:
        kind: What the bundle is for: `"matcher"`, `"embedder"`, ...
        model: `{"name": "esim", "config": {...}}`; a nested embedder lies inside the config.
        task: `{"name": "match", "labels": [...]}` and what else the task needs.
        text: The text pipeline's own description of itself.
        library_version: The softquery that wrote the bundle.
        bundle_version: The folder format.
        base: The zoo name of the bundle that this one is a head of, if it is one.
        base_fingerprint: Of the weights of that base, by `weights_fingerprint`.
        columns: Our column names to those of the file that it was trained on.

    >>> config = BundleConfig(
    ...     kind="matcher",
    ...     model={"name": "esim", "config": {"hidden_size": 300}},
    ...     task={"name": "match", "labels": ["no", "yes"]},
    ...     text={},
    ...     library_version="0.1.0",
    ... )
    >>> BundleConfig.from_dict(config.to_dict()) == config
    True
    """

    kind: str
    model: dict[str, Any]
    task: dict[str, Any]
    text: dict[str, Any]
    library_version: str
    bundle_version: int = BUNDLE_VERSION
    base: str | None = None
    base_fingerprint: str | None = None
    columns: dict[str, str] | None = None

    def __post_init__(self) -> None:
        _check_name("kind", self.kind)
        _check_part("model", self.model, wanted={"name", "config"})
        _check_part("task", self.task, wanted={"name"})
        _check_object("text", self.text)
        if not isinstance(self.library_version, str) or not self.library_version:
            raise ConfigError(f"library_version must be a version, got {self.library_version!r}")
        _check_version(self.bundle_version, self.library_version)
        if self.base is not None:
            # A name and never a path, so that a config cannot point anywhere on the disk.
            _check_name("base", self.base)
        _check_fingerprint(self.base, self.base_fingerprint)
        _check_columns(self.columns)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for `config.json`; fingerprint and columns only where there are any."""
        plain = asdict(self)
        for name in ("base_fingerprint", "columns"):
            if plain[name] is None:
                del plain[name]
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "BundleConfig":
        """Read a config strictly: unknown and missing keys are errors.

        Raises:
            BundleError: What does not fit, without the file's name.

        >>> BundleConfig.from_dict({"kidn": "matcher", "bundle_version": 1})
        Traceback (most recent call last):
        softquery.errors.BundleError: unknown key 'kidn'; did you mean 'kind'?
        """
        try:
            # First of all: a newer format may well have keys that we do not know.
            _check_version(data.get("bundle_version"), data.get("library_version"))
            _check_keys(data)
            return cls(**data)
        except ConfigError as error:
            raise BundleError(str(error)) from None


def _check_version(version: object, library_version: object) -> None:
    if type(version) is not int:
        raise ConfigError(f"bundle_version must be a whole number, got {version!r}")
    if version > BUNDLE_VERSION:
        writer = library_version if isinstance(library_version, str) else "of unknown version"
        raise ConfigError(
            f"written by softquery {writer}, bundle version {version}; "
            f"this softquery reads up to {BUNDLE_VERSION}: upgrade softquery"
        )
    if version < 1:
        raise ConfigError(f"bundle_version must be from 1 to {BUNDLE_VERSION}, got {version}")


def _check_keys(data: Mapping[str, Any]) -> None:
    known = [field.name for field in fields(BundleConfig)]
    for key in data:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
            raise ConfigError(f"unknown key {key!r}; {hint}")
    for key in ("kind", "model", "task", "text", "library_version"):
        if key not in data:
            raise ConfigError(f"the key {key!r} is missing")


def _check_name(key: str, value: object) -> None:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ConfigError(f"{key} must be a name of letters, digits, '.', '_', '-', got {value!r}")


def _check_fingerprint(base: str | None, value: object) -> None:
    if value is None:
        return
    if base is None:
        raise ConfigError("base_fingerprint is for bundles that name a base")
    if not isinstance(value, str) or not _FINGERPRINT.fullmatch(value):
        raise ConfigError(f"base_fingerprint must be 32 hexadecimal digits, got {value!r:.40}")


def _check_columns(value: object) -> None:
    if value is None:
        return
    names = [*value, *value.values()] if isinstance(value, dict) else [None]
    if not all(isinstance(each, str) and 0 < len(each) <= _LONGEST_COLUMN for each in names):
        raise ConfigError(f"columns must name columns by columns, got {value!r:.80}")


def _check_object(key: str, value: object) -> None:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise ConfigError(f"{key} must be an object with named values, got {value!r:.80}")


def _check_part(key: str, value: Mapping[str, Any], *, wanted: set[str]) -> None:
    _check_object(key, value)
    for name in sorted(wanted - value.keys()):
        raise ConfigError(f"{key} must have {name!r}, but has {sorted(value)}")
    _check_name(f"{key}.name", value["name"])
    if "config" in wanted:
        _check_object(f"{key}.config", value["config"])
    labels = value.get("labels")
    if labels is not None and not (
        isinstance(labels, (list, tuple)) and all(isinstance(label, str) for label in labels)
    ):
        raise ConfigError(f"{key}.labels must be a list of strings, got {labels!r:.80}")
