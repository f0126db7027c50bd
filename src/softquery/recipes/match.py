"""Recipes for matching two sentences."""

from dataclasses import replace

from softquery.models import DecomposableConfig, EsimConfig, SiameseConfig
from softquery.nn import ElmoSettings
from softquery.recipes.run import Files, Run, Vocabulary
from softquery.tasks import PairClassification, PairGrading
from softquery.text import TextConfig
from softquery.training import Optim, Schedule, Training

NLI = ("entailment", "neutral", "contradiction")
SAME = ("0", "1")


def esim() -> Run:
    """ESIM on any English pairs; the classes are those found in the training file."""
    return Run(
        name="esim",
        summary="ESIM on your own English pairs (any labels)",
        model=EsimConfig(),
        vocabulary=Vocabulary(from_vectors=20_000),
    )


def esim_fast() -> Run:
    """ESIM with a wide encoder and a thin composition without recurrence, for ranking many texts.

    Differs from paper: projection and composer have 128 units, and the composer is a convolution of
    two layers; dropout 0.3 (0.2 on embeddings), as in `esim-snli`.
    """
    return replace(
        esim(),
        name="esim-fast",
        summary="ESIM with a thin composition, to rank many texts faster (any labels)",
        model=EsimConfig(
            projection_size=128,
            composer="convolution",
            composer_size=128,
            dropout=0.3,
            embedding_dropout=0.2,
        ),
    )


def esim_snli() -> Run:
    """ESIM on SNLI, natural language inference with three classes.

    Differs from paper: batches of 256 with a cosine schedule, dropout 0.3 (0.2 on embeddings), two
    passes that must agree (R-Drop) and averaged weights; chosen on held-back training pairs.
    """
    return Run(
        name="esim-snli",
        summary="ESIM on SNLI: entailment, neutral or contradiction",
        model=EsimConfig(dropout=0.3, embedding_dropout=0.2),
        task=PairClassification(labels=NLI, consistency=1.0),
        text=TextConfig(max_tokens=96, boundaries=True),
        vocabulary=Vocabulary(from_vectors=20_000),
        data=Files(batch_size=256),
        optim=Optim(lr=1e-3),
        schedule=Schedule(warmup_steps=300, decay="cosine", plateau_factor=1.0),
        training=Training(max_epochs=12, patience=12, average_decay=0.999),
    )


def decomposable_snli() -> Run:
    """Decomposable attention on SNLI, trained as `esim-snli` is.

    Word vectors stay as they are, as in the paper. Differs from paper: 400 units and dropout 0.1,
    chosen on held-back pairs; Adam with a cosine schedule, two passes that must agree (R-Drop) and
    averaged weights, so that the two models are trained alike.
    """
    return replace(
        esim_snli(),
        name="decomposable-snli",
        summary="Decomposable attention on SNLI: entailment, neutral or contradiction",
        model=DecomposableConfig(hidden_size=400, dropout=0.1),
        vocabulary=Vocabulary(from_vectors=20_000, frozen=True),
    )


def esim_elmo() -> Run:
    """ESIM with a biLM's vectors at its input (ELMo, Section 4).

    The biLM reads words as they are written; to the table of words, case makes no difference.
    Differs from paper: nothing is laid beside the encoder's states, which gained nothing; dropout
    of the mixed vectors is 0.2. Both were chosen on held-back pairs.
    """
    return replace(
        esim_snli(),
        name="esim-elmo",
        summary="ESIM on SNLI with ELMo's vectors (name a biLM: --set elmo.bundle=DIR)",
        text=TextConfig(unicode_form="NFC", max_tokens=96, boundaries=True),
        elmo=ElmoSettings(places=("input",), dropout=0.2),
    )


def esim_zh() -> Run:
    """ESIM on Chinese pairs, one token per character."""
    return Run(
        name="esim-zh",
        summary="ESIM on your own Chinese pairs, by characters (any labels)",
        model=EsimConfig(hidden_size=200, embedding_size=200),
        text=TextConfig(unit="characters", simplify=True, max_tokens=96),
        data=Files(batch_size=64),
    )


def nli_en() -> Run:
    """The shipped `nli-en`: gold and mined pairs with a teacher's probabilities."""
    return Run(
        name="nli-en",
        summary="The shipped English inference model: entailment, neutral or contradiction",
        model=EsimConfig(hidden_size=200, dropout=0.2, embedding_dropout=0.1),
        task=PairClassification(labels=NLI),
        text=TextConfig(max_tokens=256, boundaries=True),
        vocabulary=Vocabulary(min_count=2, from_vectors=20_000),
        data=Files(batch_size=256, tune="tune"),
        optim=Optim(lr=1e-3),
        schedule=Schedule(warmup_steps=500, decay="cosine", plateau_factor=1.0),
        training=Training(max_epochs=8, patience=8, average_decay=0.999),
    )


def match_en() -> Run:
    """The shipped `match-en`: gold and mined pairs with a teacher's probabilities."""
    return replace(
        nli_en(),
        name="match-en",
        summary="The shipped English matcher: same meaning (1) or not (0)",
        task=PairClassification(labels=SAME, symmetric=True, consistency=1.0),
        vocabulary=Vocabulary(min_count=3, from_vectors=20_000),
        training=Training(max_epochs=7, patience=7, average_decay=0.999),
    )


