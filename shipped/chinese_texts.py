"""Chinese texts, source by source."""

from collections import defaultdict
from collections.abc import Iterator
from random import Random

from questions_zh import (
    about_acts,
    about_article,
    about_services,
    as_typed,
    ask,
    find_acts,
    plain_title,
)
from split_sentences import is_chinese_sentence, split_chinese
from text_collection import Collection
from text_sources import Library, part_of
from wikipedia_sample import ASKED, ZHWIKI, chosen_sentences, in_turns

Texts = Iterator[tuple[str, str]]
MOST_PER_ARTICLE = 150
TURNED, FRAMED = 8, 9
"""Questions per article: sentences turned round, frames about it."""
NUM_ACTS, FRAMES_PER_ACT, NUM_SERVICES = 30_000, 6, 150_000


def requests(library: Library) -> Texts:
    """What people ask services, and each other."""
    for number, line in library.lines("requests_zh"):
        yield part_of("requests_zh", number), line


def faq(library: Library) -> Texts:
    """Questions, and the first sentence of each answer."""
    for question, answer in library.cells("faq_zh", "question", "answer"):
        yield "faq_zh", question.removeprefix("Q. ")
        first = split_chinese(answer.removeprefix("A. "))[:1]
        yield from (("faq_zh", text) for text in first if text[-1] not in ":：")


def translated(library: Library) -> Texts:
    """The Chinese sides of translations."""
    for number, line in library.lines("parallel"):
        yield part_of("parallel", number), line.split("\t")[1]
    for _, line in library.lines("tatoeba_cmn_eng"):
        yield "tatoeba_cmn_eng", line.split("\t")[1]


def statements(library: Library) -> Texts:
    """Both sides of PAWS-X."""
    for pair in library.cells("pawsx_zh", "sentence1", "sentence2"):
        yield from (("pawsx_zh", side) for side in pair)


def questions(library: Library) -> Texts:
    """Questions of a reading set, and the sentences of their contexts."""
    known = set()
    for question, context in library.questions("cmrc2018"):
        yield "cmrc2018", question
        if context not in known:
            known.add(context)
            sentences = filter(is_chinese_sentence, split_chinese(context))
            yield from (("cmrc2018", sentence) for sentence in sentences)


CHINESE = (requests, faq, translated, statements, questions)


def chinese_wikipedia(library: Library, collection: Collection, *, limit: int, seed: int) -> None:
    """Add questions made by rule, then sentences of Wikipedia until the limit is met."""
    acts = {act: None for text in collection.texts.values() for act in find_acts(text)}
    articles, alike = [], defaultdict[str, list[str]](list)
    for shard in range(2):
        for title, paragraphs in library.articles(f"{ZHWIKI}/{shard}"):
            rng = Random(f"{seed} {title}")
            sentences = list(
                chosen_sentences(
                    paragraphs, split_chinese, is_chinese_sentence, rng, MOST_PER_ARTICLE
                )
            )
            name = plain_title(title)
            for source, question in about(name, paragraphs, sentences, alike[name[-1]], rng):
                collection.add(source, as_typed(question, rng))
            alike[name[-1]].append(name)  # what ends alike is often of one kind
            acts |= {act: None for text in sentences[:20] for act in find_acts(text)}
            articles.append(rng.sample(sentences, len(sentences)))
    rng = Random(seed)
    drawn = rng.sample(list(acts), min(NUM_ACTS, len(acts)))
    for question in about_acts(drawn, rng, FRAMES_PER_ACT):
        collection.add(f"{ASKED}: of acts", as_typed(question, rng))
    for question in about_services(rng, NUM_SERVICES):
        collection.add(f"{ASKED}: of services", as_typed(question, rng))
    for sentence in in_turns(articles, sum(map(len, articles))):
        if len(collection.texts) >= limit:
            break
        collection.add(ZHWIKI, sentence)


def about(
    title: str, paragraphs: list[str], sentences: list[str], alike: list[str], rng: Random
) -> Texts:
    """Questions about an article and what it says."""
    first = paragraphs[0] if paragraphs else ""
    for question in about_article(title, first, alike, rng, FRAMED):
        yield f"{ASKED}: of articles", question
    made = (ask(sentence, title, rng) for sentence in sentences)
    asked = [question for question in made if question]
    for question in rng.sample(asked, min(TURNED, len(asked))):
        yield f"{ASKED}: of sentences", question
