"""English texts, source by source."""

from collections.abc import Iterator
from random import Random

from questions_en import (
    about_acts,
    about_article,
    about_sentences,
    about_services,
    about_things,
    as_typed,
    find_acts,
)
from split_sentences import is_sentence, split_english
from text_collection import Collection, length_of
from text_sources import Library, part_of
from wikipedia_sample import ASKED, ENWIKI, chosen_sentences, in_turns
from word_classes import WordClasses

Texts = Iterator[tuple[str, str]]
MOST_PER_ARTICLE = 60
TURNED, FRAMED, OF_THINGS = 12, 3, 3
"""Questions per article: sentences turned round, frames about it, frames about its noun phrases."""
READ_FOR_THINGS = 8
"""Sentences of an article whose noun phrases are asked about."""
NUM_ACTS, FRAMES_PER_ACT, NUM_SERVICES = 12_000, 4, 20_000
LONGEST_SENTENCE = 25
"""Words of a sentence of Wikipedia: most texts that are compared are short."""


def requests(library: Library) -> Texts:
    """What people ask services, and each other."""
    for number, line in library.lines("requests_en"):
        yield part_of("requests_en", number), line


def faq(library: Library) -> Texts:
    """Questions, and the first sentence of each answer."""
    for question, answer in library.cells("faq_en", "question", "answer"):
        yield "faq_en", question
        first = split_english(answer)[:1]
        yield from (("faq_en", sentence) for sentence in first if not sentence.endswith(":"))


def questions(library: Library) -> Texts:
    """Questions of reading sets."""
    for question, _ in library.questions("squad"):
        yield "squad", question
    for (question,) in library.cells("boolq", "sentence1"):
        yield "boolq", question


def statements(library: Library) -> Texts:
    """Claims and captions, both sides of a pair."""
    for (claim,) in library.cells("fever", "sentence2"):
        yield "fever", claim
    for name in ("snli_100k", "snli_cad"):
        for pair in library.cells(name, "sentence1", "sentence2"):
            yield from ((name, side) for side in pair)


def translated(library: Library) -> Texts:
    """The English sides of translations."""
    for name in ("tatoeba_deu_eng", "tatoeba_cmn_eng"):
        for _, line in library.lines(name):
            yield name, line.split("\t")[0]
    for number, line in library.lines("parallel"):
        yield part_of("parallel", number), line.split("\t")[0]


def web(library: Library) -> Texts:
    """Sentences of the web: answers, reviews, mail, weblogs, news."""
    mark = "# text = "
    for _, line in library.lines("ud_english_ewt"):
        if line.startswith(mark):
            yield "ud_english_ewt", line.removeprefix(mark)


ENGLISH = (requests, faq, questions, statements, translated, web)


def english_wikipedia(library: Library, collection: Collection, *, limit: int, seed: int) -> None:
    """Add questions made by rule, then sentences of Wikipedia until the limit is met."""
    words = WordClasses.counted(line for _, line in library.lines("ud_english_ewt"))
    acts = {act: None for text in collection.texts.values() for act in find_acts(text, words)}
    articles = []
    for shard in range(7):
        for title, paragraphs in library.articles(f"{ENWIKI}/{shard}"):
            rng = Random(f"{seed} {title}")
            sentences = list(
                chosen_sentences(paragraphs, split_english, is_sentence, rng, MOST_PER_ARTICLE)
            )
            for source, question in about(title, paragraphs, sentences, words, rng):
                collection.add(source, as_typed(question, rng))
            acts |= {act: None for text in sentences for act in find_acts(text, words)}
            short = [text for text in sentences if length_of(text) <= LONGEST_SENTENCE]
            articles.append(rng.sample(short, len(short)))
    rng = Random(seed)
    drawn = rng.sample(list(acts), min(NUM_ACTS, len(acts)))
    for question in about_acts(drawn, rng, FRAMES_PER_ACT):
        collection.add(f"{ASKED}: of acts", as_typed(question, rng))
    for question in about_services(rng, NUM_SERVICES):
        collection.add(f"{ASKED}: of services", as_typed(question, rng))
    for sentence in in_turns(articles, sum(map(len, articles))):
        if len(collection.texts) >= limit:
            break
        collection.add(ENWIKI, sentence)


def about(
    title: str, paragraphs: list[str], sentences: list[str], words: WordClasses, rng: Random
) -> Texts:
    """Questions about an article and what it says."""
    first = split_english(paragraphs[0])[0]
    some = rng.sample(sentences, len(sentences))
    for question in about_article(title, first, " ".join(paragraphs[:8]), rng, FRAMED):
        yield f"{ASKED}: of articles", question
    for question in about_things(some[:READ_FOR_THINGS], words, rng, OF_THINGS):
        yield f"{ASKED}: of articles", question
    for question in about_sentences(some, title, words, rng, TURNED):
        yield f"{ASKED}: of sentences", question
