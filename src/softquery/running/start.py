"""`--init`: a run that starts from a bundle's text pipeline, structure, labels and weights.

The bundle is a model of the same kind, which the run goes on with, or a pretrained encoder, on
which it puts a head. An encoder may also come by `--set bert.bundle=BUNDLE`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from torch import Tensor, nn

from softquery.bundle import Bundle, read_bundle
from softquery.errors import BundleError, ConfigError
from softquery.models import REGISTRY, name_of
from softquery.recipes import BertSettings, Run
from softquery.running.run_options import Say
from softquery.runtime.fit_checks import fitting_pipeline, fitting_source_pipeline
from softquery.runtime.torch_models import load_embedder, load_encoder, load_task_model
from softquery.tasks import GenerateSettings, ReadSettings, Vocabularies
from softquery.text import TextPipeline
from softquery.zoo import resolve

ELMO_STRUCTURE = ("places", "beside_words", "layers", "size")
"""Settings of a biLM inside a model that decide which weights there are."""
INSIDE = "encoder."
"""Before the names of an encoder's weights, in a model that is a head on it."""
LOADERS = {"bert": load_encoder, "elmo": load_embedder}


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """A bundle that a run starts from."""

    bundle: Bundle
    model: Any
    """With the bundle's weights."""
    pipeline: TextPipeline
    source_pipeline: TextPipeline | None = None
    """For a generator's sources, where they have a vocabulary of their own."""

    @property
    def is_encoder(self) -> bool:
        """Whether it is a pretrained encoder rather than a model of a task."""
        return self.bundle.config.kind == "encoder"

    @property
    def labels(self) -> tuple[str, ...]:
        """Its classes; none where it has no such thing."""
        return tuple(self.bundle.config.task.get("labels", ()))


def read_pretrained(folder: str | PathLike[str], name: str, purpose: str = "") -> Start:
    """Open the bundle of a pretrained model.

    Args:
        folder: The bundle.
        name: The model that it must hold: `"bert"` or `"elmo"`.
        purpose: What it is needed for, for the message where it holds another one.
    """
    bundle = read_bundle(folder)
    found = bundle.config.model["name"]
    if found != name:
        article = "an" if name == "elmo" else "a"
        raise BundleError(f"{bundle.path}: expected {article} {name}{purpose}, found {found!r}")
    return Start(bundle=bundle, model=LOADERS[name](bundle), pipeline=fitting_pipeline(bundle))


def differing(own: Any, given: Any, names: Sequence[str]) -> dict[str, Any]:
    """The given settings where the run's own are others."""
    return {
        name: getattr(given, name)
        for name in names
        if hasattr(own, name) and getattr(own, name) != getattr(given, name)
    }


def take_weights(model: nn.Module, given: Mapping[str, Tensor], say: Say) -> None:
    """Take over weights, all of which the model has, and say which of its own stay new."""
    own = model.state_dict()
    model.load_state_dict({**own, **given})
    fresh = sorted(set(own) - set(given))
    new = f"; new: {', '.join(fresh)}" if fresh else ""
    say(f"started from {len(given)} of {len(own)} weights{new}")


def begin(run: Run, init: str | PathLike[str] | None, say: Say) -> tuple[Run, Start | None]:
    """The run with the structure and the text of what it starts from, and that."""
    start = _opened(run, init)
    if start is not None and start.is_encoder and run.bert is not None:
        if init is not None:
            run = replace(run, bert=replace(run.bert, bundle=str(init)))
        run = _on_encoder(run, start, say)
    elif start is not None:
        run = _going_on(run, start, say)
    if run.bert is not None:
        run = _fitting_text(run, start, say)
        if start is not None:
            start = replace(start, pipeline=TextPipeline(start.pipeline.tokenizer, run.text))
    return run, start


def _opened(run: Run, init: str | PathLike[str] | None) -> Start | None:
    """Open what the run starts from; None where it learns by itself."""
    if init is not None:
        if run.bert is not None and read_bundle(resolve(init)).config.kind == "encoder":
            return read_pretrained(resolve(init), "bert")
        bundle = read_bundle(init)
        pipeline, source = fitting_pipeline(bundle), None
        if bundle.source_tokenizer_path is not None:
            source = fitting_source_pipeline(bundle, pipeline)
        model = load_task_model(bundle)
        return Start(bundle=bundle, model=model, pipeline=pipeline, source_pipeline=source)
    if run.bert is None or (not run.bert.bundle and run.bert.weights == "random"):
        return None
    if not run.bert.bundle:
        raise ConfigError(
            f"{run.name} needs a pretrained BERT; name its bundle with --init DIR or "
            "--set bert.bundle=DIR, or start from none with --set bert.weights=random"
        )
    return read_pretrained(resolve(run.bert.bundle), "bert")


def _on_encoder(run: Run, start: Start, say: Say) -> Run:
    """The run with the encoder's structure; dropout stays the run's own."""
    given = start.model.config
    if given.direction != "both":
        raise ConfigError(f"{start.bundle.path}: reads from the left alone; a head needs both")
    taken = {name: getattr(given, name) for name in REGISTRY["bert"].structure}
    taken["window"] = run.model.encoder.window or given.window
    say(
        f"{start.bundle.path}: {given.num_layers} layers of {given.hidden_size}, "
        f"{given.vocab_size:,} pieces"
    )
    return replace(run, model=replace(run.model, encoder=replace(run.model.encoder, **taken)))


