"""Recipes for tagging words."""

from dataclasses import replace

from softquery.models import BiLstmTaggerConfig, SpellingConfig
from softquery.nn import ElmoSettings
from softquery.recipes.run import Files, Run, Vocabulary
from softquery.tasks import TagSettings
from softquery.text import TextConfig
from softquery.training import Optim, Schedule, Training


def tagger() -> Run:
    """Words and their characters through two BiLSTMs and a conditional random field.

    The baseline of Peters et al. (2018), Appendix A.6. Differs from paper: the learning rate halves
    when the held-back F1 stalls, and a share of words is read as unknown.
    """
    return Run(
        name="tagger",
        summary="BiLSTM-CRF over words and characters on your own tags (CoNLL, JSONL)",
        model=BiLstmTaggerConfig(),
        settings=TagSettings(),
        text=TextConfig(unicode_form="NFC", max_tokens=512),
        vocabulary=Vocabulary(from_vectors=50_000),
        data=Files(batch_size=32),
        optim=Optim(lr=1e-3, clip_norm=5.0),
        schedule=Schedule(plateau_factor=0.5, plateau_patience=2),
        training=Training(max_epochs=60, patience=10),
    )


def tagger_elmo() -> Run:
    """The same with a frozen biLM's vectors at the input (Peters et al. 2018, Appendix A.6)."""
    return replace(
        tagger(),
        name="tagger-elmo",
        summary="The same with ELMo's vectors (name a biLM: --set elmo.bundle=DIR)",
        elmo=ElmoSettings(places=("input",), penalty=0.1, dropout=0.5),
    )


def pos() -> Run:
    """Parts of speech, each word for itself: the universal ones of a CoNLL-U file."""
    return replace(
        tagger(),
        name="pos",
        summary="BiLSTM for parts of speech, by the UPOS of CoNLL-U or any plain tags",
        model=BiLstmTaggerConfig(
            decoder="softmax", spelling=SpellingConfig(size=32), hidden_sizes=(200, 200)
        ),
        settings=TagSettings(given="plain"),
    )


def tagger_en() -> Run:
    """What made the shipped `tagger-en`: universal parts of speech, on a frozen `elmo-en`.

    No word vectors from outside: the table holds what the training text has more than once.
    """
    return replace(
        pos(),
        name="tagger-en",
        summary="What made the shipped tagger-en (UD English, EWT) on elmo-en",
        vocabulary=Vocabulary(min_count=2),
        elmo=ElmoSettings(bundle="elmo-en", places=("input",), penalty=0.001, dropout=0.2),
    )


def ner_en() -> Run:
    """People, places, organisations and other names in English, on a frozen `elmo-en`.

    The table holds the most frequent words of the training text, so that the bundle stays small.
    """
    return replace(
        tagger_elmo(),
        name="ner-en",
        summary="Names in English sentences (CoNLL-2003), on elmo-en",
        vocabulary=Vocabulary(size=16_000),
        elmo=ElmoSettings(bundle="elmo-en", places=("input",), penalty=0.1, dropout=0.5),
        training=Training(max_epochs=30, patience=6),
    )
