"""How each kind of bundle is used, as shown on its card."""

import json
import shlex
from collections.abc import Sequence

_EXAMPLES = {
    "zh": {
        "A man is eating.": "花呗怎么提额",
        "Someone eats.": "如何提高花呗额度",
        "Ein Mann isst.": "春风得意马蹄疾",
    }
}
"""What stands in place of our examples for models of other languages."""

_VERBS = {
    "matcher": 'match "A man is eating." "Someone eats."',
    "embedder": "embed sentences.txt --output vectors.npz",
    "classifier": 'classify "What a fine day."',
    "tagger": 'tag "Ada Lovelace lived in London."',
    "reader": 'read "Who slept?" --context "Ada Lovelace slept in London."',
    "generator": 'generate "Ein Mann isst."',
    "vectors": "vectors nearest king",
}

_CALLS = {
    "matcher": 'model.predict([("A man is eating.", "Someone eats.")])',
    "embedder": 'model.embed(["A man is eating."])  # layers x words x width',
    "classifier": 'model.predict(["What a fine day."])',
    "tagger": 'model.predict(["Ada Lovelace lived in London."])',
    "reader": 'model.predict([("Who slept?", "Ada Lovelace slept in London.")])',
    "generator": 'model.predict(["Ein Mann isst."])',
    "vectors": 'model.nearest("king")',
}


def usage_lines(kind: str, name: str, languages: Sequence[str] = ()) -> list[str]:
    """Markdown that shows a bundle at work, in the shell and in Python.

    >>> usage_lines("matcher", "nli-en")[1]
    'softquery match "A man is eating." "Someone eats." --model nli-en'
    """
    lines = _lines(kind, name)
    examples = next((_EXAMPLES[each] for each in languages if each in _EXAMPLES), {})
    for ours, theirs in examples.items():
        lines = [line.replace(ours, theirs) for line in lines]
    return lines


def _lines(kind: str, name: str) -> list[str]:
    if kind == "encoder":  # it has no answers of its own
        quoted = shlex.quote(name)
        start = f"softquery train bert-classify --init {quoted} --data DIR --output mine"
        look = f'softquery embed --text "A man is eating." --model {quoted}'
        return ["```sh", start, look, "```"]
    verb = _VERBS.get(kind)
    shell = f"softquery {verb} --model {shlex.quote(name)}" if verb else "softquery models"
    opened = "load_vectors" if kind == "vectors" else "load"
    python = ["import softquery as sq", "", f"model = sq.{opened}({json.dumps(name)})"]
    if kind in _CALLS:
        python.append(_CALLS[kind])
    return ["```sh", shell, "```", "", "```python", *python, "```"]
