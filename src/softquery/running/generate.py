"""Texts with what is to be written for them: rows with `source` and `target`, or two files."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from softquery.data import Translations, encode_translations
from softquery.decoding import Greedy
from softquery.errors import ConfigError, InputError, counted
from softquery.files import Row, find_split, read_aligned, read_rows
from softquery.measure import corpus_bleu, require_sacrebleu
from softquery.recipes.run import GenerateSettings, Run
from softquery.running.adapter import Folder, Prepared, Say, SourceRows
from softquery.running.generate_plan import GeneratePlan
from softquery.runtime.generate.evaluate import evaluate_generator
from softquery.runtime.generate.model import Generator
from softquery.runtime.generate.request import GenerateRequest
from softquery.runtime.generate.torch import TorchGenerateBackend, token_likelihood
from softquery.tasks import Generation
from softquery.text import TextPipeline, build_pipeline

COLUMNS = ("source", "target")
SIDE_BY_SIDE = 256
"""Sources that are decoded together when a run is measured."""


@dataclass(frozen=True, slots=True)
class GenerateAdapter:
    """Generation; see `softquery.running.adapter.TaskAdapter`."""

    settings: GenerateSettings

    kind: ClassVar[str] = "generator"
    noun: ClassVar[str] = "texts"

    def read(
        self, folder: Folder, split: str, rename: Mapping[str, str] | None, say: Say
    ) -> list[Row]:
        """The rows of one split."""
        if self.settings.languages:
            one, other = self.settings.languages
            say(f"reading {split}.{one} and {split}.{other} in {folder}")
            rows, num_blank = read_aligned(folder, split, (one, other))
            if num_blank:
                say(f"{split}: {counted(num_blank, 'line')} left out, blank on a side")
        else:
            path = find_split(folder, split)
            say(f"reading {path}")
            rows = list(read_rows(path, columns=COLUMNS, rename=rename))
        if not rows:
            raise InputError(f"holds no rows for {split}", source=folder)
        return rows

    def group(self, row: Row) -> Hashable:
        """Rows that share their source stay together."""
        return row.values["source"]

    def identity(self, row: Row) -> Hashable:
        """Both sides."""
        return _sides(row)

    def written(self, row: Row) -> str:
        """Both sides."""
        return "\t".join(_sides(row))

    def settle(self, run: Run, source: SourceRows, say: Say) -> Run:
        """Refuse, before any work, what could not be finished."""
        task: Any = run.task
        if self.is_separate and run.model.tie == "all":  # type: ignore[union-attr]
            raise ConfigError(
                "model.tie=all needs one vocabulary; with writing.vocabularies=separate set "
                "model.tie=output or model.tie=none"
            )
        if not run.text.boundaries:
            raise ConfigError("text.boundaries must be true: what is written has to end")
        if task.bleu != "none":
            require_sacrebleu()
        longest = getattr(run.model, "max_length", math.inf)
        if getattr(run.model, "positions", "") == "learned" and run.text.max_tokens > longest:
            raise ConfigError(
                f"text.max_tokens ({run.text.max_tokens}) must not exceed the positions that are "
                f"learned, model.max_length ({longest})"
            )
        return run

    @property
    def is_separate(self) -> bool:
        """Whether each side has a vocabulary of its own."""
        return self.settings.vocabularies == "separate"

    def build_pipeline(self, run: Run, source: SourceRows) -> TextPipeline:
        """One vocabulary of both sides, or that of the target."""
        first = 1 if self.is_separate else 0
        return _pipeline(run, [text for row in source.train for text in _sides(row)[first:]])

    def build_source_pipeline(self, run: Run, source: SourceRows) -> TextPipeline | None:
        """The vocabulary of the source, where it has one of its own."""
        if not self.is_separate:
            return None
        return _pipeline(run, [_sides(row)[0] for row in source.train])

    def encode(
        self, rows: list[Row], prepared: Prepared, say: Say, name: str, *, taught: bool = False
    ) -> Translations:
        """Tokenise one split, and say what was cut."""
        found = encode_translations(
            rows, prepared.source_pipeline or prepared.pipeline, prepared.pipeline
        )
        if found.num_cut:
            limit = prepared.pipeline.config.max_tokens
            say(f"{name}: {counted(found.num_cut, 'text was', 'texts were')} cut at {limit} tokens")
        return found

    def num_taught(self, rows: list[Row], train: Translations) -> int:
        """All of them."""
        return len(rows)

    def plan(self, prepared: Prepared, train: Translations, tune: Translations) -> GeneratePlan:
        """Batches, and log-likelihood or BLEU of what was held back."""

        def measured(model: nn.Module) -> dict[str, float]:
            return self._measured(prepared, model, tune)

        return GeneratePlan(
            train=train,
            lengths=train.lengths().cpu(),
            target_lengths=train.target.lengths.cpu(),
            batch_tokens=self.settings.batch_tokens,
            files=prepared.run.data,
            seed=prepared.run.training.seed,
            measured=measured,
        )

    def report(self, prepared: Prepared, model: nn.Module, dev: Translations) -> dict[str, Any]:
        """Perplexity, BLEU greedy and by beam, and rules of couplets."""
        evaluation = evaluate_generator(
            _writer(prepared, model),
            prepared.source.dev,
            beam=self.settings.beam,
            length_penalty=self.settings.length_penalty,
        )
        accuracy = token_likelihood(model, dev).report()["token_accuracy"]
        return {**evaluation.report(), "token_accuracy": accuracy}

    def _measured(
        self, prepared: Prepared, model: nn.Module, tune: Translations
    ) -> dict[str, float]:
        likely = token_likelihood(model, tune)
        if not math.isfinite(likely.log_likelihood):
            raise ConfigError(
                "the run diverged: the model's answers are no longer finite; "
                "lower optim.lr, or raise optim.eps or schedule.warmup_steps"
            )
        found = {"tune_log_likelihood": likely.mean}
        task: Generation = prepared.task
        if task.steer == "bleu":
            rows: list[Row] = prepared.source.tune
            writer = _writer(prepared, model)
            texts = writer.generate(
                [row.values["source"] for row in rows], GenerateRequest(strategy=Greedy())
            )
            answers = [each[0].text if each else "" for each in texts]
            targets = [row.values["target"] for row in rows]
            found = {"tune_bleu": corpus_bleu(answers, targets, tokens=task.bleu), **found}
        return {**found, "tune_token_accuracy": float(likely.report()["token_accuracy"])}


def _writer(prepared: Prepared, model: nn.Module) -> Generator:
    """The model as it will write."""
    backend = TorchGenerateBackend(model, SIDE_BY_SIDE)
    return Generator(
        prepared.pipeline,
        prepared.task.to_dict(),
        backend,
        chunk=SIDE_BY_SIDE,
        source_pipeline=prepared.source_pipeline,
    )


def _pipeline(run: Run, texts: list[str]) -> TextPipeline:
    size, count = run.vocabulary.size, run.vocabulary.min_count
    return build_pipeline(texts, run.text, vocab_size=size, min_count=count)


def _sides(row: Row) -> tuple[str, str]:
    return row.values["source"], row.values["target"]
