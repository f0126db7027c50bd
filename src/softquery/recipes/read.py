"""Recipes for answering questions about a context."""

from dataclasses import replace

from softquery.models import BiDafConfig
from softquery.nn import ElmoSettings, SpellingConfig
from softquery.recipes.run import Files, Run, Vocabulary
from softquery.tasks import ReadSettings
from softquery.text import TextConfig
from softquery.training import Optim, Schedule, Training


def reader() -> Run:
    """BiDAF: a BiLSTM reader with attention both ways, over words and characters.

    The sizes are those of Seo et al. (2017). Differs from paper: Adam with a falling rate in place
    of AdaDelta, larger batches, and word vectors that learn along.
    """
    return Run(
        name="reader",
        summary="BiDAF: answers that stand in a context (SQuAD's JSON, or JSONL)",
        model=BiDafConfig(),
        settings=ReadSettings(),
        text=TextConfig(max_tokens=400),
        vocabulary=Vocabulary(min_count=2, from_vectors=50_000),
        data=Files(batch_size=64, pad_multiple=16),
        optim=Optim(lr=1e-3, betas=(0.9, 0.99), clip_norm=5.0),
        schedule=Schedule(warmup_steps=200, decay="cosine"),
        training=Training(max_epochs=10, patience=4, average_decay=0.999),
    )


def reader_elmo() -> Run:
    """The same with a frozen biLM's vectors beside the words (Peters et al. 2018, Appendix A.3)."""
    return replace(
        reader(),
        name="reader-elmo",
        summary="The same with ELMo's vectors (name a biLM: --set elmo.bundle=DIR)",
        text=TextConfig(unicode_form="NFC", max_tokens=400),
        elmo=ElmoSettings(places=("input",), penalty=0.001, dropout=0.5),
    )


def read_en() -> Run:
    """The recipe of `read-en`: the same, narrow and with few words, so that it is small.

    Rare words are left to their characters. So small a reader takes larger steps than the other.
    """
    return replace(
        reader(),
        name="read-en",
        summary="What made the shipped read-en: a small BiDAF (SQuAD 1.1)",
        model=BiDafConfig(
            embedding_size=50,
            spelling=SpellingConfig(size=16, output_size=64, width=5, max_characters=16),
            hidden_size=64,
        ),
        vocabulary=Vocabulary(min_count=2, size=10_000),
        optim=replace(reader().optim, lr=2e-3),
        training=replace(reader().training, max_epochs=12),
    )


def reader_zh() -> Run:
    """The same for Chinese: characters in place of words, answers compared as CMRC 2018 does."""
    return replace(
        reader(),
        name="reader-zh",
        summary="BiDAF over Chinese characters (CMRC 2018, DRCD)",
        model=BiDafConfig(spelling=SpellingConfig(kind="none"), dropout=0.3, word_dropout=0.02),
        settings=ReadSettings(max_words=40, max_question=64, step=320, counting="cmrc"),
        text=TextConfig(unit="characters", simplify=True, max_tokens=512),
        data=Files(batch_size=32, pad_multiple=32),
        training=Training(max_epochs=30, patience=6, average_decay=0.999),
    )
