"""The state of an index at one moment: `manifest.json`, replaced atomically by every change.

Everything else in the folder is written once and never changed. What the manifest does not name is
not part of the index: it was left by a crash, or by a segment that was merged away.
"""

import json
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from softquery import __version__
from softquery.atomic import write_text
from softquery.errors import ConfigError, InputError
from softquery.search.aims import parse_aim
from softquery.search.storage.encodings import Precision
from softquery.search.storage.index_files import read_json
from softquery.search.storage.json_fields import (
    FLAG,
    TEXT,
    TEXTS,
    Expected,
    check_fields,
    one_of,
    or_null,
    spelt,
    whole_number,
)

FORMAT = 2
"""The newest format of an index that this version reads, and the one that it writes. Indexes of
format 1 have no `score` and no `aim` among their settings; they are searched as they were."""
MANIFEST = "manifest.json"
LANGUAGES = "languages.json"
"""The file of an index that has a part for each language: see `softquery.search.languages`."""
PRECISIONS = ("int3", "int8", "float16", "none")
Score = Literal["auto", "learned", "fused"]
AUTO: Final = "auto"
LEARNED: Final = "learned"
FUSED: Final = "fused"
SCORES: tuple[Score, ...] = (AUTO, LEARNED, FUSED)
MOST_ROWS = 2**31 - 1
"""Rows of a segment, which are numbered by int32."""
MOST_CHANGES = 2**52
"""Changes of an index in its life."""
SEGMENT_NAME = re.compile(r"\d{6,16}-[0-9a-f]{8}")
DELETED_NAME = re.compile(r"deleted-\d{1,16}\.bin")
CHECKSUM = whole_number(0, 2**32 - 1)
_ROWS = whole_number(0, MOST_ROWS)
_SEGMENT_FIELDS = {
    "name": spelt(SEGMENT_NAME, "the name of a segment, such as 000001-0a1b2c3d"),
    "num_rows": _ROWS,
    "crc": CHECKSUM,
    "deleted": or_null(spelt(DELETED_NAME, "a name such as deleted-7.bin")),
    "deleted_crc": CHECKSUM,
    "num_deleted": _ROWS,
}
_SETTINGS_FIELDS = {
    "vectors": TEXT,
    "encodings": one_of(PRECISIONS),
    "word_columns": TEXTS,
    "recall_weight": Expected("a number of at least 0", lambda value: _is_number(value)),
    "min_score": or_null(Expected("a number from 0 to 1", lambda value: _is_number(value))),
    "score": one_of((LEARNED, FUSED)),
    "aim": or_null(TEXT),
    "text_columns": TEXTS,
    "passage_words": whole_number(0, 10_000),
    "answer_share": Expected("a number from 0 to 1", lambda value: _is_share(value)),
    "weights": FLAG,
    "synonyms": Expected("a list of lists of texts", lambda value: _are_groups(value)),
}
_BEFORE_TEXTS = {
    "text_columns": [],
    "passage_words": 0,
    "synonyms": [],
    "weights": False,
    "answer_share": 0.0,
}
"""What was meant by settings that were not there yet."""
_BEFORE_SCORES = {"score": FUSED, "aim": None}
"""What format 1 meant by settings that it did not have."""
_TUNING_FIELDS = {
    "name": spelt(SEGMENT_NAME, "the name of a tuning, such as 000001-0a1b2c3d"),
    "crc": CHECKSUM,
}
_LIST = Expected("a list", lambda value: isinstance(value, list))
_MANIFEST_FIELDS = {
    "generation": whole_number(0, MOST_CHANGES),
    "model": TEXT,
    "fingerprint": TEXT,
    "vector_source": TEXT,
    "vector_fingerprint": TEXT,
    "vector_size": whole_number(1, 2**24),
    "settings": Expected("an object", lambda value: isinstance(value, dict)),
    "columns": TEXTS,
    "segments": _LIST,
    "unfinished": FLAG,
    "tuning": or_null(Expected("an object", lambda value: isinstance(value, dict))),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexSettings:
    """How an index is built; fixed from then on, except for `min_score` and `aim`.

    >>> IndexSettings(encodings="float32")
    Traceback (most recent call last):
        ...
    softquery.errors.ConfigError: encodings must be auto, int3, int8, float16 or none, got 'float32'
    """

    vectors: str = "auto"
    """Where a text's vector comes from: `"states"`, the weighted mean of the states of the model's
    first BiLSTM; `"words"`, that of its word vectors; or a bundle of a Siamese matcher, of ELMo or
    of word vectors. `"auto"` is the shipped sentence encoder for the language of a shipped matcher;
    else the model's own vector if it is Siamese, and `"states"` if not."""
    encodings: Precision | Literal["auto"] = "auto"
    """How the model's encodings are stored; with `"none"` every query computes them. `"auto"` is
    `"int3"` for a model that has an encoding of every token, and `"int8"` for one that has one
    vector of a text."""
    word_columns: tuple[str, ...] = ("question",)
    """The columns in which words are looked up."""
    recall_weight: float = 200.0
    """How much a row's rank in recall counts beside the matcher, in log-odds: see `blended`; only
    if `score` is `"fused"`."""
    min_score: float | None = None
    """The score that a hit needs to be an answer; by default what `aim` asks for, and if `score` is
    `"fused"` the model's threshold, or 0.5."""
    score: Score = "auto"
    """What orders rows: `"learned"`, a probability made of all that the stages say; or `"fused"`,
    the matcher's probability lowered by rank. `"auto"` is `"learned"` for the models that it was
    learned with: a shipped matcher with vectors of a sentence encoder."""
    aim: str | None = None
    """What the threshold is for, if `score` is `"learned"`: `"precision=P"` or `"coverage=C"`; by
    default `"precision=0.9"`."""
    text_columns: tuple[str, ...] = ()
    """Columns beside `question` by whose texts rows are found, such as `("answer",)`."""
    passage_words: int = 48
    """The most words of a passage: longer texts are cut into several. 0 cuts none."""
    answer_share: float | None = None
    """How much the text in `answer` counts in the vector of a row, beside its question: from 0, not
    at all, to 1, as much. By default 0.3 if `score` is `"learned"`, else 0; only for vectors of a
    sentence encoder. See `softquery.search.changes.answer_vectors`."""
    synonyms: tuple[tuple[str, ...], ...] = ()
    """Groups of words or phrases that mean the same: see `softquery.search.changes.synonyms`."""

    weights: bool = True
    """Whether a column `weight` multiplies the odds of a row's score."""

    def __post_init__(self) -> None:
        self._check_texts()
        if not isinstance(self.vectors, str):
            raise ConfigError(f"vectors must be a text, got {self.vectors!r:.60}")
        if self.encodings not in (AUTO, *PRECISIONS):
            known = "auto, int3, int8, float16 or none"
            raise ConfigError(f"encodings must be {known}, got {self.encodings!r:.60}")
        columns = self.word_columns
        if not columns or isinstance(columns, str) or not all(isinstance(c, str) for c in columns):
            raise ConfigError("word_columns must name one column or more, such as ('question',)")
        if not _is_number(self.recall_weight) or not 0 <= self.recall_weight < math.inf:
            raise ConfigError(f"recall_weight must be 0 or more, got {self.recall_weight!r:.60}")
        if self.min_score is not None:
            check_min_score(self.min_score)
        if self.score not in SCORES:
            raise ConfigError(f"score must be auto, learned or fused, got {self.score!r:.60}")
        if self.aim is not None:
            parse_aim(self.aim)

    def _check_texts(self) -> None:
        names = self.text_columns
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise ConfigError(f"text_columns must name columns, got {names!r:.60}")
        size = self.passage_words
        if type(size) is not int or not (size == 0 or 8 <= size <= 10_000):
            raise ConfigError(f"passage_words must be 0, or from 8 to 10,000, got {size!r:.60}")
        if self.answer_share is not None and not _is_share(self.answer_share):
            raise ConfigError(f"answer_share must be from 0 to 1, got {self.answer_share!r:.60}")
        if not _are_groups(self.synonyms):
            raise ConfigError(
                f"synonyms must be groups of two texts or more, got {self.synonyms!r:.60}"
            )


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
class TuningEntry:
    """What an index has learned from labelled queries, as the manifest describes it."""

    name: str
    crc: int
    """The checksum of its `tuning.json`."""


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
    tuning: TuningEntry | None = None
    """What was learned from labelled queries, if the index was tuned."""

    @property
    def num_rows(self) -> int:
        """Rows that are not deleted."""
        return sum(each.num_rows - each.num_deleted for each in self.segments)

    @property
    def models(self) -> tuple[str, str, str]:
        """What tells whether two states were written with the same models."""
        return self.fingerprint, self.vector_source, self.vector_fingerprint

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
        data = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(_no_index(folder), source=folder) from None
    except ValueError:
        raise InputError("is damaged (expected JSON)", source=path) from None
    return manifest_from(data, path)


def manifest_from(data: object, source: str | Path) -> Manifest:
    """The state of an index in the content of its JSON.

    Args:
        data: The content.
        source: Where it was read, for errors.

    Raises:
        InputError: It is damaged, or newer than this version of softquery.
    """
    if not isinstance(data, dict) or type(data.get("format")) is not int or data["format"] < 1:
        raise InputError("is damaged (expected an index's manifest)", source=source)
    if data["format"] > FORMAT:
        message = f"was written by softquery {data.get('library_version')!s:.20}, "
        message += f"in a format ({data['format']}) that this version ({__version__}) does not know"
        raise InputError(message, source=source)
    try:
        return _parsed(data)
    except (ValueError, ConfigError) as error:
        raise InputError(f"is damaged ({error})", source=source) from None


def is_index(path: Path) -> bool:
    """Whether a folder is an index."""
    return (path / MANIFEST).is_file() or (path / LANGUAGES).is_file()


def _parsed(data: Mapping[str, Any]) -> Manifest:
    """The manifest in a JSON object; a `ValueError` says which value is wrong."""
    known = {name: data[name] for name in _MANIFEST_FIELDS if name in data}
    known.setdefault("tuning", None)  # which older versions could not write
    values = check_fields(known, _MANIFEST_FIELDS, "the manifest")
    given = values["settings"]
    if data["format"] == 1:
        given = {**_BEFORE_SCORES, **given}
    settings = check_fields({**_BEFORE_TEXTS, **given}, _SETTINGS_FIELDS, "settings")
    for name in ("word_columns", "text_columns"):
        settings[name] = tuple(settings[name])
    settings["synonyms"] = tuple(map(tuple, settings["synonyms"]))
    values["settings"] = IndexSettings(**settings)
    values["columns"] = tuple(values["columns"])
    values["segments"] = tuple(map(_parsed_segment, values["segments"]))
    if values["tuning"] is not None:
        entry = check_fields(values["tuning"], _TUNING_FIELDS, "the entry of tuning")
        values["tuning"] = TuningEntry(**entry)
    if len({each.name for each in values["segments"]}) < len(values["segments"]):
        raise ValueError("two of its segments have the same name")
    return Manifest(**values)


def _parsed_segment(data: object) -> SegmentEntry:
    entry = SegmentEntry(**check_fields(data, _SEGMENT_FIELDS, "an entry of segments"))
    if entry.num_deleted > (0 if entry.deleted is None else entry.num_rows):
        raise ValueError(f"num_deleted of segment {entry.name} is {entry.num_deleted:,}")
    return entry


def check_min_score(value: object) -> None:
    """Refuse a score that is not a probability."""
    if not _is_number(value) or not 0 <= value <= 1:  # type: ignore[operator]
        raise ConfigError(f"min_score must be from 0 to 1, got {value!r:.60}")


def check_number(value: object) -> None:
    """Refuse a score that is no number; those of recall are no probabilities."""
    if not _is_number(value):
        raise ConfigError(f"min_score must be a number, got {value!r:.60}")


def _is_number(value: object) -> bool:
    """Whether it is a finite number; an integer may be larger than any float."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return is_number and bool(abs(value) <= sys.float_info.max)  # type: ignore[arg-type]


def _is_share(value: object) -> bool:
    return _is_number(value) and bool(0 <= value <= 1)  # type: ignore[operator]


def _are_groups(value: object) -> bool:
    """Whether these are groups of texts, as synonyms are."""
    return isinstance(value, (list, tuple)) and all(
        isinstance(group, (list, tuple))
        and len(group) > 1
        and all(TEXT.holds(word) and word.strip() for word in group)
        for group in value
    )


def _no_index(folder: Path) -> str:
    if not folder.exists():
        return "no such index; build one with softquery index FILE --output INDEX"
    return "is not an index (it has no manifest.json)"
