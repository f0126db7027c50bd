"""What a word is in a corpus whose user did not say so: Chinese is cut into words by jieba."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from softquery.errors import MissingExtra
from softquery.files.text_lines import running_text
from softquery.recipes import Word2VecRun
from softquery.running.run_options import Say
from softquery.text.languages import language_of

LOOKED_AT = 200
"""Lines at the beginning of a corpus by which its language is guessed."""


def suit_words(
    run: Word2VecRun, files: Sequence[Path], chosen: frozenset[str] | None, say: Say
) -> Word2VecRun:
    """The recipe with words of jieba where the text is Chinese and the user chose no unit.

    Between spaces is where the words of other languages end; Chinese has no such marks, and by the
    unit `words` every character would be a word.

    Args:
        run: The recipe.
        files: The text; the beginning of the first file decides.
        chosen: The settings that the user named; with None the run is taken as it is.
        say: Receives what was decided.

    Raises:
        MissingExtra: The text is Chinese, and jieba is not installed.
    """
    if chosen is None or "text.unit" in chosen or run.text.unit != "words":
        return run
    if not is_chinese(files[0]):
        return run
    if find_spec("jieba") is None:
        way_out = "Chinese text as words (or give --set text.unit=characters): it"
        raise MissingExtra("zh", needed_for=way_out)
    say("Chinese text: cut into words by jieba; --set text.unit=characters for characters")
    return replace(run, text=replace(run.text, unit="jieba"))


def is_chinese(path: Path) -> bool:
    """Whether most of the lines at the beginning of a file whose language shows are Chinese."""
    lines: list[str] = []
    for block in running_text(path):
        lines.extend(islice(block.lines, LOOKED_AT - len(lines)))
        if len(lines) >= LOOKED_AT:
            break
    languages = Counter(language_of(line) for line in lines)
    del languages[None]
    return 2 * languages["zh"] > languages.total()
