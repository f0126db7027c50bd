"""`--init` for language models: adapt a biLM to the text of a domain or a task."""

import dataclasses
from dataclasses import dataclass
from os import PathLike

from softquery.bundle import Bundle, read_bundle
from softquery.errors import BundleError, ConfigError
from softquery.models import Elmo, SoftmaxConfig
from softquery.recipes.elmo_run import ElmoRun
from softquery.running.adapter import Say
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.torch_models import load_embedder
from softquery.text import TextPipeline

SIZES = ("characters", "hidden_size", "projection_size", "num_layers", "residual", "way",
         "cell_clip", "projection_clip")  # fmt: skip
"""Settings that decide what the weights mean; dropout and the like stay the run's own."""
SAME_WEIGHTS = {"full", "sampled"}
"""Kinds of softmax that can go on from each other."""


@dataclass(frozen=True, slots=True)
class ElmoStart:
    """A bundle that a run starts from."""

    bundle: Bundle
    model: Elmo
    pipeline: TextPipeline

    @property
    def vocabulary(self) -> list[str]:
        """The words that it predicts; none where it came without a softmax."""
        return [] if self.model.softmax is None else self.pipeline.vocabulary()

    def shape(self, run: ElmoRun, say: Say) -> ElmoRun:
        """The run with the bundle's sizes and text pipeline, and with its softmax if it has one."""
        given = dataclasses.replace(self.model.config, softmax=self._softmax(run))
        taken = {
            name: getattr(given, name)
            for name in (*SIZES, "softmax")
            if getattr(run.model, name) != getattr(given, name)
        }
        if taken:
            say(f"as in the bundle that is started from: {', '.join(taken)}")
        return dataclasses.replace(
            run, model=dataclasses.replace(run.model, **taken), text=self.pipeline.config
        )

    def _softmax(self, run: ElmoRun) -> SoftmaxConfig:
        """The bundle's kind of softmax; how it is learnt stays the run's own."""
        given, asked = self.model.config.softmax, run.model.softmax
        if self.model.softmax is None or {given.kind, asked.kind} <= SAME_WEIGHTS:
            return asked
        return dataclasses.replace(
            asked,
            kind=given.kind,
            cutoffs=given.cutoffs,
            correction_size=given.correction_size,
        )

    def fill(self, model: Elmo, say: Say) -> None:
        """Take over every weight that there is."""
        own, given = model.state_dict(), self.model.state_dict()
        if misfit := sorted(name for name in given if own[name].shape != given[name].shape):
            raise ConfigError(f"--init: {misfit[0]} of the bundle does not fit this run")
        model.load_state_dict({**own, **given})
        fresh = sorted(set(own) - set(given))
        new = f"; new: {', '.join(fresh)}" if fresh else ""
        say(f"started from {len(given)} of {len(own)} weights{new}")


def read_elmo_start(folder: str | PathLike[str]) -> ElmoStart:
    """Open a bundle to start from."""
    bundle = read_bundle(folder)
    if bundle.config.model["name"] != "elmo":
        raise BundleError(
            f"{bundle.path}: expected an elmo to start from, found {bundle.config.model['name']!r}"
        )
    return ElmoStart(bundle, load_embedder(bundle), fitting_pipeline(bundle))
