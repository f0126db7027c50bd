"""Recipes for classes of texts."""

from dataclasses import replace

from softquery.models import AttentiveConfig, HierarchicalConfig
from softquery.nn import ElmoSettings
from softquery.recipes.run import Files, Run, Vocabulary
from softquery.tasks import ClassifySettings, TextClassification
from softquery.text import TextConfig
from softquery.training import Optim, Schedule, Training

SENTIMENT = ("negative", "positive")
MARKERS = ("<e1>", "</e1>", "<e2>", "</e2>")
"""Around the two words whose relation is asked for."""


def attention_bilstm() -> Run:
    """A BiLSTM whose words one learned vector asks, on any English texts.

    Zhou et al. (2016). Differs from paper: wider, Adam with a rate that halves when the held-back
    accuracy stalls, and a share of words is read as unknown.
    """
    return Run(
        name="attention-bilstm",
        summary="Attention-BiLSTM on your own English texts (any labels)",
        model=AttentiveConfig(hidden_size=200, word_dropout=0.05),
        settings=ClassifySettings(),
        text=TextConfig(max_tokens=256),
        vocabulary=Vocabulary(from_vectors=50_000),
        data=Files(batch_size=64),
        optim=Optim(lr=1e-3, clip_norm=5.0),
        schedule=Schedule(plateau_factor=0.5, plateau_patience=1),
        training=Training(max_epochs=30, patience=5),
    )


def attention_bilstm_zh() -> Run:
    """The same on Chinese texts, one token per character."""
    return replace(
        attention_bilstm(),
        name="attention-bilstm-zh",
        summary="Attention-BiLSTM on your own Chinese texts, by characters (any labels)",
        model=AttentiveConfig(embedding_size=200, hidden_size=200, word_dropout=0.05),
        text=TextConfig(unit="characters", simplify=True, max_tokens=400),
        vocabulary=Vocabulary(min_count=2),
    )


def attention_bilstm_elmo() -> Run:
    """The same with a frozen biLM's vectors at the input (Peters et al. 2018, Section 3.3).

    Their gain is larger with a little dropout than with the half that the paper takes.
    """
    return replace(
        attention_bilstm(),
        name="attention-bilstm-elmo",
        summary="The same with ELMo's vectors (name a biLM: --set elmo.bundle=DIR)",
        text=TextConfig(unicode_form="NFC", max_tokens=256),
        elmo=ElmoSettings(places=("input",), penalty=0.001, dropout=0.2),
    )


def sentiment_en() -> Run:
    """The recipe of `sentiment-en`: sentences of reviews, steered by a set of its own.

    On a frozen `elmo-en`, which comes with the same package: beside it a short table of words and a
    narrow BiLSTM do, so that the bundle stays small.
    """
    return replace(
        attention_bilstm_elmo(),
        name="sentiment-en",
        summary="English sentiment of a sentence, negative or positive, on elmo-en",
        model=AttentiveConfig(embedding_size=50, hidden_size=128, word_dropout=0.05),
        task=TextClassification(labels=SENTIMENT, smoothing=0.05),
        settings=None,
        elmo=ElmoSettings(bundle="elmo-en", places=("input",), penalty=0.001, dropout=0.2),
        vocabulary=Vocabulary(min_count=2, size=8_000),
        data=Files(batch_size=64, tune="tune"),
        schedule=Schedule(warmup_steps=100, decay="cosine", plateau_factor=1.0),
        training=Training(max_epochs=8, patience=8, average_decay=0.999),
    )


def sentiment_en_taught() -> Run:
    """`sentiment-en`, a little wider, that learns a teacher's opinions of many sentences.

    With so many sentences little is dropped, and opinions that say how sure they are need no
    smoothing.
    """
    run = sentiment_en()
    return replace(
        run,
        name="sentiment-en-taught",
        summary="English sentiment on elmo-en, learnt from a teacher's opinions of many sentences",
        model=AttentiveConfig(
            embedding_size=100, hidden_size=200, word_dropout=0.05, embedding_dropout=0.2,
            state_dropout=0.2, dropout=0.3,
        ),
        task=TextClassification(labels=SENTIMENT),
        elmo=ElmoSettings(bundle="elmo-en", places=("input",), penalty=0.001, dropout=0.1),
        vocabulary=Vocabulary(min_count=2, size=10_000),
        data=Files(batch_size=256, tune="tune"),
        training=Training(max_epochs=6, patience=6, average_decay=0.999),
    )  # fmt: skip


def relations() -> Run:
    """The relation between two marked words of a sentence: SemEval-2010 Task 8.

    Zhou et al. (2016): the marks `<e1>…</e1>` and `<e2>…</e2>` are tokens like any other (their
    position indicators). Differs from paper: Adam in larger batches for AdaDelta.
    """
    return Run(
        name="relations",
        summary="Relations between <e1>…</e1> and <e2>…</e2> by attention-BiLSTM (SemEval-2010)",
        model=AttentiveConfig(word_dropout=0.02),
        settings=ClassifySettings(metric="relation_f1"),
        text=TextConfig(max_tokens=128, markers=MARKERS),
        vocabulary=Vocabulary(from_vectors=50_000),
        data=Files(batch_size=32, tune_share=0.1),
        optim=Optim(lr=1e-3, weight_decay=1e-5, clip_norm=5.0),
        schedule=Schedule(plateau_factor=0.5, plateau_patience=2),
        training=Training(max_epochs=60, patience=10),
    )


def hierarchical_attention() -> Run:
    """Words to sentences to documents, asked at both levels, on reviews and the like.

    Yang et al. (2016). Differs from paper: Adam, dropout, and long sentences go on in the next.
    """
    return Run(
        name="hierarchical-attention",
        summary="Hierarchical attention over words and sentences on your own documents (IMDb)",
        model=HierarchicalConfig(dropout=0.4, word_dropout=0.05),
        settings=ClassifySettings(),
        text=TextConfig(max_tokens=48),
        vocabulary=Vocabulary(min_count=5, from_vectors=50_000),
        data=Files(batch_size=64, pad_multiple=16, num_tokens=65_536),
        optim=Optim(lr=1e-3, clip_norm=5.0),
        schedule=Schedule(plateau_factor=0.5, plateau_patience=0),
        training=Training(max_epochs=15, patience=3, average_decay=0.995),
    )
