"""`--init`: a run that takes up a bundle's text pipeline, sizes, labels and weights."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from torch import nn

from softquery.bundle import Bundle, read_bundle
from softquery.errors import ConfigError
from softquery.models import (
    Attentive,
    BertClassifier,
    BertMatcher,
    BertTagger,
    BiLstmTagger,
    Esim,
    Hierarchical,
)
from softquery.recipes.run import Run, Task, Vocabularies
from softquery.running.adapter import Say, SourceRows
from softquery.running.adapters import adapter_of
from softquery.running.classify import ClassifyAdapter, class_task
from softquery.running.match import MatchAdapter, found_labels
from softquery.runtime.fit_checks import fitting_pipeline, fitting_source_pipeline
from softquery.runtime.torch_models import TaskModel, load_task_model
from softquery.tasks import PairClassification
from softquery.text import TextPipeline

SIZES = ("embedding_size", "hidden_size", "cell", "parts", "pooling", "head", "hidden_sizes",
         "spelling", "decoder", "merge", "context_size", "max_sentences", "inner_size", "num_heads",
         "num_layers", "num_encoder_layers", "num_decoder_layers", "norm", "activation",
         "positions", "max_length", "tie", "direction", "context", "attention", "num_highways",
         "score", "encoder")  # fmt: skip
"""Settings that decide which weights there are; dropout and the like stay the run's own."""
ELMO_SIZES = ("places", "beside_words", "layers", "size")
"""Likewise of a biLM inside."""


@dataclass(frozen=True, slots=True)
class Start:
    """A bundle that a run starts from."""

    bundle: Bundle
    model: TaskModel
    pipeline: TextPipeline
    source_pipeline: TextPipeline | None = None
    """Of a generator's sources, where they have a vocabulary of their own."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Its classes; none where it grades."""
        return tuple(self.bundle.config.task.get("labels", ()))

    def shape(self, run: Run, source: SourceRows, say: Say) -> Run:
        """The run with the bundle's sizes, and with its order of labels where they are the same."""
        if run.vectors:
            raise ConfigError("--init brings its own word vectors; leave --vectors away")
        say(f"vocabulary: {self.pipeline.vocab_size:,} entries, those of {self.bundle.path}")
        run = self._with_vocabularies(self._with_labels(run, source))
        if type(run.model) is not type(self.model.config):
            return run
        taken = _differing(run.model, self.model.config, SIZES)
        inside = getattr(getattr(self.model, "embedder", None), "settings", None)
        elmo = {} if inside is None or not run.elmo else _differing(run.elmo, inside, ELMO_SIZES)
        shown = {**taken, **{f"elmo.{name}": value for name, value in elmo.items()}}
        if shown:
            values = ", ".join(f"{name} = {value}" for name, value in shown.items())
            say(f"as in the bundle that is started from: {values}")
        try:
            run = dataclasses.replace(run, model=dataclasses.replace(run.model, **taken))
            return dataclasses.replace(run, elmo=run.elmo and dataclasses.replace(run.elmo, **elmo))
        except ValueError as error:
            raise ConfigError(f"--init: {error}") from None

    def _with_vocabularies(self, run: Run) -> Run:
        """The run with as many vocabularies as the bundle has."""
        if run.writing is None:
            return run
        found: Vocabularies = "shared" if self.source_pipeline is None else "separate"
        return dataclasses.replace(
            run, writing=dataclasses.replace(run.writing, vocabularies=found)
        )

    def _with_labels(self, run: Run, source: SourceRows) -> Run:
        """The run with the bundle's labels in their order, where the rows have the same ones."""
        work = adapter_of(run)
        if run.task is not None or not isinstance(work, (MatchAdapter, ClassifyAdapter)):
            return run
        if isinstance(work, ClassifyAdapter):
            same = sorted(self.labels) == sorted(found_labels(source, advice=""))
            return dataclasses.replace(run, task=class_task(run, self.labels)) if same else run
        if sorted(self.labels) != sorted(found_labels(source)):
            return run
        return dataclasses.replace(run, task=PairClassification(labels=self.labels))

    def fill(self, model: TaskModel, task: Task, say: Say) -> None:
        """Take over every weight of the same name and shape, but no answer to other labels."""
        own, given = model.state_dict(), self.model.state_dict()
        labels = tuple(getattr(task, "labels", ()))
        left_out = set() if labels == self.labels else _last_layer(model)
        fitting = {
            name: value
            for name, value in given.items()
            if name in own and own[name].shape == value.shape and name not in left_out
        }
        if not fitting:
            raise ConfigError("--init: the bundle has no weight that fits this model")
        model.load_state_dict({**own, **fitting})
        fresh = sorted(set(own) - set(fitting))
        new = f"; new: {', '.join(fresh)}" if fresh else ""
        say(f"started from {len(fitting)} of {len(own)} weights{new}")


def read_start(folder: str | PathLike[str]) -> Start:
    """Open a bundle to start from."""
    bundle = read_bundle(folder)
    pipeline, reading = fitting_pipeline(bundle), None
    if bundle.source_tokenizer_path is not None:
        reading = fitting_source_pipeline(bundle, pipeline)
    return Start(bundle, load_task_model(bundle), pipeline, reading)


def _differing(own: Any, given: Any, names: Sequence[str]) -> dict[str, Any]:
    """What the bundle's settings are where the run's are others."""
    return {
        name: getattr(given, name)
        for name in names
        if hasattr(own, name) and getattr(own, name) != getattr(given, name)
    }


def _last_layer(model: TaskModel) -> set[str]:
    """The weights of the layer whose outputs are the labels; a cosine has none."""
    heads = (BiLstmTagger, Attentive, Hierarchical, BertClassifier, BertMatcher, BertTagger)
    if isinstance(model, heads):
        return {name for name in model.state_dict() if name.startswith(("output.", "crf."))}
    head = "classifier" if isinstance(model, Esim) else "head"
    layers = [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and name.startswith(head)
    ]
    return {f"{layers[-1]}.weight", f"{layers[-1]}.bias"} if layers else set()
