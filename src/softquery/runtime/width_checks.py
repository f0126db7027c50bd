"""Whether a bundle's weights are as wide and as deep as its `config.json` says. Needs no torch.

torch builds a model from its settings and would miss weights of another shape; graphs take any.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from softquery.bundle import Bundle
from softquery.errors import BundleError

Shapes = Mapping[str, tuple[int, ...]]


class Width(NamedTuple):
    """Where a setting shows in the weights."""

    setting: str
    weight: str
    axis: int
    like: str = ""
    """The setting whose value holds where this one is 0 or missing."""
    optional: bool = False
    """Whether there is no such weight where the setting is 0 or missing."""


_RECURRENT = Width("hidden_size", "encoder.forwards.weight_hh_l0", 1)
_WORDS = Width("embedding_size", "embedder.table.weight", 1)
WIDTHS: dict[str, tuple[Width, ...]] = {
    "esim": (
        _WORDS,
        _RECURRENT,
        Width("alignment_size", "alignment.weight", 0, optional=True),
        Width("projection_size", "project.0.weight", 0, like="hidden_size"),
        Width("composer_size", "classifier.1.weight", 0, like="hidden_size"),
    ),
    "siamese": (_WORDS, _RECURRENT),
    "decomposable": (_WORDS, Width("hidden_size", "projection.weight", 0)),
    "attentive": (_WORDS, _RECURRENT),
    "hierarchical": (
        _WORDS,
        Width("hidden_size", "words.encoder.forwards.weight_hh_l0", 1),
        Width("context_size", "words.attention.query", 1),
    ),
    "bidaf": (_WORDS, _RECURRENT),
    "pooled-encoder": (
        _WORDS,
        Width("output_size", "output.weight", 0),
        Width("hidden_size", "body.forwards.weight_hh_l0", 1),
        Width("hidden_size", "body.layers.0.weight", 0),
        Width("middle_size", "middle.weight", 0),
    ),
    "tagger": (_WORDS,),
    "seq2seq": (
        Width("embedding_size", "words.target.weight", 1),
        Width("hidden_size", "layers.0.recurrent_weight", 1),
    ),
    "transformer": (
        Width("hidden_size", "words.target.weight", 1),
        Width("inner_size", "encoder.0.feed_forward.widen.weight", 0),
    ),
    "bert": (
        Width("hidden_size", "blocks.0.feed_forward.narrow.weight", 0),
        Width("inner_size", "blocks.0.feed_forward.widen.weight", 0),
        Width("max_length", "embedding.positions.weight", 0),
        Width("embedding_size", "embedding.words.weight", 1, like="hidden_size"),
    ),
    "mpnet": (
        Width("hidden_size", "embedding.words.weight", 1),
        Width("inner_size", "blocks.0.feed_forward.widen.weight", 0),
    ),
    "elmo": (
        Width("hidden_size", "forwards.layers.0.projection", 1),
        Width("projection_size", "forwards.layers.0.projection", 0),
    ),
}
"""By the name of a model; a weight that is not there is missed by the graphs."""


LAYERS: dict[str, tuple[tuple[str, str], ...]] = {
    "bert": (("num_layers", "blocks."),),
    "mpnet": (("num_layers", "blocks."),),
    "bidaf": (("num_layers", "modelling."),),
    "pooled-encoder": (("num_layers", "body.layers."), ("num_layers", "body.blocks.")),
    "elmo": (("num_layers", "forwards.layers."),),
    "seq2seq": (("num_layers", "layers."),),
    "transformer": (("num_encoder_layers", "encoder."), ("num_decoder_layers", "decoder.")),
}
"""Settings that count layers, and what stands before a layer's number in the names of weights."""


def check_widths(bundle: Bundle, shapes: Shapes) -> None:
    """Refuse weights of another width, or of more or fewer layers, than `config.json` says.

    Args:
        bundle: Says what the model is.
        shapes: Of its weights, by their names.
    """
    for setting, said, found in widths(bundle.config.model, shapes):
        if type(said) is not int or said != found:
            raise BundleError(
                f"{bundle.path / 'config.json'}: {setting} is {said!r:.40}, "
                f"but {bundle.weights_path.name} is made for {found}"
            )


def widths(model: Mapping[str, Any], shapes: Shapes) -> Iterator[tuple[str, object, int]]:
    """Each setting, what it says, and what the weights say."""
    settings, name, prefix = model["config"], model["name"], ""
    if isinstance(settings.get("encoder"), dict):  # a head on BERT or MPNet
        settings, name, prefix = settings["encoder"], name.partition("-")[0], "encoder."
    for width in WIDTHS.get(name, ()):
        shape = shapes.get(prefix + width.weight, ())
        if width.axis < len(shape):
            yield width.setting, _said(settings, width), shape[width.axis]
        elif width.optional and settings.get(width.setting):
            yield width.setting, settings[width.setting], 0
    for setting, before in LAYERS.get(name, ()):
        if count := _num_layers(shapes, prefix + before):
            yield setting, settings.get(setting), count
    if name == "tagger":
        yield from _tagger_widths(settings.get("hidden_sizes"), shapes)


def _said(settings: Mapping[str, Any], width: Width) -> object:
    said = settings.get(width.setting, 0 if width.like else None)
    if width.like and type(said) is int and said == 0:
        return settings.get(width.like)
    return said


def _num_layers(shapes: Shapes, before: str) -> int:
    named = [name.removeprefix(before) for name in shapes if name.startswith(before)]
    return len({name.split(".")[0] for name in named if name.split(".")[0].isdecimal()})


def _tagger_widths(sizes: object, shapes: Shapes) -> Iterator[tuple[str, object, int]]:
    said = sizes if isinstance(sizes, (list, tuple)) else ()
    layer = 0
    while len(shape := shapes.get(f"layers.{layer}.forwards.weight_hh_l0", ())) == 2:
        yield f"hidden_sizes[{layer}]", said[layer] if layer < len(said) else None, shape[1]
        layer += 1
