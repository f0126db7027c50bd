"""Alignments to draw: plausible ones, random ones, and those that somebody means harm with."""

import numpy as np
from hypothesis import strategies as st

from softquery.explain import PairAlignment

HOSTILE = (
    "</svg><script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    "]]><!--",
    "-->",
    "\"'&amp;&#0;",
    "\x00\x1b[31m\x7f\x85",
    "\ud800",
    "\ufffe\uffff",
    "$maps${title}$$",
    "\u202egnp.txt",
    "",
    " \n\t",
    "a" * 5000,
)


def random_weights(num_rows, num_columns, seed=0):
    rng = np.random.default_rng(seed)
    if num_columns == 0:
        return np.zeros((num_rows, 0))
    return rng.dirichlet(np.full(num_columns, 0.3), size=num_rows)


def aligned(first_tokens, second_tokens, **changes):
    """An alignment of these tokens with random weights."""
    num_first, num_second = len(first_tokens), len(second_tokens)
    values = {
        "first": " ".join(first_tokens),
        "second": " ".join(second_tokens),
        "first_tokens": tuple(first_tokens),
        "second_tokens": tuple(second_tokens),
        "first_to_second": random_weights(num_first, num_second, seed=1),
        "second_to_first": random_weights(num_second, num_first, seed=2),
        "label": "entailment",
        "score": 0.7,
        "probabilities": {"entailment": 0.7, "neutral": 0.2, "contradiction": 0.1},
        "model": "nli-en",
    }
    return PairAlignment(**{**values, **changes})


def small(**changes):
    """Two words ask one, with weights that are easily told."""
    values = {
        "first_to_second": np.array([[1.0], [0.42]]),
        "second_to_first": np.array([[0.25, 0.75]]),
    }
    return aligned(("i", "eat"), ("eats",), **{**values, **changes})


any_text = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(HOSTILE)
any_tokens = st.lists(any_text, max_size=6)


@st.composite
def alignments(draw):
    labels = draw(st.lists(any_text, unique=True, max_size=7))
    chances = random_weights(1, len(labels), seed=draw(st.integers(0, 9)))[0].tolist()
    first, second = draw(any_tokens), draw(any_tokens)
    seed = draw(st.integers(0, 99))
    return aligned(
        first,
        second,
        first=draw(any_text),
        second=draw(any_text),
        first_to_second=random_weights(len(first), len(second), seed=seed),
        second_to_first=random_weights(len(second), len(first), seed=seed + 1),
        label=draw(st.sampled_from([None, *labels])),
        score=draw(st.floats(-5, 5)),
        probabilities=dict(zip(labels, chances, strict=True)),
        model=draw(any_text),
    )
