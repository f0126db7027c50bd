"""Texts with what is to be generated for them: rows with `source` and `target`, or two files."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from torch import nn

from softquery.data import Slot, Translations, budgeted, encode_translations
from softquery.decoding import Greedy
from softquery.errors import ConfigError, InputError, counted
from softquery.files import Row, read_aligned, read_rows
from softquery.measure import corpus_bleu, require_sacrebleu
from softquery.recipes import GenerateSettings, Run
from softquery.running.adapter import Folder, Prepared, TaskAdapter, check_finite, vocabulary_of
from softquery.running.row_checks import Rows
from softquery.running.run_options import Say
from softquery.runtime.generate.evaluate import evaluate_generator
from softquery.runtime.generate.model import Generator
from softquery.runtime.generate.request import GenerateRequest
from softquery.runtime.generate.torch import TorchGenerateBackend, token_likelihood
from softquery.tasks import Generation
from softquery.text import SUBWORDS, TextPipeline
from softquery.training import TrainingPlan

COLUMNS = ("source", "target")
SIDE_BY_SIDE = 256
"""Sources that are decoded together when a run is measured."""


class GenerateAdapter(TaskAdapter):
    """Generation as a `TaskAdapter`."""

    kind: ClassVar[str] = "generator"
    noun: ClassVar[str] = "texts"

    def parse(self, path: Path, rename: Mapping[str, str] | None) -> Iterable[Row]:
        """The rows of a file."""
        return read_rows(path, columns=COLUMNS, rename=rename)

    def read(
        self, run: Run, folder: Folder, split: str, rename: Mapping[str, str] | None, say: Say
    ) -> list[Row]:
        """The rows of one split, which may be two files that stand line by line."""
        languages = _settings(run).languages
        if not languages:
            return TaskAdapter.read(self, run, folder, split, rename, say)
        one, other = languages
        say(f"reading {split}.{one} and {split}.{other} in {folder}")
        rows, num_blank = read_aligned(folder, split, (one, other))
        if num_blank:
            say(f"{split}: {counted(num_blank, 'line')} left out, blank on a side")
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

    def settle(self, run: Run, rows: Rows, labels: Sequence[str], say: Say) -> Run:
        """Refuse, before any work, what could not be finished."""
        task: Any = run.task
        if _is_separate(run) and run.model.tie == "all":
            raise ConfigError(
                "model.tie=all needs one vocabulary; with writing.vocabularies=separate set "
                "model.tie=output or model.tie=none"
            )
        if not run.text.boundaries:
            raise ConfigError("text.boundaries must be true: what is written has to end")
        if task.bleu != "none":
            require_sacrebleu()
        if run.vectors and run.text.unit in SUBWORDS:
            raise ConfigError(
                f"--vectors: {run.name} learns the vectors of its pieces by itself; for whole "
                "words set text.unit=words"
            )
        if run.vectors and not hasattr(run.model, "embedding_size"):
            raise ConfigError(f"--vectors: the words of {run.name} are as wide as its layers")
        longest = getattr(run.model, "max_length", math.inf)
        if getattr(run.model, "positions", "") == "learned" and run.text.max_tokens > longest:
            raise ConfigError(
                f"text.max_tokens ({run.text.max_tokens}) must not exceed the positions that are "
                f"learned, model.max_length ({longest})"
            )
        return run

    def build_pipeline(self, run: Run, rows: Rows) -> TextPipeline:
        """One vocabulary of both sides, or that of the target."""
        first = 1 if _is_separate(run) else 0
        return vocabulary_of(run, [text for row in rows["train"] for text in _sides(row)[first:]])

    def build_source_pipeline(self, run: Run, rows: Rows) -> TextPipeline | None:
        """The vocabulary of the source, where it has one of its own."""
        if not _is_separate(run):
            return None
        return vocabulary_of(run, [_sides(row)[0] for row in rows["train"]])

    def encode(
        self, rows: list[Row], prepared: Prepared, say: Say, name: str, *, to_train: bool = False
    ) -> Translations:
        """Tokenise one split, and say what was cut."""
        found = encode_translations(
            rows, prepared.source_pipeline or prepared.pipeline, prepared.pipeline
        )
        if found.num_cut:
            limit = prepared.pipeline.config.max_tokens
            say(f"{name}: {counted(found.num_cut, 'text was', 'texts were')} cut at {limit} tokens")
        return found

    def plan(self, prepared: Prepared, train: Translations, tune: Translations) -> TrainingPlan:
        """Batches of few shapes, and log-likelihood or BLEU on the tune set."""
        run, lengths = prepared.run, train.lengths().cpu()
        target_lengths = train.target.lengths.cpu()

        def slots(epoch: int) -> Sequence[Slot]:
            return budgeted(
                lengths,
                num_tokens=_settings(run).batch_tokens,
                seed=run.training.seed,
                epoch=epoch,
                pad_multiple=run.data.pad_multiple,
            )

        def num_tokens(slot: Slot) -> int:
            """Tokens that are learnt to be said, the ends included."""
            return int(target_lengths[slot.rows].sum()) - len(slot.rows)

        return TrainingPlan(
            slots=slots,
            make_batch=train.batch,
            measure=lambda model: self._measured(prepared, model, tune),
            num_tokens=num_tokens,
        )

    def report(self, prepared: Prepared, model: nn.Module, dev: Translations) -> dict[str, Any]:
        """Perplexity, BLEU greedy and by beam, and rules of couplets."""
        evaluation = evaluate_generator(
            _generator(prepared, model),
            prepared.rows["dev"],
            beam=_settings(prepared.run).beam,
            length_penalty=_settings(prepared.run).length_penalty,
        )
        accuracy = token_likelihood(model, dev).report()["token_accuracy"]
        return {**evaluation.report(), "token_accuracy": accuracy}

    def _measured(
        self, prepared: Prepared, model: nn.Module, tune: Translations
    ) -> dict[str, float]:
        likely = token_likelihood(model, tune)
        check_finite(math.isfinite(likely.log_likelihood))
        found = {"tune_log_likelihood": likely.mean}
        task: Generation = prepared.task
        if task.steer == "bleu":
            rows: list[Row] = prepared.rows["tune"]
            generator = _generator(prepared, model)
            texts = generator.generate(
                [row.values["source"] for row in rows], GenerateRequest(strategy=Greedy())
            )
            answers = [each[0].text if each else "" for each in texts]
            targets = [row.values["target"] for row in rows]
            found = {"tune_bleu": corpus_bleu(answers, targets, tokens=task.bleu), **found}
        accuracy = float(likely.report()["token_accuracy"])
        return {**found, "tune_token_accuracy": accuracy, "tune_loss": -likely.mean}


def _generator(prepared: Prepared, model: nn.Module) -> Generator:
    """The model as it will generate."""
    backend = TorchGenerateBackend(model, SIDE_BY_SIDE)
    return Generator(
        prepared.pipeline,
        prepared.task.to_dict(),
        backend,
        chunk=SIDE_BY_SIDE,
        source_pipeline=prepared.source_pipeline,
    )


def _settings(run: Run) -> GenerateSettings:
    return run.settings if isinstance(run.settings, GenerateSettings) else GenerateSettings()


def _is_separate(run: Run) -> bool:
    """Whether each side has a vocabulary of its own."""
    return _settings(run).vocabularies == "separate"


def _sides(row: Row) -> tuple[str, str]:
    return row.values["source"], row.values["target"]
