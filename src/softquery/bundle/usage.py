"""How each kind of bundle is used, as shown on its card."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

_EXAMPLES = {
    "zh": {
        "A man is eating.": "花呗怎么提额",
        "Someone eats.": "如何提高花呗额度",
        "Ein Mann isst.": "春风得意马蹄疾",
    }
}
"""What stands in place of our examples for models of other languages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CardExample:
    """A kind of bundle at work.

    Attributes:
        shell: Commands, with `{model}` in place of the model's name.
        python: A call of the opened model; None where none is shown.
        opener: The function that opens it.
        has_probabilities: Whether its answers come with probabilities, and so its card with a
            section about calibration.
    """

    shell: tuple[str, ...]
    python: str | None = None
    opener: str = "load"
    has_probabilities: bool = False


EXAMPLES = {
    "matcher": CardExample(
        shell=('match "A man is eating." "Someone eats." --model {model}',),
        python='model.predict([("A man is eating.", "Someone eats.")])',
        has_probabilities=True,
    ),
    "embedder": CardExample(
        shell=("embed sentences.txt --output vectors.npz --model {model}",),
        python='model.embed(["A man is eating."])  # layers x words x width',
    ),
    "encoder": CardExample(
        shell=(
            "train bert-classify --init {model} --data DIR --output mine",
            'embed --text "A man is eating." --model {model}',
        ),
    ),
    "classifier": CardExample(
        shell=('classify "What a fine day." --model {model}',),
        python='model.predict(["What a fine day."])',
        has_probabilities=True,
    ),
    "tagger": CardExample(
        shell=('tag "Ada Lovelace lived in London." --model {model}',),
        python='model.predict(["Ada Lovelace lived in London."])',
        has_probabilities=True,
    ),
    "reader": CardExample(
        shell=('read "Who slept?" --context "Ada Lovelace slept in London." --model {model}',),
        python='model.predict([("Who slept?", "Ada Lovelace slept in London.")])',
        has_probabilities=True,
    ),
    "generator": CardExample(
        shell=('generate "Ein Mann isst." --model {model}',),
        python='model.predict(["Ein Mann isst."])',
    ),
    "vectors": CardExample(
        shell=("vectors nearest king --model {model}",),
        python='model.nearest("king")',
        opener="load_vectors",
    ),
}
"""The card's column of `softquery.runtime.kinds`, a table that stands a few layers above."""


def example_of(kind: str) -> CardExample:
    """How a kind of bundle is shown at work."""
    if kind not in EXAMPLES:
        raise ValueError(f"unknown kind of bundle {kind!r} (known: {', '.join(EXAMPLES)})")
    return EXAMPLES[kind]


def usage_lines(kind: str, name: str, languages: Sequence[str] = ()) -> list[str]:
    """Markdown that shows a bundle at work, in the shell and in Python.

    >>> usage_lines("matcher", "nli-en")[1]
    'softquery match "A man is eating." "Someone eats." --model nli-en'
    """
    example, quoted = example_of(kind), shlex.quote(name)
    commands = [f"softquery {line}".replace("{model}", quoted) for line in example.shell]
    lines = ["```sh", *commands, "```"]
    if example.python is not None:
        opened = f"model = sq.{example.opener}({json.dumps(name)})"
        lines += ["", "```python", "import softquery as sq", "", opened, example.python, "```"]
    replaced = next((_EXAMPLES[each] for each in languages if each in _EXAMPLES), {})
    for ours, theirs in replaced.items():
        lines = [line.replace(ours, theirs) for line in lines]
    return lines
