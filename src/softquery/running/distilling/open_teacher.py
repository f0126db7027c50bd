"""Teachers by what lies on the disk: a file of vectors or logits, an ONNX graph, a model folder.

Of pairs, N are N pairs, and C the logits of each.
"""

import json
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
import onnxruntime
import torch
from tokenizers import Tokenizer

from softquery.bundle import Bundle, read_bundle
from softquery.bundle.config import CONFIG, LARGEST_TOKENIZER
from softquery.errors import BundleError, ConfigError, InputError, counted
from softquery.export import ExportReport, export_bert_head, export_sentence_encoder
from softquery.interop import import_sentence_transformers
from softquery.interop.cross_encoder import is_cross_encoder
from softquery.interop.sentence_modules import MODULES
from softquery.plain_files import check_plain, read_plain
from softquery.running.distilling.pair_lessons import DistinctPairs
from softquery.running.distilling.teacher import (
    DistinctTexts,
    Floats,
    JoinedTeachers,
    Teacher,
    VectorFile,
    read_matrix,
)
from softquery.runtime import load
from softquery.runtime.loading import opened
from softquery.runtime.match.model import Matcher, load_matcher
from softquery.tasks import PairClassification, PairGrading, PairTask, task_from_dict
from softquery.text import BERT_RESERVED

TOKENIZER = "tokenizer.json"
EXPORT_BERT = partial(export_bert_head, int8=False, limit=0.0, rows=[])
BATCH = 64
"""Texts that a graph reads at a time."""
LARGEST_GRAPH = 1 << 31
"""Bytes of an ONNX file, which cannot hold more."""
MAX_TOKENS = 128
"""Of a text, for an ONNX teacher, which does not say how many it was made for."""


def open_teachers(sources: Sequence[str], weights: Sequence[float] | None = None) -> Teacher:
    """One teacher, or several as one.

    Args:
        sources: As `open_teacher` takes them.
        weights: How much each counts; None for all alike.
    """
    if weights is not None:
        if len(weights) != len(sources):
            raise ConfigError(f"{len(weights)} weights for {counted(len(sources), 'teacher')}")
        if not all(0 < weight < math.inf for weight in weights):
            raise ConfigError("a teacher's weight must be a positive number")
    teachers = [open_teacher(source) for source in sources]
    return teachers[0] if len(teachers) == 1 else JoinedTeachers(teachers, weights)


def open_teacher(source: str) -> Teacher:
    """A teacher by its file, its folder or its name in the zoo.

    Args:
        source: A `.npy` with one vector per text; an `.onnx` beside its `tokenizer.json`;
            a folder of sentence-transformers; or whatever `softquery.load` opens and can encode
            sentences.
    """
    path = Path(source)
    if path.suffix == ".npy":
        return VectorFile(path)
    if path.suffix == ".onnx":
        return OnnxTeacher(path)
    if (path / MODULES).exists():
        return ImportedTeacher(path)
    return ModelTeacher(source)


