"""Bad input for `softquery train elmo-small` and `softquery import elmo`."""

import json
from pathlib import Path

from hostile_cases import ANY, BROKEN_XZ, Case, Damage, both, changed, cut, file, gone

from softquery.files import LONGEST_LINE

PLAIN = "train elmo-small --data text --output model"
IMPORT = "import elmo --weights published/lm_weights.hdf5 --options published/options.json"
TO = f"{IMPORT} --output model"
WEIGHTS, OPTIONS = "published/lm_weights.hdf5", "published/options.json"
BUNDLE = frozenset({"bundle"})
SHARDS = both(gone("text/train-00.txt"), gone("text/train-01.txt.xz"))


def text(content: bytes | str) -> Damage:
    """All of the training text."""
    return both(SHARDS, file("text/train.txt", content))


TEXT = [
    Case(
        title="a data folder that is not there",
        command="train elmo-small --data none --output model",
        said="none: no such folder (No such file or directory)",
    ),
    Case(
        title="no training text",
        command=PLAIN,
        damage=SHARDS,
        said="text: no text for train, such as train.txt or train-00.txt.xz; found: valid.txt",
    ),
    Case(
        title="no text to measure on",
        command=PLAIN,
        damage=gone("text/valid.txt"),
        said="text: no text for valid, such as valid.txt or valid-00.txt.xz; "
        "found: train-00.txt, train-01.txt.xz",
    ),
    Case(
        title="an empty corpus",
        command=PLAIN,
        damage=text(b""),
        said="text: there is no word in the text for train",
    ),
    Case(
        title="rates by layer where all layers begin anew",
        command=f"{PLAIN} --set optim.layer_decay=0.9",
        said="optim.layer_decay is for what is gone on with (--init); leave it at 1",
    ),
    Case(
        title="a corpus of blank lines and invisible characters",
        command=PLAIN,
        damage=text(" \n\u200b\n\n"),
        said="text: there is no word in the text for train",
    ),
    Case(
        title="an empty text to measure on",
        command=PLAIN,
        damage=file("text/valid.txt", b"\n"),
        said="text: there is no word in the text for valid",
    ),
    Case(
        title="a corpus of one word",
        command=PLAIN,
        damage=text("hello"),
        said="text: 1 word is too few for 4 streams of 6 words (28); "
        "lower data.num_streams or data.unroll",
    ),
    Case(
        title="a corpus that ends inside a character",
        command=PLAIN,
        damage=text("a sound line\nand caf\u00e9".encode()[:-1]),
        said="text/train.txt, row 2: not valid UTF-8 (byte 0xc3 at column 8); "
        "save the file as UTF-8",
    ),
    Case(
        title="NUL bytes",
        command=PLAIN,
        damage=text(b"a\0man\n"),
        said="text/train.txt, row 1: holds a NUL byte (at column 2), expected text",
    ),
    Case(
        title="a line of more than 1 MB",
        command=PLAIN,
        damage=text(b"a sound line\n" + b"a" * (LONGEST_LINE + 1)),
        said=f"text/train.txt, row 2: the line is longer than {LONGEST_LINE:,} characters",
    ),
    Case(
        title="an .xz that breaks off",
        command=PLAIN,
        damage=file("text/train-01.txt.xz", BROKEN_XZ),
        said=f"text/train-01.txt.xz, row {ANY}: the compressed file breaks off here (truncated); "
        "fetch or compress it again",
    ),
    Case(
        title="a table without a column `text`",
        command="train elmo-small --data data --output model --set data.valid=dev",
        said='data/train.tsv, row 1: no column "text"; found: sentence1, sentence2, label; '
        "expected: text; other names are given with --columns text=NAME",
    ),
]

SETTINGS = [
    Case(
        title="a projection as wide as the cell",
        command=f"{PLAIN} --set model.projection_size=8",
        said="elmo cannot be built: projection_size (8) must be below hidden_size (8)",
    ),
    Case(
        title="widths of filters without their numbers",
        command=f"{PLAIN} --set model.characters.widths=1,2,3",
        said="elmo cannot be built: widths (1, 2, 3) and filters (4, 4) must be positive pairs",
    ),
    Case(
        title="a softmax that is none",
        command=f"{PLAIN} --set model.softmax.kind=none",
        said="model.softmax.kind: softmax.kind must not be none: nothing could be learnt",
    ),
    Case(
        title="sub-words in place of words",
        command=f"{PLAIN} --set text.unit=bpe",
        said="text.unit: text.unit must cut words, got 'bpe'",
    ),
    Case(
        title="a share of streams above one",
        command=f"{PLAIN} --set data.fresh_share=2",
        said="data.fresh_share: fresh_share must be from 0 to 1, got 2.0",
    ),
    Case(
        title="a vocabulary of reserved words alone",
        command=f"{PLAIN} --set targets.size=4",
        said="targets.size: size must be at least 5 (four are reserved), got 4",
    ),
    Case(
        title="`--vectors`",
        command=f"{PLAIN} --vectors glove.txt",
        said="--vectors: elmo-small reads characters, not word vectors",
    ),
    Case(
        title="`--init` with a matcher",
        command="train elmo-small --data text --output new --init model",
        needs=BUNDLE,
        said="model: expected an elmo to start from, found 'esim'",
    ),
    Case(
        title="settings at which the run diverges",
        command=f"{PLAIN} --set optim.lr=1e15",
        said="the run diverged: the model's answers are no longer finite; "
        "lower optim.lr, or raise optim.eps or schedule.warmup_steps",
    ),
    Case(
        title="an output that exists",
        command=PLAIN,
        damage=file("model/notes.txt", "mine"),
        said="model: already exists; name another --output",
        left="`model` as it was",
    ),
    Case(
        title="a disk that is full before the first checkpoint",
        command="train elmo-small --data text --output full/model",
        needs=frozenset({"disk"}),
        said="full/model.partial/training/run.json: cannot be written (no space left on the disk)",
    ),
]

