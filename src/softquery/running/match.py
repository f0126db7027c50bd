"""Pairs of sentences: rows with `sentence1`, `sentence2` and `label`."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from torch import nn

from softquery.data import Pairs, PiecePairs, encode_pairs, first_sentence
from softquery.errors import InputError, counted
from softquery.files import Row, find_split, read_rows
from softquery.models import BertMatcherConfig
from softquery.recipes.run import Run
from softquery.running.adapter import Folder, Prepared, Say, SourceRows
from softquery.running.match_plan import MatchPlan
from softquery.runtime.torch_models import pair_logits
from softquery.tasks import PairClassification
from softquery.text import TextPipeline, build_pipeline

COLUMNS = ("sentence1", "sentence2", "label")
TAUGHT = "probabilities"
"""A column of the training files that need not be there: what a teacher thinks of each pair."""


class MatchAdapter:
    """Matching; see `softquery.running.adapter.TaskAdapter`."""

    kind: ClassVar[str] = "matcher"
    noun: ClassVar[str] = "pairs"

    def read(
        self, folder: Folder, split: str, rename: Mapping[str, str] | None, say: Say
    ) -> list[Row]:
        """The rows of one split."""
        path = find_split(folder, split)
        say(f"reading {path}")
        rows = list(read_rows(path, columns=COLUMNS, optional=(TAUGHT,), rename=rename))
        if not rows:
            raise InputError("holds no rows", source=path)
        return rows

    def group(self, row: Row) -> Hashable:
        """Pairs that share their first sentence stay together."""
        return first_sentence(row)

    def identity(self, row: Row) -> Hashable:
        """Both sentences."""
        return _pair(row)

    def written(self, row: Row) -> str:
        """All columns that are read."""
        return "\t".join(row.values[name] for name in (*COLUMNS, TAUGHT) if name in row.values)

    def settle(self, run: Run, source: SourceRows, say: Say) -> Run:
        """Without a task, the classes are those of the training rows."""
        if run.task is not None:
            return run
        return replace(run, task=PairClassification(labels=found_labels(source)))

    def build_pipeline(self, run: Run, source: SourceRows) -> TextPipeline:
        """The words of all sentences."""
        texts = (text for row in source.train for text in _pair(row))
        size, count = run.vocabulary.size, run.vocabulary.min_count
        return build_pipeline(texts, run.text, vocab_size=size, min_count=count)

    def encode(
        self, rows: list[Row], prepared: Prepared, say: Say, name: str, *, taught: bool = False
    ) -> Pairs | PiecePairs:
        """Tokenise one split, and say what was cut."""
        task = prepared.task
        soft = task.parse_distribution if taught and isinstance(task, PairClassification) else None
        pairs = encode_pairs(
            rows,
            prepared.pipeline,
            parse_label=task.parse_label,
            parse_distribution=soft,
            max_characters=prepared.max_characters,
        )
        if pairs.num_cut:
            limit = prepared.pipeline.config.max_tokens
            many = counted(pairs.num_cut, "sentence was", "sentences were")
            say(f"{name}: {many} cut at {limit} tokens")
        if isinstance(prepared.run.model, BertMatcherConfig):
            return PiecePairs(pairs.first, pairs.second, pairs.label, pairs.num_cut)
        return pairs

    def num_taught(self, rows: list[Row], train: Pairs | PiecePairs) -> int:
        """All of them."""
        return len(rows)

    def plan(
        self, prepared: Prepared, train: Pairs | PiecePairs, tune: Pairs | PiecePairs
    ) -> MatchPlan:
        """Shuffled batches, and accuracy or correlation."""
        return MatchPlan(
            train=train,
            tune=tune,
            lengths=train.lengths().cpu(),
            task=prepared.task,
            files=prepared.run.data,
            seed=prepared.run.training.seed,
        )

    def report(
        self, prepared: Prepared, model: nn.Module, dev: Pairs | PiecePairs
    ) -> dict[str, Any]:
        """Accuracy and its kin, or correlations."""
        probabilities = prepared.task.probabilities(pair_logits(model, dev))
        found: dict[str, Any] = prepared.task.report(dev.label.cpu().numpy(), probabilities.numpy())
        return found


def found_labels(
    source: SourceRows, advice: str = "; grades need a graded recipe"
) -> tuple[str, ...]:
    """The classes of the training rows, in alphabetical order."""
    labels = sorted({row.values["label"] for row in (*source.train, *source.tune)})
    if not 2 <= len(labels) <= 1000:
        shown = ", ".join([*labels[:5], *(["…"] if len(labels) > 5 else [])])
        raise InputError(
            f"expected from 2 to 1,000 different labels, found {len(labels):,} ({shown}){advice}",
            source=source.train[0].source,
        )
    return tuple(labels)


def _pair(row: Row) -> tuple[str, str]:
    return row.values["sentence1"], row.values["sentence2"]
