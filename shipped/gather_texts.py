r"""Gather the texts from which the sentence encoders are distilled, all under free licences.

    python shipped/gather_texts.py en --data DATA --output texts_en.txt.xz
    python shipped/gather_texts.py zh --data DATA --output texts_zh.txt.xz
    python shipped/gather_texts.py parallel --data DATA --output parallel.tsv.xz

writes a text per line, each once, and beside it a JSON with rows and licence by source for the
model card. `parallel` writes a table: `text`, Chinese, which a student reads, and `taught`, the
English text whose vector it learns. Requests, questions and captions are taken as they are;
Wikipedia as questions made by rule, and as a sample of its sentences, as few per article as meet
the limit. A text that equals one of those that encoders are measured with is left out; for that
alone the files in `HELD_OUT` are read.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from chinese_texts import CHINESE, chinese_wikipedia
from english_texts import ENGLISH, english_wikipedia
from split_sentences import HAN
from text_collection import Collection, bare_key, report, same_key, tidy, write_lines, write_report
from text_sources import Library, licences, part_of
from wikipedia_sample import ASKED, MADE

LIMITS = {"en": 1_900_000, "zh": 1_500_000}


def gather(
    language: str, library: Library, *, limit: int, seed: int, by_people: bool = False
) -> Collection:
    """All texts of a language: those of people first, then Wikipedia's, up to the limit."""
    held_out = frozenset(map(bare_key, library.held_out(language)))
    collection = Collection(held_out)
    sources, wikipedia = {
        "en": (ENGLISH, english_wikipedia),
        "zh": (CHINESE, chinese_wikipedia),
    }[language]
    for read in sources:
        for source, text in read(library):
            collection.add(source, text)
    if not by_people:
        wikipedia(library, collection, limit=limit, seed=seed)
    return collection


def pairs(library: Library) -> Iterator[tuple[str, str, str]]:
    """Source, Chinese and English of every pair."""
    for number, line in library.lines("parallel"):
        english, chinese = line.split("\t")[:2]
        yield part_of("parallel", number), tidy(chinese), tidy(english)
    for _, line in library.lines("tatoeba_cmn_eng"):
        english, chinese = line.split("\t")[:2]
        yield "tatoeba_cmn_eng", tidy(chinese), tidy(english)


def gather_pairs(library: Library) -> tuple[Collection, list[str]]:
    """Pairs that are new on the Chinese side, as lines of a table, neither side held out."""
    held_out = {key for each in ("en", "zh") for key in map(bare_key, library.held_out(each))}
    collection, english_of = Collection(frozenset(held_out)), dict[str, str]()
    english_side = Collection(collection.held_out)
    for source, chinese, english in pairs(library):
        if not HAN.search(chinese) or HAN.search(english):
            continue
        english_side.texts.clear()  # one English text may teach several Chinese ones
        if english_side.add(source, english) and collection.add(source, chinese):
            english_of[same_key(chinese)] = english
    rows = [f"{text}\t{english_of[key]}" for key, text in sorted(collection.texts.items())]
    return collection, rows


def is_asked(source: str) -> bool:
    """Whether a source is questions made by rule."""
    return source.startswith(ASKED)


def main() -> None:
    """Read the command line, gather and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["en", "zh", "parallel"])
    parser.add_argument("--data", type=Path, required=True, help="the folder of all data sets")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--asked", type=Path, help="where questions made by rule go, if apart")
    parser.add_argument("--limit", type=int, help="texts at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--by-people", action="store_true",
                        help="no text of Wikipedia, and none made by rule")  # fmt: skip
    options = parser.parse_args()
    library = Library(options.data)
    if options.what == "parallel":
        collection, lines = gather_pairs(library)
        lines = ["text\ttaught", *lines]
    else:
        limit = options.limit or LIMITS[options.what]
        collection = gather(
            options.what, library, limit=limit, seed=options.seed, by_people=options.by_people
        )
        lines = collection.lines(lambda source: not options.asked or not is_asked(source))
        if options.asked:
            write_lines(options.asked, collection.lines(is_asked))
    write_lines(options.output, lines)
    found = report(collection, licences() | MADE, options.output)
    write_report(found, options.output)


if __name__ == "__main__":
    main()
