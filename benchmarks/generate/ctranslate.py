"""A Transformer of ours in CTranslate2's format, to compare the speed of decoding with it.

CTranslate2 has no recurrent decoders; learned and sinusoidal positions, either place of the norms
and both activations fit.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softquery.bundle import Bundle
from softquery.runtime import load_generator
from softquery.runtime.generate.decoder_weights import LONGEST, sinusoids
from softquery.runtime.graph_weights import dequantised
from softquery.text import EOS_ID

EPSILON = 1e-5


def convert(bundle: Bundle, folder: Path) -> Path:
    """Write the model; its words and numbers are the bundle's own."""
    import ctranslate2

    specs = ctranslate2.specs
    config = bundle.config.model["config"]
    weights = dequantised(bundle.read_weights())
    activations = specs.Activation
    spec = specs.TransformerSpec.from_config(
        (config["num_encoder_layers"], config["num_decoder_layers"]),
        config["num_heads"],
        pre_norm=config["norm"] == "pre",
        activation=activations.RELU if config["activation"] == "relu" else activations.GELU,
    )
    for name, part in (("source", spec.encoder), ("target", spec.decoder)):
        _words(part, weights, name, config)
    if config["norm"] == "pre":
        _norm(spec.encoder.layer_norm, weights, "encoder_norm")
        _norm(spec.decoder.layer_norm, weights, "decoder_norm")
    for number, layer in enumerate(spec.encoder.layer):
        name = f"encoder.{number}"
        _attention(layer.self_attention, weights, name, "attention", "around_attention")
        _feed_forward(layer.ffn, weights, name)
    for number, layer in enumerate(spec.decoder.layer):
        name = f"decoder.{number}"
        _attention(layer.self_attention, weights, name, "own_attention", "around_own")
        _attention(layer.attention, weights, name, "source_attention", "around_source")
        _feed_forward(layer.ffn, weights, name)
    spec.decoder.projection.weight = weights.get("words.output", weights["words.target.weight"])
    spec.decoder.projection.bias = weights["words.bias"]
    entries = load_generator(bundle).pipeline.tokenizer
    tokens = [entries.id_to_token(number) for number in range(entries.get_vocab_size())]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.layer_norm_epsilon = EPSILON
    spec.config.bos_token = spec.config.decoder_start_token = tokens[2]
    spec.config.eos_token, spec.config.unk_token = tokens[EOS_ID], tokens[1]
    spec.validate()
    spec.optimize()
    folder.mkdir(parents=True)
    spec.save(str(folder))
    return folder


def _words(part: Any, weights: Any, side: str, config: dict[str, Any]) -> None:
    own = side if f"words.{side}.weight" in weights else "target"
    table = part.embeddings[0] if isinstance(part.embeddings, list) else part.embeddings
    table.weight = weights[f"words.{own}.weight"]
    part.scale_embeddings = float(config["hidden_size"]) ** 0.5
    learned = weights.get(f"{side}_positions.table")
    places = sinusoids(LONGEST, config["hidden_size"]) if learned is None else learned
    part.position_encodings.encodings = places


def _attention(spec: Any, weights: Any, layer: str, name: str, around: str) -> None:
    """Query, key and value side by side; towards the source, key and value."""
    parts = [f"{layer}.{name}.{each}_projection" for each in ("query", "key", "value")]
    groups = [parts] if len(spec.linear) == 2 else [parts[:1], parts[1:]]
    for linear, group in zip(spec.linear, [*groups, [f"{layer}.{name}.output_projection"]],
                             strict=True):  # fmt: skip
        linear.weight, linear.bias = (
            np.concatenate([weights[f"{each}.{kind}"] for each in group])
            for kind in ("weight", "bias")
        )
    _norm(spec.layer_norm, weights, f"{layer}.{around}.norm")


def _feed_forward(spec: Any, weights: Any, layer: str) -> None:
    for linear, name in ((spec.linear_0, "widen"), (spec.linear_1, "narrow")):
        linear.weight = weights[f"{layer}.feed_forward.{name}.weight"]
        linear.bias = weights[f"{layer}.feed_forward.{name}.bias"]
    _norm(spec.layer_norm, weights, f"{layer}.around_feed_forward.norm")


def _norm(spec: Any, weights: Any, name: str) -> None:
    spec.gamma, spec.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]


class CTranslate:
    """Greedy answers by CTranslate2, from text to text as `Writer.predict` gives them.

    Args:
        bundle: The model as it is ours, for its words.
        folder: The same as `convert` wrote it.
        threads: Cores of one call.
        compute: `"float32"` or `"int8"`.
    """

    def __init__(self, bundle: Bundle, folder: Path, threads: int, compute: str) -> None:
        import ctranslate2

        self.pipeline = load_generator(bundle).pipeline
        self.model = ctranslate2.Translator(
            str(folder), device="cpu", compute_type=compute, inter_threads=1, intra_threads=threads
        )

    def texts(self, sources: Sequence[str]) -> list[str]:
        """The best text for each source."""
        tokenizer = self.pipeline.tokenizer
        ids = self.pipeline.encode_ids(list(sources))
        given = [[tokenizer.id_to_token(number) for number in each] for each in ids]
        found = self.model.translate_batch(
            given, beam_size=1, max_batch_size=len(given), max_decoding_length=256,
            disable_unk=True,
        )  # fmt: skip
        return [
            self.pipeline.decode([tokenizer.token_to_id(token) for token in each.hypotheses[0]])
            for each in found
        ]
