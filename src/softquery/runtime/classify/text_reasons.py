"""What a classifier's answer owes to each word of a text: left out, and where it can be, exactly.

T words, D width of a state, C classes.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softquery.explain import Reasons
from softquery.runtime.classify.backend import Weighed
from softquery.runtime.graph_weights import dequantised
from softquery.runtime.leaving_out import MOST_PARTS, Part, leave_out, token_parts, word_parts
from softquery.text import Tokens

if TYPE_CHECKING:
    from softquery.runtime.classify.model import Classifier

MOST_OF_DOCUMENT = 2 * MOST_PARTS
"""About the most parts of a text of several sentences."""
NEARLY_ZERO = 1e-4
"""Below which tanh(x) is x."""


def text_reasons(classifier: "Classifier", text: str, read: Tokens, column: int) -> Reasons:
    """Leave out each word of a text in turn.

    Args:
        classifier: Answers.
        text: The text as it was given.
        read: Its sentences as the classifier reads them.
        column: Of the answer whose reasons are asked for.
    """
    sentences: Sequence[Sequence[Any]] = read
    return leave_out(
        sentences,
        _parts(classifier, text, sentences),
        lambda variants: classifier.probabilities_of_read(
            [[sentence for sentence in each if len(sentence)] or [[]] for each in variants]
            if classifier.reading.max_sentences is not None
            else variants
        ),
        column,
        classifier.labels[column],
    )


def _parts(classifier: "Classifier", text: str, read: Sequence[Sequence[Any]]) -> list[Part]:
    reading, pipeline = classifier.reading, classifier.pipeline
    if reading.tokens == "ids" and reading.max_sentences is None:
        return token_parts(text, pipeline)
    shown = reading.shown(text, pipeline)
    most = max(1, MOST_OF_DOCUMENT // max(1, len(shown)))
    return [
        part for place, words in enumerate(shown) for part in word_parts(words, place, most=most)
    ]


def contributions(
    classifier: "Classifier",
    words: tuple[tuple[str, ...], ...],
    found: Weighed,
    probability: float,
    column: int,
) -> Reasons | None:
    """What the state of each word adds to the answer of a model that reads off tanh(Σ αₜ hₜ).

    Each number of the mixture is shared out among the words in proportion to what each put into it,
    so that the shares add up to its tanh (the rescale rule of Shrikumar, Greenside, Kundaje:
    "Learning Important Features Through Propagating Activation Differences", ICML 2017, Section
    3.5.1, from zero). What the shares do not account for is the bias. A state knows the words
    around it, so that a share belongs to a word in its place, and not to the word alone.

    Returns:
        None for other models, and for graphs that do not give their states.
    """
    if found.states is None or len(words) != 1 or len(words[0]) != len(found.states):
        return None
    weights = dequantised(classifier.bundle.read_weights())["output.weight"].astype(np.float64)
    mixed_in = found.word_weights[0].astype(np.float64)[:, None] * found.states  # [T, D]
    mixed = mixed_in.sum(axis=0)
    is_small = np.abs(mixed) < NEARLY_ZERO
    slope = np.where(is_small, 1.0, np.tanh(mixed) / np.where(is_small, 1.0, mixed))
    logits = (mixed_in * slope) @ weights.T  # [T, C]
    changes = _above_others(logits, column)
    score = float(_above_others(found.logits.astype(np.float64)[None], column)[0])
    return Reasons(
        answer=classifier.labels[column],
        method="added up",
        score=score,
        probability=probability,
        words=words,
        changes=(changes,),
        base=score - float(changes.sum()),
    )


def _above_others(logits: Any, column: int) -> Any:
    """Logits of one class above the mean of the others: all that softmax sees of two classes.

    >>> _above_others(np.array([[1.0, 3.0]]), 1).tolist()
    [2.0]
    """
    others = np.delete(logits, column, axis=1)
    return logits[:, column] - (others.mean(axis=1) if others.shape[1] else 0.0)