def _going_on(run: Run, start: Start, say: Say) -> Run:
    """The run with the bundle's structure; dropout and the like stay the run's own."""
    if run.vectors:
        raise ConfigError("--init brings its own word vectors; omit --vectors")
    say(f"vocabulary: {start.pipeline.vocab_size:,} entries, those of {start.bundle.path}")
    if isinstance(run.settings, GenerateSettings):
        found: Vocabularies = "shared" if start.source_pipeline is None else "separate"
        run = replace(run, settings=replace(run.settings, vocabularies=found))
    if type(run.model) is not type(start.model.config):
        return run
    taken = differing(run.model, start.model.config, REGISTRY[name_of(run.model)].structure)
    inside = getattr(getattr(start.model, "embedder", None), "settings", None)
    elmo = {} if inside is None or not run.elmo else differing(run.elmo, inside, ELMO_STRUCTURE)
    shown = {**taken, **{f"elmo.{name}": value for name, value in elmo.items()}}
    if shown:
        values = ", ".join(f"{name} = {value}" for name, value in shown.items())
        say(f"as in the bundle that is started from: {values}")
    try:
        run = replace(run, model=replace(run.model, **taken))
        return replace(run, elmo=run.elmo and replace(run.elmo, **elmo))
    except ValueError as error:
        raise ConfigError(f"--init: {error}") from None


def _fitting_text(run: Run, start: Start | None, say: Say) -> Run:
    """The run with its text read as the encoder reads it, cut where its positions end."""
    if run.vectors:
        raise ConfigError(f"--vectors: {run.name} learns the vectors of its pieces by itself")
    if run.text.unit != "bert" or not run.text.boundaries:
        raise ConfigError("text.unit must be bert, and text.boundaries true, for a BERT inside")
    if start is not None:
        given = start.pipeline.config
        cut = run.text.max_tokens if start.is_encoder else given.max_tokens
        run = replace(run, text=replace(given, boundaries=True, max_tokens=cut))
    room, read = _room(run)
    if run.text.max_tokens > room:
        positions = run.model.encoder.max_length
        say(f"the encoder has {positions} positions: {room} pieces {read} are read")
        run = replace(run, text=replace(run.text, max_tokens=room))
    if isinstance(run.settings, ReadSettings):  # every answer must lie within one window
        step = max(1, min(run.settings.step, run.text.max_tokens - run.settings.max_words))
        run = replace(run, settings=replace(run.settings, step=step))
    return run


def _room(run: Run) -> tuple[int, str]:
    """The most pieces that are read at a time, marks included, and what they are pieces of.

    A reader's context has the marks and the question beside it.
    """
    encoder, kind = run.model.encoder, REGISTRY[name_of(run.model)].kind
    # Batches are padded to a multiple.
    room, read = encoder.max_length - encoder.max_length % run.data.pad_multiple, "of a text"
    if kind == "matcher":
        room, read = (room + 1) // 2, "of each side"
    elif kind == "reader":
        settings = run.settings if isinstance(run.settings, ReadSettings) else ReadSettings()
        room, read = room - 3 - settings.max_question, "of a context at a time"
    if room < 3:
        raise ConfigError(
            f"model.encoder.max_length ({encoder.max_length}) leaves no room for a text"
        )
    return room, read


def fill(model: nn.Module, run: Run, labels: Sequence[str], start: Start, say: Say) -> None:
    """Take over a bundle's weights.

    Args:
        model: Has the bundle's structure.
        run: What the model is trained by.
        labels: Those of its task. A layer that answers to other labels is not taken over.
        start: The bundle.
        say: Receives how many weights were taken.
    """
    own = model.state_dict()
    if start.is_encoder:
        if run.bert is not None and run.bert.weights == "pretrained":
            given = {f"{INSIDE}{name}": each for name, each in start.model.state_dict().items()}
            take_weights(model, {name: each for name, each in given.items() if name in own}, say)
        return
    left_out = () if tuple(labels) == start.labels else REGISTRY[run.model_name()].output_layer
    fitting = {
        name: each
        for name, each in start.model.state_dict().items()
        if name in own and own[name].shape == each.shape and not name.startswith(left_out)
    }
    if not fitting:
        raise ConfigError("--init: the bundle has no weight that fits this model")
    take_weights(model, fitting, say)


def freeze(model: nn.Module, settings: BertSettings, say: Say) -> None:
    """Keep all but the head and the highest layers of the encoder as they are."""
    tuned, encoder = settings.tuned_layers, getattr(model, "encoder", None)
    if tuned is None or encoder is None:
        return
    if tuned > (layers := encoder.config.num_layers):
        raise ConfigError(f"bert.tuned_layers ({tuned}) exceeds the encoder's {layers} layers")
    for name, parameter in encoder.named_parameters():
        parameter.requires_grad_(encoder.layers_above(name) <= tuned)
    learning = sum(each.requires_grad for each in model.parameters())
    total = sum(1 for _ in model.parameters())
    say(f"{learning} of {total} weights learn: the head, and {tuned} of {layers} layers")
