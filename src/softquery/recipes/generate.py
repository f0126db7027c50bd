"""Recipes for generation: translation, and the lower lines of Chinese couplets."""

from dataclasses import replace

from softquery.models import AskingConfig, Seq2SeqConfig, TransformerConfig
from softquery.recipes.run import Files, Run, Vocabulary
from softquery.tasks import GenerateSettings, Generation
from softquery.text import TextConfig
from softquery.training import Optim, Schedule, Training

CASED = TextConfig(unit="bpe", unicode_form="NFC", lowercase=False, boundaries=True, max_tokens=128)


def translate() -> Run:
    """A small Transformer with one vocabulary of pieces for both sides.

    Differs from paper: normalisation before each sublayer, a cosine schedule, averaged weights, and
    a dropout for corpora of some ten thousand sentences.
    """
    return Run(
        name="translate",
        summary="Transformer on your own texts (columns source and target), joint BPE",
        model=TransformerConfig(
            hidden_size=256,
            num_heads=4,
            inner_size=1024,
            num_encoder_layers=4,
            num_decoder_layers=4,
            norm="pre",
            dropout=0.3,
            attention_dropout=0.1,
        ),
        task=Generation(smoothing=0.1),
        settings=GenerateSettings(),
        text=CASED,
        vocabulary=Vocabulary(size=8_000),
        data=Files(pad_multiple=8),
        optim=Optim(lr=1e-3, betas=(0.9, 0.98), eps=1e-9, clip_norm=1.0),
        schedule=Schedule(warmup_steps=1_000, decay="cosine", plateau_factor=1.0),
        training=Training(max_epochs=60, patience=60, precision="bf16-mixed", average_decay=0.999),
    )


def translate_multi30k() -> Run:
    """The same on Multi30k, whose languages stand in files of their own, line by line.

    `--set writing.languages=en,de` or `en,fr` for other directions. Steered by BLEU, which still
    rises when the likelihood has begun to fall.
    """
    return replace(
        translate(),
        name="translate-multi30k",
        summary="Transformer on Multi30k, de to en (--set writing.languages=en,fr for others)",
        task=Generation(smoothing=0.1, steer="bleu"),
        settings=GenerateSettings(languages=("de", "en")),
        data=Files(dev="val", tune_share=0.02),
    )


def translate_tatoeba() -> Run:
    """The same for short sentences in larger numbers, such as Tatoeba's."""
    run = translate()
    return replace(
        run,
        name="translate-tatoeba",
        summary="Transformer on short sentence pairs such as Tatoeba's (source and target)",
        model=replace(run.model, dropout=0.2),
        settings=GenerateSettings(batch_tokens=8192),
        vocabulary=Vocabulary(size=12_000),
        training=replace(run.training, max_epochs=40, patience=40),
    )


def translate_de_en() -> Run:
    """How the shipped model was trained: small, with most of its layers where they run once.

    A decoder's layers run for every token, an encoder's once per text (Kasai et al. 2021, "Deep
    Encoder, Shallow Decoder").
    """
    run = translate_tatoeba()
    small = replace(_smaller(run.model, inner_size=640), dropout=0.1, attention_dropout=0.0)
    return replace(
        run,
        name="translate-de-en",
        summary="small Transformer, German to English, on source and target: the shipped model",
        model=small,
        vocabulary=Vocabulary(size=4_000),
        data=Files(tune_share=0.01),
        training=replace(run.training, max_epochs=60, patience=60),
    )


def translate_rnn() -> Run:
    """An encoder–decoder whose decoder knows the source by one vector (Cho et al. 2014)."""
    run = translate_bahdanau()
    return replace(
        run,
        name="translate-rnn",
        summary="GRU encoder and decoder without attention: the fixed vector",
        model=replace(run.model, context="every_step", dropout=0.4),
    )


def translate_bahdanau() -> Run:
    """The previous state asks by an additive score (Bahdanau et al. 2015).

    Differs from paper: one small layer, pieces of words, tied output, and dropout.
    """
    run = translate()
    return replace(
        run,
        name="translate-bahdanau",
        summary="GRU encoder and decoder with Bahdanau's additive attention",
        model=Seq2SeqConfig(embedding_size=256, hidden_size=512, dropout=0.4, tie="output"),
        optim=Optim(lr=1e-3, clip_norm=1.0),
        schedule=Schedule(warmup_steps=400, decay="cosine", plateau_factor=1.0),
        training=replace(run.training, max_epochs=40, patience=40),
    )


def translate_luong() -> Run:
    """The current state asks by a bilinear score, and hands on the answer (Luong et al. 2015)."""
    run = translate_bahdanau()
    asking = AskingConfig(asker="current", score="general", input_feeding=True)
    return replace(
        run,
        name="translate-luong",
        summary="LSTM encoder and decoder with Luong's general attention and input feeding",
        model=replace(run.model, cell="lstm", attention=asking),
    )


