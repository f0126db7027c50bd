"""A varied sample of Wikipedia: as many articles as possible, a few sentences of each."""

from collections.abc import Callable, Iterator
from random import Random

ENWIKI, ZHWIKI = "enwiki-2015", "zhwiki-2020"
ASKED = "questions made by rule"
MADE: dict[str, tuple[str, str]] = {
    ENWIKI: ("CC BY-SA", "sentences, a few per article"),
    ZHWIKI: ("CC BY-SA", "sentences, a few per article"),
    f"{ASKED}: of articles": ("CC BY-SA", "frames filled with titles and phrases of Wikipedia"),
    f"{ASKED}: of sentences": ("CC BY-SA", "statements of Wikipedia turned into questions"),
    f"{ASKED}: of acts": ("as their sources", "frames filled with verb phrases of the texts above"),
    f"{ASKED}: of services": ("Apache-2.0", "frames and words of this project"),
}
"""Licence and note of what Wikipedia gives, and of questions made by rule."""


def chosen_sentences(
    paragraphs: list[str],
    split: Callable[[str], list[str]],
    fits: Callable[[str], bool],
    rng: Random,
    most: int,
) -> Iterator[str]:
    """Sentences of an article that are worth keeping, from paragraphs in a drawn order.

    Args:
        paragraphs: Of the article.
        split: Into sentences.
        fits: Whether a sentence is worth keeping.
        rng: Draws the order.
        most: Sentences at most.
    """
    found = 0
    for paragraph in rng.sample(paragraphs, len(paragraphs)):
        for sentence in split(paragraph):
            if fits(sentence):
                yield sentence
                found += 1
                if found == most:
                    return


def in_turns(groups: list[list[str]], limit: int) -> Iterator[str]:
    """One text of every group, then a second of each, until there are so many.

    >>> list(in_turns([["a", "b"], ["c"], ["d", "e"]], 4))
    ['a', 'c', 'd', 'b']
    """
    given, turn = 0, 0
    groups = [group for group in groups if group]
    while groups:
        for group in groups:
            if given == limit:
                return
            yield group[turn]
            given += 1
        turn += 1
        groups = [group for group in groups if len(group) > turn]
