"""The state of an index at one moment: `manifest.json`, replaced atomically by every change.

Everything else in the folder is written once and never changed. What the manifest does not name is
not part of the index: it was left by a crash, or by a segment that was merged away.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from softquery import __version__
from softquery.atomic import write_text
from softquery.errors import ConfigError, InputError
from softquery.search.encodings import Precision

FORMAT = 1
"""The newest format of an index that this version reads, and the one that it writes."""
MANIFEST = "manifest.json"
PRECISIONS = ("int8", "float16", "none")


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexSettings:
    """How an index is built; fixed from then on, except for `min_score`.

    >>> IndexSettings(encodings="float32")
    Traceback (most recent call last):
        ...
    softquery.errors.ConfigError: encodings must be int8, float16 or none, got 'float32'
    """

    vectors: str = "auto"
    """Where a text's vector comes from: `"states"`, the weighted mean of the states of the model's
    first BiLSTM; `"words"`, that of its word vectors; or a bundle of a Siamese matcher, of ELMo or
    of word vectors. `"auto"` is the model's own vector if it is Siamese, else `"states"`."""
    encodings: Precision = "int8"
    """How the model's encodings are stored; with `"none"` every query computes them."""
    word_columns: tuple[str, ...] = ("question",)
    """The columns in which words are looked up."""
    recall_weight: float = 200.0
    """How much a row's rank in recall counts beside the matcher, in log-odds: see `blended`."""
    min_score: float | None = None
    """The score that a hit needs to be an answer; by default the model's threshold, or 0.5."""

    def __post_init__(self) -> None:
        if self.encodings not in PRECISIONS:
            raise ConfigError(f"encodings must be int8, float16 or none, got {self.encodings!r}")
        if not self.word_columns or isinstance(self.word_columns, str):
            raise ConfigError("word_columns must name one column or more, such as ('question',)")
        if not 0 <= self.recall_weight < math.inf:
            raise ConfigError(f"recall_weight must be 0 or more, got {self.recall_weight}")
        if self.min_score is not None and not 0 <= self.min_score <= 1:
            raise ConfigError(f"min_score must be from 0 to 1, got {self.min_score}")


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentEntry:
    """A segment as the manifest describes it."""

    name: str
    num_rows: int
    crc: int
    """The checksum of its `segment.json`, which holds those of its other files."""
    deleted: str | None = None
    """The file that lists its deleted and replaced rows, if there are any."""
    deleted_crc: int = 0
    num_deleted: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """The state of an index."""

    generation: int
    """Incremented by every change."""
    model: str
    """The matcher's bundle: a name from the zoo, or a folder."""
    fingerprint: str
    """A hash of those files of the bundle that encodings depend on."""
    vector_source: str
    """As `IndexSettings.vectors`, with `"auto"` resolved."""
    vector_fingerprint: str
    vector_size: int
    settings: IndexSettings
    columns: tuple[str, ...]
    unfinished: bool = False
    """Whether the first indexing was interrupted, or is still running."""
    segments: tuple[SegmentEntry, ...] = field(default=())

    @property
    def num_rows(self) -> int:
        """Rows that are not deleted."""
        return sum(each.num_rows - each.num_deleted for each in self.segments)

    def to_json(self) -> str:
        """The content of `manifest.json`."""
        facts = {"format": FORMAT, "library_version": __version__, **asdict(self)}
        return json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def write(self, folder: Path) -> None:
        """Make this the state of the index, atomically and durably."""
        write_text(folder / MANIFEST, self.to_json())


def read_manifest(folder: Path) -> Manifest:
    """Read the state of an index.

    Raises:
        InputError: There is no index, it is damaged, or newer than this version of softquery.
    """
    path = folder / MANIFEST
    try:
        data = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(_no_index(folder), source=folder) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=path) from None
    except (ValueError, RecursionError):
        raise InputError("is damaged (expected JSON)", source=path) from None
    if not isinstance(data, dict) or not isinstance(data.get("format"), int):
        raise InputError("is damaged (expected an index's manifest)", source=path)
    if data["format"] > FORMAT:
        message = f"was written by softquery {data.get('library_version')!s:.20}, "
        message += f"in a format ({data['format']}) that this version ({__version__}) does not know"
        raise InputError(message, source=path)
    try:
        return _parsed(data)
    except (TypeError, KeyError, ValueError, AttributeError, ConfigError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"is damaged ({reason:.200})", source=path) from None


def is_index(path: Path) -> bool:
    """Whether a folder is an index."""
    return (path / MANIFEST).is_file()


def _parsed(data: Mapping[str, Any]) -> Manifest:
    values = {name: data[name] for name in Manifest.__slots__}
    settings = dict(values["settings"])
    settings["word_columns"] = tuple(settings["word_columns"])
    values["settings"] = IndexSettings(**settings)
    values["columns"] = tuple(values["columns"])
    values["segments"] = tuple(SegmentEntry(**each) for each in values["segments"])
    for each in values["segments"]:
        if not _is_plain(each.name) or not (each.deleted is None or _is_plain(each.deleted)):
            raise ValueError("the name of a segment leads out of the index")
    return Manifest(**values)


def _is_plain(name: object) -> bool:
    """Whether a name is a plain file name, which cannot lead out of the folder."""
    return isinstance(name, str) and bool(name) and Path(name).name == name


def _no_index(folder: Path) -> str:
    if not folder.exists():
        return "no such index; build one with softquery index FILE --output INDEX"
    return "is not an index (it has no manifest.json)"