TRAIN_ELMO = [*TEXT, *SETTINGS]


def array(name: str, content: object) -> Damage:
    """Give an array of the weights another content, or take it away."""

    def damage(place: Path) -> None:
        import h5py
        import numpy

        with h5py.File(place / WEIGHTS, "a") as opened:
            shape = opened[name].shape
            del opened[name]
            if content == "misshapen":
                opened[name] = numpy.zeros((*shape, 1))
            elif content is not None:
                opened[name] = numpy.full(shape, content)

    return damage


def without(*keys: str) -> Damage:
    """Take an option away."""

    def damage(place: Path) -> None:
        options = inner = json.loads((place / OPTIONS).read_text())
        for key in keys[:-1]:
            inner = inner[key]
        del inner[keys[-1]]
        (place / OPTIONS).write_text(json.dumps(options))

    return damage


IMPORT_ELMO = [
    Case(
        title="an array that is missing",
        command=TO,
        damage=array("RNN_1/RNN/MultiRNNCell/Cell0/LSTMCell/W_0", None),
        said=f"{WEIGHTS}: the array RNN_1/RNN/MultiRNNCell/Cell0/LSTMCell/W_0 is missing",
    ),
    Case(
        title="an array of another shape",
        command=TO,
        damage=array("CNN_proj/W_proj", "misshapen"),
        said=f"{WEIGHTS}: the array CNN_proj/W_proj has the shape (12, 4, 1), "
        "but by the options it should be (12, 4)",
    ),
    Case(
        title="options of another model",
        command=TO,
        damage=changed(OPTIONS, "lstm", "dim", to=16),
        said=f"{WEIGHTS}: the array RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/W_0 has the shape "
        "(8, 36), but by the options it should be (8, 64)",
    ),
    Case(
        title="an array that is not finite",
        command=TO,
        damage=array("char_embed", float("nan")),
        said=f"{WEIGHTS}: the array char_embed holds values that are not finite numbers",
    ),
    Case(
        title="weights that break off",
        command=TO,
        damage=cut(WEIGHTS),
        said=f"{WEIGHTS}: not a readable HDF5 file ({ANY})",
    ),
    Case(
        title="weights that are text",
        command=TO,
        damage=file(WEIGHTS, "see README.md"),
        said=f"{WEIGHTS}: not a readable HDF5 file ({ANY})",
    ),
    Case(
        title="weights that are not there",
        command=TO,
        damage=gone(WEIGHTS),
        said=f"{WEIGHTS}: no such file",
    ),
    Case(
        title="options that are not there",
        command=TO,
        damage=gone(OPTIONS),
        said=f"{OPTIONS}: cannot be read (No such file or directory)",
    ),
    Case(
        title="options that are broken JSON",
        command=TO,
        damage=cut(OPTIONS),
        said=f"{OPTIONS}, row 1: broken JSON: {ANY}",
    ),
    Case(
        title="options of a model of words instead of characters",
        command=TO,
        damage=without("char_cnn"),
        said=f"{OPTIONS}: expected an ELMo's options, but char_cnn is missing",
    ),
    Case(
        title="an option that is missing",
        command=TO,
        damage=without("lstm", "projection_dim"),
        said=f"{OPTIONS}: expected an ELMo's options, but lstm.projection_dim is missing",
    ),
    Case(
        title="an output that exists",
        command=TO,
        damage=file("model/notes.txt", "mine"),
        said="model: already exists; name another --output",
        left="`model` as it was",
    ),
    Case(
        title="an output on a full disk",
        command=f"{IMPORT} --output full/model",
        needs=frozenset({"disk"}),
        said="full/model: cannot be written (no space left on the disk)",
    ),
    Case(
        title="no `--options`",
        command=f"import elmo --weights {WEIGHTS} --output model",
        said="missing option '--options'; see softquery import elmo --help",
    ),
    Case(
        title="`import cove` of a model that is no translator",
        command="import cove nli-en --output model",
        said=f"{ANY}nli-en: expected a recurrent encoder–decoder (seq2seq), found 'esim'",
    ),
    Case(
        title="`import cove` of a translator without two LSTMs",
        command="import cove translate-de-en --output model",
        said=f"{ANY}translate-de-en: expected a recurrent encoder–decoder (seq2seq), "
        "found 'transformer'",
    ),
    Case(
        title="a kind of model that cannot be imported",
        command="import gpt --output model",
        said=f"no such command 'gpt'{ANY}; see softquery import --help",
    ),
]
