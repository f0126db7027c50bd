"""The stages of a search, by name: any of them may be left out.

With the learned score, every subset gives a probability: see `softquery.search.score`. With the
fused one:

| stages | order and score |
|---|---|
| with `rerank` | the matcher's probability, lowered by as much as recall ranks a row behind |
| `words` and `vectors` | reciprocal ranks in both lists; 1 for a row that leads both |
| `vectors` | cosine |
| `words` | BM25 |

`rerank` alone compares the query with every row.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from softquery.errors import ConfigError

Stage = Literal["words", "vectors", "rerank"]
WORDS, VECTORS, RERANK = STAGES = ("words", "vectors", "rerank")
Stages = tuple[str, ...]
"""Some of the stages, in the order of `STAGES`."""


def checked_stages(names: Iterable[str] | None, available: Sequence[str] = STAGES) -> Stages:
    """Stages in the order in which a search takes them, each once.

    Args:
        names: In any order; None for all that there are.
        available: The stages that an index has.

    Raises:
        ConfigError: A name is not known, the index lacks the stage, or there is none.

    >>> checked_stages(["rerank", "words"])
    ('words', 'rerank')
    >>> checked_stages(["vectors"], available=("words", "rerank"))
    Traceback (most recent call last):
        ...
    softquery.errors.ConfigError: this index has no stage 'vectors'; it has words, rerank
    """
    if names is None:
        return tuple(available)
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise ConfigError(f"stages is {names!r:.40}, expected a list of {', '.join(STAGES)}")
    given = list(names)
    for name in given:
        if name not in STAGES:
            raise ConfigError(f"no stage is called {name!r:.40}; known: {', '.join(STAGES)}")
        if name not in available:
            has = ", ".join(available)
            raise ConfigError(f"this index has no stage {name!r}; it has {has}")
    if not given:
        raise ConfigError(f"stages names none; expected some of {', '.join(STAGES)}")
    return tuple(stage for stage in STAGES if stage in given)


def parse_stages(text: str) -> Stages:
    """Stages as they are typed.

    >>> parse_stages("rerank, words")
    ('words', 'rerank')
    """
    return checked_stages([name.strip() for name in text.split(",") if name.strip()])


def shown_stages(stages: Sequence[str]) -> str:
    """Stages as they are typed, from their names.

    >>> shown_stages(("words", "rerank"))
    'words,rerank'
    """
    return ",".join(stages)


def score_name(stages: Stages, *, is_learned: bool = False) -> str:
    """What the score of a hit is.

    >>> score_name(("vectors",)), score_name(("words", "rerank"))
    ('a cosine', 'a probability')
    >>> score_name(("vectors",), is_learned=True)
    'a probability'
    """
    if is_learned or RERANK in stages:
        return "a probability"
    if len(stages) > 1:
        return "made of ranks, 1 for a row that leads both lists"
    return "BM25" if WORDS in stages else "a cosine"
