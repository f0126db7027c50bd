"""Whom the pieces of a text asked in a pretrained encoder; of a bare encoder without torch.

The graph of a bare encoder gives the states of every layer, and the queries and keys of the layer
above follow from them by two matrices, so that its weights need no graph of their own. The graph of
a sentence encoder gives vectors alone; whose attention is asked for is opened by torch.

L layers, H heads, T pieces, D width.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softquery.bundle import Bundle
from softquery.errors import BundleError, InputError
from softquery.explain import SelfAttention
from softquery.numpy_softmax import softmax
from softquery.runtime.batches import Floats
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.loading import Backend, needs_torch

if TYPE_CHECKING:
    from softquery.runtime.embed.piece_embedder import PieceEmbedder

SENTENCE_ENCODERS = ("bert-sentence-encoder",)
"""Models of sentence encoders whose attention can be shown."""
MOST_PIECES = 200
"""The longest text that is drawn; a map has a cell for every pair of pieces."""


def explain_encoder(bundle: Bundle, text: str, backend: Backend = "auto") -> SelfAttention:
    """Whom the pieces of a text asked, in every layer and head of an encoder's bundle.

    Raises:
        BundleError: The model has no self-attention.
        MissingExtra: A sentence encoder without torch.
    """
    if bundle.config.kind == "encoder":
        from softquery.runtime.embed.piece_embedder import open_pieces  # imports this module

        return open_pieces(bundle, backend=backend).explain(text)
    name = bundle.config.model["name"]
    if name not in SENTENCE_ENCODERS:
        raise BundleError(
            f"{bundle.path}: {name} has no self-attention to show; an encoder such as bert-mini-en "
            "has, and a sentence encoder on a BERT"
        )
    with needs_torch("showing the attention of a sentence encoder"):
        import torch

        from softquery.data import Tokens
        from softquery.runtime.torch_models import load_task_model
    pipeline = fitting_pipeline(bundle)
    ids = pipeline.encode_ids([text])[0]
    given = torch.tensor([list(ids)])
    with torch.inference_mode():
        model = load_task_model(bundle)
        weights = model.encoder.look(Tokens(given, torch.ones_like(given, dtype=torch.bool)))[0]
    names = pipeline.vocabulary()
    return _shown(bundle, text, [names[each] for each in ids], weights.float().numpy())


def self_attention(model: "PieceEmbedder", text: str) -> SelfAttention:
    """Whom the pieces of a text asked, computed of the states of a bare encoder."""
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"expected a text to explain, found {text!r:.40}")
    tokens = model.tokens([text])[0]
    tokens = [*tokens[:-1][: model.max_tokens - 1], tokens[-1]]
    (states,) = model.embed_tokens([tokens])
    weights = dequantised(model.bundle.read_weights())
    settings = model.bundle.config.model["config"]
    hidden = unseen(len(tokens), settings.get("window", 0), settings.get("direction", "both"))
    looks = [
        head_weights(
            states[layer], weights, f"blocks.{layer}.attention", settings["num_heads"], hidden
        )
        for layer in range(model.num_layers - 1)
    ]
    return _shown(model.bundle, text, tokens, np.stack(looks))


def head_weights(
    states: Floats,
    weights: dict[str, NDArray[Any]],
    layer: str,
    num_heads: int,
    hidden: NDArray[np.bool_] | None = None,
) -> Floats:
    """Every head's weights [H, T, T] of a layer, from the states [T, D] that it reads.

    What is `hidden` [T, T] has no weight.

    The blocks of a BERT normalise after each sum, so that queries and keys are read off the states
    of the layer below as they are (Vaswani et al. 2017, Equation 1 and Section 3.2.2).
    """
    parts = []
    for part in ("query", "key"):
        place = f"{layer}.{part}_projection"
        asked = states @ weights[f"{place}.weight"].T + weights[f"{place}.bias"]
        parts.append(asked.reshape(len(states), num_heads, -1).swapaxes(0, 1))
    query, key = parts
    scores = query @ key.swapaxes(1, 2) / np.sqrt(query.shape[-1])
    if hidden is not None:
        scores = np.where(hidden, -np.inf, scores)
    return np.asarray(softmax(scores), dtype=np.float32)


def unseen(length: int, window: int, direction: str = "both") -> NDArray[np.bool_] | None:
    """What tokens do not see: whatever follows where a model reads from left to right.

    With a window they see so many neighbours and the first; 0 hides nothing.

    >>> unseen(4, 1).astype(int).tolist()
    [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]]
    >>> unseen(3, 0, "left").astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    if direction == "left":
        return np.triu(np.ones((length, length), dtype=np.bool_), k=1)
    if not window:
        return None
    places = np.arange(length)
    hidden: NDArray[np.bool_] = np.abs(places[:, None] - places) > window
    hidden[0], hidden[:, 0] = False, False
    return hidden


def _shown(bundle: Bundle, text: str, tokens: list[str], weights: Floats) -> SelfAttention:
    if len(tokens) > MOST_PIECES:
        raise InputError(
            f"the text has {len(tokens)} pieces with its marks; at most {MOST_PIECES} are drawn"
        )
    return SelfAttention(text=text, tokens=tuple(tokens), weights=weights, model=bundle.path.name)
