"""Sentences with a tag for each word: CoNLL columns or JSONL."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import nn

from softquery.answers import Scheme, TagError, TagSet
from softquery.answers.tag_schemes import OUTSIDE, label_of
from softquery.data import Sentences, Texts, WordPieces, encode_words
from softquery.errors import InputError, counted
from softquery.files import TAGGED_FORMS, TaggedSentence, read_tagged
from softquery.models import REGISTRY
from softquery.recipes import Run, TagSettings
from softquery.running.adapter import (
    Prepared,
    TaskAdapter,
    bucketed_slots,
    check_finite,
    mean_loss,
    vocabulary_of,
)
from softquery.running.row_checks import Answered, Rows
from softquery.running.run_options import Say
from softquery.runtime.tag.backend import decode_tags
from softquery.runtime.tag.scheme_detection import written_scheme
from softquery.runtime.torch_models import max_characters, tag_scores
from softquery.tasks import Tagging
from softquery.text import (
    PieceEncoder,
    TextPipeline,
    in_parts,
    normalise,
    pipeline_from_words,
    rejoined,
)
from softquery.training import TrainingPlan


class TagAdapter(TaskAdapter):
    """Tagging as a `TaskAdapter`."""

    kind: ClassVar[str] = "tagger"
    noun: ClassVar[str] = "sentences"
    forms: ClassVar[Sequence[str] | None] = TAGGED_FORMS

    def parse(self, path: Path, rename: Mapping[str, str] | None) -> Iterable[TaggedSentence]:
        """The sentences of a file."""
        return read_tagged(path, rename=rename)

    def group(self, row: TaggedSentence) -> Hashable:
        """Equal sentences stay together."""
        return tuple(row.tokens)

    def identity(self, row: TaggedSentence) -> Hashable:
        """All words."""
        return tuple(row.tokens)

    def labels(self, row: TaggedSentence) -> Sequence[str]:
        """What its spans are, each once; plain tags as they are."""
        return sorted({label_of(tag) for tag in row.tags or () if tag != OUTSIDE})

    def answered(self, row: TaggedSentence) -> Answered | None:
        """All words with all tags."""
        return Answered(tuple(row.tokens), tuple(row.tags or ()), row.rows[0])

    def chance(self, prepared: Prepared, split: str) -> float | None:
        """No span; for plain tags, the most frequent one."""
        if prepared.task.tags.has_spans:
            return 0.0
        counts = Counter(tag for row in prepared.rows[split] for tag in row.tags or ())
        return max(counts.values()) / counts.total()

    def written(self, row: TaggedSentence) -> str:
        """Words and tags."""
        return "\t".join([*row.tokens, "", *(row.tags or ())])

    def settle(self, run: Run, rows: Rows, labels: Sequence[str], say: Say) -> Run:
        """How tags are written, and without a task, those of the training sentences."""
        settings = _settings(run)
        sentences: list[TaggedSentence] = [*rows["train"], *rows["tune"]]
        given = scheme_of(sentences, settings, say)
        run = replace(run, settings=replace(settings, given=given))
        if run.task is not None:
            return run
        try:
            tags = TagSet.found(
                [row.tags or [] for row in sentences],
                given=given,
                learnt=settings.learnt,
                decoding=settings.decoding,
            )
        except ValueError as error:
            raise InputError(str(error), source=sentences[0].source) from None
        shown = ", ".join([*tags.labels[:9], *(["…"] if len(tags.labels) > 9 else [])])
        say(f"tags: {given}, {len(tags.labels)} to learn ({shown})")
        return replace(run, task=Tagging(tags=tags))

    def build_pipeline(self, run: Run, rows: Rows) -> TextPipeline:
        """The words as they are cut in the files, the most frequent first."""
        if run.text.unit == "bert":
            return vocabulary_of(run, (" ".join(row.tokens) for row in rows["train"]))
        counts = Counter(normalise(word, run.text) for row in rows["train"] for word in row.tokens)
        kept = [word for word, count in counts.most_common() if count >= run.vocabulary.min_count]
        kept.sort(key=lambda word: (-counts[word], word))
        return pipeline_from_words([word for word in kept if word][: run.vocabulary.size], run.text)

    def encode(
        self,
        rows: list[TaggedSentence],
        prepared: Prepared,
        say: Say,
        name: str,
        *,
        to_train: bool = False,
    ) -> Texts | WordPieces:
        """Words and tags as ids; long sentences in parts."""
        limit = prepared.pipeline.config.max_tokens
        words = [row.tokens for row in rows]
        given = _settings(prepared.run).given
        ids = [_ids(row, prepared.task.tags, given) for row in rows]  # type: ignore[arg-type]
        if REGISTRY[prepared.run.model_name()].has_encoder:
            made = tagged_pieces(words, ids, prepared.pipeline)
            if made.num_cut:
                many = counted(made.num_cut, "sentence is", "sentences are")
                say(f"{name}: {many} longer than {limit} pieces; in parts")
            return made
        num_cut = sum(len(row.tokens) > limit for row in rows)
        if num_cut:
            many = counted(num_cut, "sentence is", "sentences are")
            say(f"{name}: {many} longer than {limit} words; read in parts")
        texts = encode_words(
            list(in_parts(words, limit)),
            prepared.pipeline,
            max_characters=max_characters(prepared.run.model),
        )
        return replace(texts, label=Sentences.pack(list(in_parts(ids, limit))), num_cut=num_cut)

    def plan(
        self, prepared: Prepared, train: Texts | WordPieces, tune: Texts | WordPieces
    ) -> TrainingPlan:
        """Shuffled batches, and F1 or accuracy on the tune set."""

        def measure(model: nn.Module) -> dict[str, float]:
            gold, predicted = self._tags(prepared, model, tune, prepared.rows["tune"])
            task = prepared.task
            found = task.report(gold, predicted, num_samples=1)
            names = dict.fromkeys([task.steers_by, "accuracy"])
            metrics = {f"tune_{name}": found[name] for name in names}
            return {**metrics, "tune_loss": mean_loss(task.loss, model, tune)}

        return TrainingPlan(
            slots=bucketed_slots(prepared.run, train.lengths().cpu()),
            make_batch=train.batch,
            measure=measure,
        )

    def report(
        self, prepared: Prepared, model: nn.Module, dev: Texts | WordPieces
    ) -> dict[str, Any]:
        """Entities found whole, and words."""
        gold, predicted = self._tags(prepared, model, dev, prepared.rows["dev"])
        found: dict[str, Any] = prepared.task.report(gold, predicted)
        return found

    def _tags(
        self,
        prepared: Prepared,
        model: nn.Module,
        texts: Texts | WordPieces,
        rows: Sequence[TaggedSentence],
    ) -> tuple[list[list[str]], list[list[str]]]:
        """Gold and answered tags of whole sentences, both in the model's scheme."""
        scores, chain = tag_scores(model, texts)
        check_finite(all(np.isfinite(each).all() for each in scores))
        tags: TagSet = prepared.task.tags
        lengths = [len(row.tokens) for row in rows]
        label: Sentences = texts.label  # type: ignore[assignment]
        flat = label.ids.tolist()[: sum(lengths)]
        gold = rejoined([[tags.labels[each] for each in flat]], lengths)
        return gold, rejoined(decode_tags(scores, tags, chain), lengths)