def translate_cove() -> Run:
    """A translator whose encoder gives words vectors in context (McCann et al. 2017, Section 3).

    `softquery import cove` takes the encoder. Differs from paper: one layer, words that are learnt
    along, no input feeding.
    """
    run = translate_luong()
    asking = AskingConfig(asker="current", score="general", input_feeding=False)
    sizes = Seq2SeqConfig(
        embedding_size=300, hidden_size=300, cell="lstm", attention=asking, tie="output"
    )
    return replace(
        run,
        name="translate-cove",
        summary="LSTM translator of whole words, whose encoder `import cove` takes",
        model=sizes,
        text=replace(CASED, unit="words"),
        settings=GenerateSettings(vocabularies="separate"),
        vocabulary=Vocabulary(min_count=2, size=30_000),
        training=replace(run.training, max_epochs=10, patience=10),
    )


def couplet() -> Run:
    """Lower lines of Chinese couplets: characters, one vocabulary, one table for everything.

    Pretrain it on verses, then fine-tune it on couplets with `--init`.
    """
    return Run(
        name="couplet",
        summary="Transformer for Chinese couplets: source is the upper line, target the lower",
        model=TransformerConfig(
            hidden_size=384,
            num_heads=6,
            inner_size=1536,
            num_encoder_layers=6,
            num_decoder_layers=6,
            norm="pre",
            dropout=0.1,
        ),
        task=Generation(smoothing=0.1, bleu="char", form="couplet"),
        settings=GenerateSettings(batch_tokens=16_384, beam=8),
        text=TextConfig(
            unit="characters", unicode_form="NFC", lowercase=False, simplify=True,
            boundaries=True, max_tokens=66,
        ),
        vocabulary=Vocabulary(min_count=2),
        data=Files(tune_share=0.02, pad_multiple=4),
        optim=Optim(lr=1e-3, betas=(0.9, 0.98), eps=1e-9, clip_norm=1.0),
        schedule=Schedule(warmup_steps=2_000, decay="cosine", plateau_factor=1.0),
        training=Training(
            max_epochs=20, patience=20, precision="bf16-mixed", average_decay=0.999
        ),
    )  # fmt: skip


def couplet_zh() -> Run:
    """How the shipped model was trained: small; on verses first, then on couplets with `--init`."""
    run = couplet()
    return replace(
        run,
        name="couplet-zh",
        summary="small Transformer for Chinese couplets: the shipped model",
        model=_smaller(run.model, inner_size=480),
        vocabulary=Vocabulary(min_count=10),
    )


def couplet_rnn() -> Run:
    """A recurrent couplet writer that knows the upper line by its first state alone.

    Sutskever et al. (2014). This recipe and the three after it have as many weights as `couplet-zh`
    (within 2 % with 5,000 characters) and its data, so that what differs is how the decoder asks.
    """
    return _recurrent_couplet(
        "couplet-rnn",
        "recurrent couplets without attention: the upper line as the first state",
        Seq2SeqConfig(hidden_size=304, context="first_state"),
    )


def couplet_rnn_every_step() -> Run:
    """The same with one vector of the upper line at every step (Cho et al. 2014)."""
    return _recurrent_couplet(
        "couplet-rnn-every-step",
        "recurrent couplets without attention: one vector at every step",
        Seq2SeqConfig(hidden_size=240, context="every_step"),
    )


def couplet_bahdanau() -> Run:
    """The previous state asks the upper line by an additive score (Bahdanau et al. 2015)."""
    return _recurrent_couplet(
        "couplet-bahdanau",
        "recurrent couplets with Bahdanau's additive attention",
        Seq2SeqConfig(hidden_size=216),
    )


def couplet_luong() -> Run:
    """The current state asks the upper line by a bilinear score (Luong et al. 2015)."""
    asking = AskingConfig(asker="current", score="general", input_feeding=True)
    return _recurrent_couplet(
        "couplet-luong",
        "recurrent couplets (LSTM) with Luong's general attention and input feeding",
        Seq2SeqConfig(hidden_size=208, cell="lstm", attention=asking),
    )


def _recurrent_couplet(name: str, summary: str, model: Seq2SeqConfig) -> Run:
    """`couplet-zh` with a recurrent model, whose optimiser is that of `translate-bahdanau`."""
    recurrent = translate_bahdanau()
    return replace(
        couplet_zh(),
        name=name,
        summary=summary,
        model=replace(model, embedding_size=160, dropout=0.3, tie="all"),
        optim=recurrent.optim,
        schedule=recurrent.schedule,
    )


def _smaller(model: TransformerConfig, *, inner_size: int) -> TransformerConfig:
    """A model small enough to ship."""
    return replace(
        model,
        hidden_size=160,
        num_heads=4,
        inner_size=inner_size,
        num_encoder_layers=3,
        num_decoder_layers=2,
    )