def match_zh() -> Run:
    """The shipped `match-zh`, one token per character."""
    run = match_en()
    return replace(
        run,
        name="match-zh",
        summary="The shipped Chinese matcher, by characters: same meaning (1) or not (0)",
        model=replace(run.model, embedding_size=200),
        text=TextConfig(unit="characters", simplify=True, max_tokens=256, boundaries=True),
        vocabulary=Vocabulary(min_count=5),
        training=Training(max_epochs=5, patience=5, average_decay=0.999),
    )


def nli_en_thin() -> Run:
    """`nli-en` with a thin composition without recurrence, which is paid once per pair.

    Differs from paper: as `esim-fast`.
    """
    run = nli_en()
    return replace(
        run,
        name="nli-en-thin",
        summary="The English inference model with a thin composition, several times as fast",
        model=EsimConfig(
            projection_size=128,
            composer="convolution",
            composer_size=128,
            dropout=0.2,
            embedding_dropout=0.1,
        ),
    )


def match_en_thin() -> Run:
    """`match-en`, thin throughout: what a teacher thinks of mined and hard pairs.

    Nothing is passed twice, since what a teacher says of many pairs keeps a student from learning
    any by heart. Differs from paper: as `nli-en-thin`, and all of it is narrower: the encoder is
    most of a single pair, and the alignment most of what stored candidates cost.
    """
    return replace(
        match_en(),
        name="match-en-thin",
        summary="The English matcher, thin throughout, several times as fast",
        model=EsimConfig(
            hidden_size=176,
            alignment_size=96,
            projection_size=96,
            composer="convolution",
            composer_size=96,
            dropout=0.1,
            embedding_dropout=0.1,
        ),
        task=PairClassification(labels=SAME, symmetric=True),
    )


def match_zh_thin() -> Run:
    """`match-zh`, thin where it is paid once per pair; meant for batches of 512.

    Nothing is passed twice, as in `match-en-thin`.
    """
    return replace(
        match_zh(),
        name="match-zh-thin",
        summary="The Chinese matcher with a thin composition, several times as fast",
        model=EsimConfig(
            embedding_size=200,
            hidden_size=256,
            alignment_size=128,
            projection_size=128,
            composer="convolution",
            composer_size=128,
            dropout=0.2,
            embedding_dropout=0.1,
        ),
        task=PairClassification(labels=SAME, symmetric=True),
    )


def esim_graded() -> Run:
    """ESIM on graded similarity from 0 to 5."""
    return Run(
        name="esim-graded",
        summary="ESIM on graded similarity (STS: 0 to 5)",
        model=EsimConfig(output_size=1),
        task=PairGrading(low=0, high=5),
    )


def esim_search() -> Run:
    """ESIM as the last stage of a search: does this text answer that question?

    Pairs are questions with what answers them, and with what recall found that does not.
    """
    return Run(
        name="esim-search",
        summary="ESIM that reranks what a search found: answers it (1) or not (0)",
        model=EsimConfig(hidden_size=200, dropout=0.3, embedding_dropout=0.2),
        task=PairClassification(labels=SAME, steers_by="auc"),
        text=TextConfig(max_tokens=200, boundaries=True),
        vocabulary=Vocabulary(min_count=2, from_vectors=20_000),
        data=Files(batch_size=128, tune="tune"),
        optim=Optim(lr=1e-3),
        schedule=Schedule(warmup_steps=300, decay="cosine", plateau_factor=1.0),
        training=Training(max_epochs=6, patience=6, average_decay=0.999),
    )


def siamese_search() -> Run:
    """A sentence encoder for the first stage of a search, by cosine, with the batch as contrast."""
    return replace(
        esim_search(),
        name="siamese-search",
        summary="Siamese sentence encoder for search, by cosine: answers it (1) or not (0)",
        model=SiameseConfig(head="cosine", pooling="max", hidden_size=200),
        task=PairClassification(labels=SAME, contrast=1.0, steers_by="auc"),
        data=Files(batch_size=256, tune="tune"),
        training=Training(max_epochs=10, patience=10, average_decay=0.999),
    )


def siamese() -> Run:
    """A Siamese matcher on any English pairs."""
    return Run(
        name="siamese",
        summary="Siamese BiLSTM on your own English pairs (any labels)",
        model=SiameseConfig(),
        vocabulary=Vocabulary(from_vectors=20_000),
        data=Files(batch_size=64),
    )


def siamese_snli() -> Run:
    """A Siamese matcher on SNLI, beside which ESIM shows what alignment brings."""
    return replace(
        siamese(),
        name="siamese-snli",
        summary="Siamese BiLSTM on SNLI (InferSent's setting)",
        model=SiameseConfig(output_size=3),
        task=PairClassification(labels=NLI),
        text=TextConfig(max_tokens=96),
    )


def siamese_graded() -> Run:
    """A sentence encoder trained on graded similarity by the cosine."""
    return replace(
        esim_graded(),
        name="siamese-graded",
        summary="Siamese sentence encoder on graded similarity, by cosine (STS: 0 to 5)",
        model=SiameseConfig(output_size=1, head="cosine", pooling="mean"),
    )