def tagged_pieces(
    sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[int]], pipeline: TextPipeline
) -> WordPieces:
    """Sentences as pieces, each word's tag at its first one; long sentences in parts."""
    cut = PieceEncoder(pipeline).rows(sentences)
    rows = [row for parts in cut for row in parts]
    flat = rejoined(tags, [len(row.places) for row in rows])
    return WordPieces(
        Sentences.pack([row.ids for row in rows]),
        Sentences.pack([row.places for row in rows]),
        Sentences.pack(flat),
        num_cut=sum(len(parts) > 1 for parts in cut),
    )


def _settings(run: Run) -> TagSettings:
    return run.settings if isinstance(run.settings, TagSettings) else TagSettings()


def scheme_of(rows: Sequence[TaggedSentence], settings: TagSettings, say: Say) -> Scheme:
    """How the tags of the files are written; a mixture of schemes is refused."""
    if settings.given != "auto":
        return settings.given
    found = written_scheme(
        rows,
        otherwise="to read them all the same, name one with --set tags.given={scheme}",
    )
    if found.warning is not None:
        say(found.warning)
    return found.scheme


def _ids(row: TaggedSentence, tags: TagSet, given: Scheme) -> list[int]:
    try:
        return tags.ids(row.tags or [], given=given)
    except TagError as error:
        raise InputError(str(error), source=row.source, row=row.rows[error.place]) from None
