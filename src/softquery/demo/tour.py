"""The commands of the tour, and what each of them needs to be installed."""

from dataclasses import dataclass
from importlib.util import find_spec

from softquery.zoo import MODELS_PACKAGE, absent

MODULES_OF_EXTRAS = {"search": ("usearch", "bm25s")}


@dataclass(frozen=True, slots=True)
class Stop:
    """A command of the tour, run in the folder of the sample files.

    Attributes:
        says: What it shows.
        words: The command, without the program's name.
        extra: The extra that it needs; empty if none.
        model: The model of `softquery-models` that it needs; empty if none.
        makes: The file or folder that it makes, which an earlier tour may have left; empty if none.
    """

    says: str
    words: tuple[str, ...]
    extra: str = ""
    model: str = ""
    makes: str = ""


TOUR = (
    Stop(
        "Does the second sentence follow from the first?",
        ("match", "Two dogs are running through a field.", "Some animals are outdoors.")
        + ("--model", "nli-en"),
    ),
    Stop(
        "Which words decided? A picture.",
        ("explain", "Two dogs are running through a field.", "Some animals are outdoors.")
        + ("--model", "nli-en", "--output", "alignment.svg"),
        makes="alignment.svg",
    ),
    Stop(
        "Do these mean the same?",
        ("match", "How can I learn to play the guitar?")
        + ("What is the best way to start playing guitar?",),
    ),
    Stop(
        "Two questions about the same product, in Chinese.",
        ("match", "花呗怎么提额", "花呗怎么还款", "--model", "match-zh"),
    ),
    Stop(
        "Which of the questions in a file was meant?",
        (
            "rank",
            "I want to play the guitar. How do I begin?",
            "--candidates",
            "questions.txt",
            "--top-k",
            "3",
        ),
    ),
    Stop(
        "An FAQ is indexed once.",
        ("index", "faq.csv", "--output", "faq.sq"),
        extra="search",
        makes="faq.sq",
    ),
    Stop(
        "It answers in milliseconds.",
        ("search", "faq.sq", "How can I get a new password?", "--top-k", "2"),
        extra="search",
    ),
    Stop(
        "And it says when it has no answer.",
        ("search", "faq.sq", "Who won the world cup in 1998?"),
        extra="search",
    ),
    Stop(
        "The same in Chinese.",
        ("index", "faq-zh.csv", "--output", "faq-zh.sq"),
        extra="search",
        makes="faq-zh.sq",
    ),
    Stop(
        "Asked in other words.",
        ("search", "faq-zh.sq", "忘记密码了怎么办", "--top-k", "2"),
        extra="search",
    ),
    Stop(
        "A classifier from 36 labelled messages, in seconds.",
        ("train", "classify-few", "--data", "messages.csv", "--output", "router"),
        makes="router",
    ),
    Stop(
        "Where does this message belong?",
        ("classify", "The box never came", "--model", "router"),
    ),
    Stop(
        "Is this review negative or positive?",
        ("classify", "A quiet film that grows on you.", "--explain", "opinion.svg"),
        model="sentiment-en",
        makes="opinion.svg",
    ),
    Stop(
        "The part of speech of every word.",
        ("tag", "Ada Lovelace lived in London."),
        model="tagger-en",
    ),
    Stop(
        "The answer to a question, found in a text.",
        ("read", "Who wrote it?", "--context")
        + ("The letter was written by Anna Schmidt, a teacher from Leipzig.",),
        model="read-en",
    ),
    Stop(
        "From German to English.",
        ("generate", "Wenn es morgen regnet, bleiben wir zu Hause."),
        model="translate-de-en",
    ),
    Stop(
        "A lower line for the upper line of a couplet.",
        ("generate", "一帆风顺年年好", "--model", "couplet-zh", "--n-best", "3", "--rules", "all"),
        model="couplet-zh",
    ),
    Stop("All models that can be used by name.", ("models",)),
)


def what_is_missing(stop: Stop) -> str:
    """The pip command for what a stop lacks; empty if it can be run.

    >>> what_is_missing(Stop("All models.", ("models",)))
    ''
    """
    if stop.extra and not all(map(find_spec, MODULES_OF_EXTRAS[stop.extra])):
        return f'pip install "softquery[{stop.extra}]"'
    return f"pip install {MODELS_PACKAGE}" if stop.model in absent() else ""
