"""How well a language model foresees a text. Needs torch."""

import torch

from softquery.data import Streams
from softquery.models import Elmo
from softquery.tasks import Likelihood


@torch.inference_mode()
def text_likelihood(model: Elmo, streams: Streams, *, unroll: int = 20) -> Likelihood:
    """The likelihood of every word after the first of each stream, against all of the vocabulary.

    State is carried along each stream, so that a word is foreseen from all that came before it.

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
