"""`--init` for BERT: go on from a pretrained one, ours or an imported one, on other text."""

import dataclasses
from dataclasses import dataclass
from os import PathLike

from softquery.bundle import Bundle, read_bundle
from softquery.errors import BundleError, ConfigError
from softquery.models import Bert
from softquery.recipes.bert_run import BertRun
from softquery.running.adapter import Say
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.torch_models import load_encoder
from softquery.text import TextPipeline

SIZES = ("vocab_size", "hidden_size", "num_layers", "num_heads", "inner_size", "max_length",
         "num_segments", "activation", "norm_eps")  # fmt: skip
"""Settings that decide what the weights mean; dropout and heads stay the run's own."""


@dataclass(frozen=True, slots=True)
class BertStart:
    """A bundle that a run starts from."""

    bundle: Bundle
    model: Bert
    pipeline: TextPipeline

    def shape(self, run: BertRun, say: Say) -> BertRun:
        """The run with the bundle's sizes and text pipeline."""
        given = self.model.config
        if given.direction != "both":
            raise ConfigError("--init: the bundle reads from the left alone, and hides no words")
        taken = {
            name: getattr(given, name)
            for name in SIZES
            if getattr(run.model, name) != getattr(given, name)
        }
        if shown := [name for name in taken if name != "vocab_size"]:
            say(f"as in the bundle that is started from: {', '.join(shown)}")
        return dataclasses.replace(
            run, model=dataclasses.replace(run.model, **taken), text=self.pipeline.config
        )

    def fill(self, model: Bert, say: Say) -> None:
        """Take over every weight that the run has a place for."""
        own, given = model.state_dict(), self.model.state_dict()
        fitting = {name: value for name, value in given.items() if name in own}
        model.load_state_dict({**own, **fitting})
        fresh = sorted(set(own) - set(fitting))
        new = f"; new: {', '.join(fresh)}" if fresh else ""
        say(f"started from {len(fitting)} of {len(own)} weights{new}")


def read_bert_start(folder: str | PathLike[str]) -> BertStart:
    """Open a bundle to start from."""
    bundle = read_bundle(folder)
    if bundle.config.model["name"] != "bert":
        raise BundleError(
            f"{bundle.path}: expected a bert to start from, found {bundle.config.model['name']!r}"
        )
    return BertStart(bundle, load_encoder(bundle), fitting_pipeline(bundle))