class ModelTeacher:
    """A model of ours that encodes sentences.

    On a GPU it computes in half precision, which is what its vectors are kept in.

    Args:
        source: Its name or its folder.
    """

    def __init__(self, source: str | Path) -> None:
        self.model: Any = load(source)
        if not hasattr(self.model, "encode"):
            raise InputError("does not encode sentences", source=source)

    @property
    def files(self) -> Sequence[Path]:
        """What decides its vectors."""
        bundle: Bundle = self.model.bundle
        return [bundle.path / CONFIG, bundle.tokenizer_path, bundle.weights_path]

    @property
    def vocabulary(self) -> Sequence[str] | None:
        """Its sub-words, where it reads BERT's."""
        pipeline = getattr(self.model, "pipeline", None)
        if pipeline is None or pipeline.config.unit != "bert":
            return None
        found: Sequence[str] = pipeline.vocabulary()
        return found

    def vectors(self, given: DistinctTexts, part: slice) -> Floats:
        """Vectors of a part of the texts."""
        return self.encode(given.texts[part])

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors of texts."""
        with torch.autocast("cuda", torch.float16, enabled=torch.cuda.is_available()):
            found: Floats = self.model.encode(texts)
        return found


class ImportedTeacher:
    """A folder of sentence-transformers, imported for as long as the run takes.

    Args:
        folder: With its `modules.json`.
    """

    def __init__(self, folder: Path) -> None:
        self._scratch = TemporaryDirectory()  # the model's files, until this object goes
        self._model = ModelTeacher(_imported(folder, self._scratch, export_sentence_encoder))
        self.vocabulary, self.vectors = self._model.vocabulary, self._model.vectors
        self.encode, self.files = self._model.encode, _model_files(folder)


def _imported(
    folder: Path, scratch: TemporaryDirectory[str], export: Callable[..., ExportReport]
) -> Path:
    """A bundle of a published model; without a GPU with its graph, which is faster than torch."""
    place = Path(scratch.name)
    bundle = read_bundle(import_sentence_transformers(folder, place / "imported"))
    if torch.cuda.is_available():
        return bundle.path
    return export(bundle, place / "exported").bundle


def _model_files(folder: Path) -> list[Path]:
    named = (".json", ".txt", ".safetensors")
    found = (path for path in folder.rglob("*") if path.suffix in named)
    return sorted(path for path in found if path.is_file())


class OnnxTeacher:
    """A graph as `optimum` and others export it: `input_ids` and `attention_mask` to vectors.

    An output `sentence_embedding` is taken as it is; otherwise the first output, where it has a
    vector per token, is averaged over the tokens.

    Args:
        path: The graph; its `tokenizer.json` lies in the same folder or in the one above.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        place = _tokenizer_beside(path)
        self.files = [path, place]
        self._tokenizer = _read_tokenizer(place)
        try:
            check_plain(path)
            self._session = onnxruntime.InferenceSession(
                read_plain(path, LARGEST_GRAPH), providers=["CPUExecutionProvider"]
            )
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", source=path) from None
        except Exception as error:  # the library's own classes, which it does not export
            raise InputError(
                f"is no graph that can be run ({_one_line(error)})", source=path
            ) from None
        self._inputs = {each.name for each in self._session.get_inputs()}
        if "input_ids" not in self._inputs:
            named = ", ".join(sorted(self._inputs))
            raise InputError(f"expected an input `input_ids`, found {named}", source=path)
        outputs = [each.name for each in self._session.get_outputs()]
        is_named = "sentence_embedding" in outputs
        self._output = "sentence_embedding" if is_named else outputs[0]

    @property
    def vocabulary(self) -> Sequence[str] | None:
        """Its sub-words, where they are BERT's."""
        ids = self._tokenizer.get_vocab()
        if not set(BERT_RESERVED) <= set(ids):
            return None
        return sorted(ids, key=ids.__getitem__)

    def vectors(self, given: DistinctTexts, part: slice) -> Floats:
        """Vectors of a part of the texts."""
        return self.encode(given.texts[part])

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors of texts."""
        parts = [
            self._encode(list(texts[start : start + BATCH]))
            for start in range(0, len(texts), BATCH)
        ]
        return np.concatenate(parts)

    def _encode(self, texts: list[str]) -> Floats:
        try:
            encodings = self._tokenizer.encode_batch(texts)
        except Exception as error:  # the library raises plain exceptions
            raise InputError(f"cannot cut texts ({error})"[:300], source=self.files[1]) from None
        longest = max(len(each.ids) for each in encodings)
        ids = np.zeros((len(texts), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, each in enumerate(encodings):
            ids[row, : len(each.ids)], mask[row, : len(each.ids)] = each.ids, 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feed = {name: value for name, value in given.items() if name in self._inputs}
        try:
            found = np.asarray(self._session.run([self._output], feed)[0], dtype=np.float32)
        except Exception as error:  # the library's own classes, which it does not export
            raise InputError(
                f"cannot read what {TOKENIZER} makes of texts ({_one_line(error)})",
                source=self.path,
            ) from None
        if found.ndim == 2:
            return found
        if found.ndim != 3 or found.shape[:2] != ids.shape:
            raise InputError(
                f"expected a vector per text or per token, found {list(found.shape)}",
                source=self.path,
            )
        weights = mask[:, :, None].astype(np.float32)
        mean: Floats = (found * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        return mean


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _tokenizer_beside(path: Path) -> Path:
    places = [folder / TOKENIZER for folder in (path.parent, path.parent.parent)]
    found = next((place for place in places if place.exists()), None)
    if found is None:
        raise InputError(f"has no {TOKENIZER} beside it", source=path)
    return found


def _read_tokenizer(path: Path) -> Tokenizer:
    try:
        content = read_plain(path, LARGEST_TOKENIZER).decode("utf-8")
        tokenizer = Tokenizer.from_str(json.dumps(json.loads(content)))
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"cannot be read ({error})", source=path) from None
    except Exception as error:  # the library raises plain exceptions
        raise InputError(f"is no tokenizer ({str(error)[:200]})", source=path) from None
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    return tokenizer


class PairTeacher(Protocol):
    """Whoever gives pairs the logits that are learnt."""

    @property
    def files(self) -> Sequence[Path]:
        """What a resumed run must find unchanged."""

    @property
    def task(self) -> PairTask:
        """What its logits mean."""

    def logits(self, given: DistinctPairs, part: slice) -> Floats:
        """Logits [N, C] of a part of the pairs."""


def open_pair_teacher(source: str, labels: Sequence[str] = ()) -> PairTeacher:
    """A teacher by its file, its folder or its name in the zoo.

    Args:
        source: A `.npy` with one row of logits per pair; the folder of a cross-encoder; or a
            matcher, by its name or its folder.
        labels: What the columns of a file mean; a model knows that by itself.
    """
    path = Path(source)
    if path.suffix == ".npy":
        return LogitFile(path, labels)
    if path.is_dir() and is_cross_encoder(path):
        return ImportedMatcher(path)
    if (path / MODULES).exists():
        raise InputError(
            "encodes sentences; expected a matcher or a cross-encoder; "
            "a teacher of vectors needs --texts",
            source=source,
        )
    return MatcherTeacher(source)


class MatcherTeacher:
    """A matcher of ours. On a GPU it computes there, in half precision.

    Args:
        source: Its name or its folder.
    """

    def __init__(self, source: str | Path) -> None:
        bundle = opened(source)
        if bundle.config.kind != "matcher":
            raise BundleError(
                f"{source}: expected a matcher, found kind {bundle.config.kind!r}; "
                "a teacher of vectors needs --texts"
            )
        on_gpu = torch.cuda.is_available()
        self.model: Matcher = load_matcher(bundle, device="cuda" if on_gpu else None)
        self.task = task_from_dict(bundle.config.task)
        self.files = [bundle.path / CONFIG, bundle.tokenizer_path, bundle.weights_path]

    def logits(self, given: DistinctPairs, part: slice) -> Floats:
        """Logits of a part of the pairs, which are read together: like lengths share a batch."""
        sides: Any = zip(*given.pairs(part), strict=True)
        first, second = (self.model.read(texts)[0] for texts in sides)
        with torch.autocast("cuda", torch.float16, enabled=torch.cuda.is_available()):
            return self.model.backend.pair_logits(first, second)


class ImportedMatcher:
    """A cross-encoder's folder, imported for as long as the run takes.

    Args:
        folder: With `config.json`, weights and tokenizer.
    """

    def __init__(self, folder: Path) -> None:
        self._scratch = TemporaryDirectory()  # the model's files, until this object goes
        self._model = MatcherTeacher(_imported(folder, self._scratch, EXPORT_BERT))
        self.task, self.logits = self._model.task, self._model.logits
        self.files = _model_files(folder)


class LogitFile:
    """A file of logits as a teacher: row i belongs to the i-th row of the pairs.

    Args:
        path: A matrix in .npy; one column grades, several are labels.
        labels: Names of the columns, where there are several.
    """

    def __init__(self, path: Path, labels: Sequence[str] = ()) -> None:
        self.matrix = read_matrix(path, "pair")
        self.path, self.files = path, [path]
        width = self.matrix.shape[1]
        self.task: PairTask = PairGrading(low=0, high=1)
        if width == 1 and not labels:
            return
        if len(labels) != width:
            named = f"--labels names {len(labels)}" if labels else "--labels names none"
            raise InputError(
                f"holds rows of {width}, but {named}; expected a label for each column",
                source=path,
            )
        try:
            self.task = PairClassification(labels=tuple(labels))
        except ValueError as error:
            raise ConfigError(f"--labels: {error}") from None

    def logits(self, given: DistinctPairs, part: slice) -> Floats:
        """The rows of a part of the pairs; there must be one for each row that was read."""
        if len(self.matrix) != given.num_read:
            raise InputError(
                f"holds logits of {len(self.matrix):,} pairs for {given.num_read:,} rows; "
                "expected one row each",
                source=self.path,
            )
        return np.asarray(self.matrix[given.places[part]], dtype=np.float32)


def checked_logits(teacher: PairTeacher, given: DistinctPairs, part: slice) -> Floats:
    """What a shard holds: a part's logits, refused where one is not finite.

    Args:
        teacher: Whose logits.
        given: All pairs.
        part: Of the pairs.
    """
    found = np.asarray(teacher.logits(given, part), dtype=np.float32)
    bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if len(bad):
        place = int(given.places[part][bad[0]])
        raise InputError(
            f"its logits of pair {place + 1:,} are not finite; expected numbers",
            source="the teacher",
        )
    return found
