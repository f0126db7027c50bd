"""How well a language model predicts a text: a model over streams, a bundle. Needs torch."""

import tempfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import torch

from softquery.bundle import Bundle
from softquery.data import Streams, read_corpus, write_corpus
from softquery.models import Elmo
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.torch_models import load_embedder
from softquery.tasks import Likelihood

MOST_STREAMS = 32
WORDS_OF_A_STREAM = 500
"""At least so many, so that its beginning counts little."""


@torch.inference_mode()
def text_likelihood(model: Elmo, streams: Streams, *, unroll: int = 20) -> Likelihood:
    """The likelihood of every word after the first of each stream, against all of the vocabulary.

    State is carried along each stream, so that a word is predicted from all that came before it.

    Args:
        model: With its softmax.
        streams: The text; few streams lose little at their beginnings, many are faster.
        unroll: Words read at a time; where a biLM runs the fast way, its state is clipped after
            each of them, as it was in training.
    """
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    words = model.word_table()
    state, found = model.initial_state(streams.num_streams), Likelihood()
    last = streams.stream_length - 1
    for start in range(0, last, unroll):
        slot = streams.slot(start, min(unroll, last - start))
        batch = streams.batch(slot.rows.to(device), slot.length)._replace(state=state)
        output = model(batch, words)
        state = output.state
        found.add(output, batch)
    model.train(was_training)
    return found


def perplexity(
    bundle: Bundle, texts: Sequence[str], *, source: str | PathLike[str] = "the text for the gate"
) -> dict[str, float | int]:
    """Perplexity against the bundle's own vocabulary, with what it depends on.

    Args:
        bundle: A biLM that kept its softmax.
        texts: What it shall predict.
        source: Where they come from, for errors.
    """
    model = load_embedder(bundle).to("cuda" if torch.cuda.is_available() else "cpu")
    pipeline = fitting_pipeline(bundle)
    words = pipeline.vocabulary()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "corpus"
        write_corpus(
            folder,
            train=lambda: texts,
            valid=lambda: texts,
            config=pipeline.config,
            known=words,
            max_characters=model.config.characters.max_characters,
            source=source,
        )
        streams = read_corpus(folder).streams("valid", vocab_size=len(words), num_streams=1)
        count = max(1, min(MOST_STREAMS, len(streams.forwards) // WORDS_OF_A_STREAM))
        whole = streams.part(0, len(streams.forwards), num_streams=count)
        found = text_likelihood(model, whole).report()
    return {**found, "vocabulary": len(words), "streams": count}
