"""Bad input for `softquery train bert-tiny` and `softquery import bert`."""

from pathlib import Path

from hostile_cases import ANY, BROKEN_XZ, Case, Damage, both, changed, cut, file, gone

from softquery.text import BERT_RESERVED

PLAIN = "train bert-tiny --data text --output model"
TO = "import bert bert --output model"
WEIGHTS, CONFIG, TOKENIZER = "bert/model.safetensors", "bert/config.json", "bert/tokenizer.json"
BUNDLE = frozenset({"bundle"})
SHARDS = both(gone("text/train-00.txt"), gone("text/train-01.txt.xz"))


def text(content: bytes | str) -> Damage:
    """All of the training text."""
    return both(SHARDS, file("text/train.txt", content))


TEXT = [
    Case(
        title="a data folder that is not there",
        command="train bert-tiny --data none --output model",
        said="none: no such folder (No such file or directory)",
    ),
    Case(
        title="no training text",
        command=PLAIN,
        damage=SHARDS,
        said="text: no text for train, such as train.txt or train-00.txt.xz; found: valid.txt",
    ),
    Case(
        title="an empty corpus",
        command=PLAIN,
        damage=text(b""),
        said="text: there is no word in the text for train",
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
        damage=text("a"),
        said="text: 0 pieces are too few to cut excerpts from; lower data.rounds",
    ),
    Case(
        title="a corpus in another encoding",
        command=PLAIN,
        damage=text("a sound line\ncaf\u00e9".encode("latin-1")),
        said="text/train.txt, row 2: not valid UTF-8 (byte 0xe9 at column 4); "
        "save the file as UTF-8",
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
        command="train bert-tiny --data data --output model --set data.valid=dev",
        said='data/train.tsv, row 1: no column "text"; found: sentence1, sentence2, label; '
        "expected: text; other names are given with --columns text=NAME",
    ),
]

SETTINGS = [
    Case(
        title="sequences beyond the model's positions",
        command=f"{PLAIN} --set data.long_length=64",
        said="data.long_length (64) must be at most model.max_length (48)",
    ),
    Case(
        title="heads that do not divide the width",
        command=f"{PLAIN} --set model.num_heads=5",
        said="model.num_heads: hidden_size (32) must be divisible by num_heads (5)",
    ),
    Case(
        title="nothing to learn",
        command=f"{PLAIN} --set model.heads=none",
        said="model.heads: heads must not be none: nothing could be learnt",
    ),
    Case(
        title="one direction",
        command=f"{PLAIN} --set model.direction=left",
        said="model.direction: direction left predicts every next piece: it goes with heads=words, "
        "and hides none",
    ),
    Case(
        title="words in place of pieces",
        command=f"{PLAIN} --set text.unit=words",
        said="text.unit: text.unit must be bert, got 'words'",
    ),
    Case(
        title="every word hidden",
        command=f"{PLAIN} --set masking.share=1",
        said="masking.share: share must be between 0 and 1, got 1.0",
    ),
    Case(
        title="a vocabulary of reserved tokens alone",
        command=f"{PLAIN} --set pieces.size=5",
        said="pieces.size: size must be at least 7 (five are reserved), got 5",
    ),
    Case(
        title="a given vocabulary that is not there",
        command=f"{PLAIN} --set pieces.given=vocab.txt",
        said="vocab.txt: no such file",
    ),
    Case(
        title="a given vocabulary without reserved tokens",
        command=f"{PLAIN} --set pieces.given=test.tsv",
        said="test.tsv: the vocabulary lacks [PAD], [UNK], [CLS], [SEP], [MASK]",
    ),
    Case(
        title="`--vectors`",
        command=f"{PLAIN} --vectors glove.txt",
        said="--vectors: bert-tiny learns the vectors of its pieces by itself",
    ),
    Case(
        title="`--init` with a matcher",
        command="train bert-tiny --data text --output new --init model",
        needs=BUNDLE,
        said="model: expected a bert to start from, found 'esim'",
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
        command="train bert-tiny --data text --output full/model",
        needs=frozenset({"disk"}),
        said="full/model.partial/training/run.json: cannot be written (no space left on the disk)",
    ),
]

TRAIN_BERT = [*TEXT, *SETTINGS]


def tensor(name: str, content: str | None) -> Damage:
    """Give a tensor another content, or take it away."""

    def damage(place: Path) -> None:
        import numpy
        from safetensors.numpy import load_file, save_file

        arrays = load_file(place / WEIGHTS)
        shape = arrays.pop(name).shape
        if content == "misshapen":
            arrays[name] = numpy.zeros((*shape, 1), numpy.float32)
        elif content == "not finite":
            arrays[name] = numpy.full(shape, numpy.nan, numpy.float32)
        save_file(arrays, place / WEIGHTS, metadata={"format": "pt"})

    return damage


def renamed(name: str, other: str) -> Damage:
    """Move a file."""
    return lambda place: (place / name).rename(place / other)


QUERY = "bert.encoder.layer.0.attention.self.query.weight"

IMPORT_BERT = [
    Case(
        title="a folder that is not there",
        command="import bert none --output model",
        said="none: no such folder",
    ),
    Case(
        title="a file in place of a folder",
        command=f"import bert {CONFIG} --output model",
        said=f"{CONFIG}: is a file",
    ),
    Case(
        title="a tensor that is missing",
        command=TO,
        damage=tensor(QUERY, None),
        said=f"{WEIGHTS}: the tensor encoder.layer.0.attention.self.query.weight is missing",
    ),
    Case(
        title="a tensor of another shape",
        command=TO,
        damage=tensor(QUERY, "misshapen"),
        said=f"{WEIGHTS}: the tensor encoder.layer.0.attention.self.query.weight has the shape "
        "(8, 8, 1), but by config.json it should be (8, 8)",
    ),
    Case(
        title="a tensor that is not finite",
        command=TO,
        damage=tensor(QUERY, "not finite"),
        said=f"{WEIGHTS}: the tensor encoder.layer.0.attention.self.query.weight "
        "holds values that are not finite numbers",
    ),
    Case(
        title="another kind of model",
        command=TO,
        damage=changed(CONFIG, "model_type", to="roberta"),
        said=f"{CONFIG}: expected a model_type of 'bert', found 'roberta'",
    ),
    Case(
        title="an activation that is not known",
        command=TO,
        damage=changed(CONFIG, "hidden_act", to="swish"),
        said=f"{CONFIG}: hidden_act must be one of gelu, gelu_python, gelu_new, "
        "gelu_pytorch_tanh, relu, got 'swish'",
    ),
    Case(
        title="relative positions",
        command=TO,
        damage=changed(CONFIG, "position_embedding_type", to="relative_key"),
        said=f"{CONFIG}: position_embedding_type must be 'absolute', got 'relative_key'",
    ),
    Case(
        title="a config of other sizes",
        command=TO,
        damage=changed(CONFIG, "intermediate_size", to=16),
        said=f"{WEIGHTS}: the tensor encoder.layer.0.intermediate.dense.weight has the shape "
        "(12, 8), but by config.json it should be (16, 8)",
    ),
    Case(
        title="a config without a size",
        command=TO,
        damage=file(CONFIG, '{"model_type": "bert"}'),
        said=f"{CONFIG}: expected a BERT's config, but vocab_size is missing",
    ),
    Case(
        title="a config that breaks off",
        command=TO,
        damage=cut(CONFIG),
        said=f"{CONFIG}, row {ANY}: broken JSON: {ANY}",
    ),
    Case(
        title="weights that break off",
        command=TO,
        damage=cut(WEIGHTS),
        said=f"{WEIGHTS}: damaged or not a safetensors file ({ANY})",
    ),
    Case(
        title="weights in pickle form only",
        command=TO,
        damage=renamed(WEIGHTS, "bert/pytorch_model.bin"),
        said="bert/pytorch_model.bin: weights in pickle form can run code and are never loaded; "
        "expected model.safetensors",
    ),
    Case(
        title="no weights at all",
        command=TO,
        damage=gone(WEIGHTS),
        said=f"{WEIGHTS}: no such file",
    ),
    Case(
        title="no vocabulary",
        command=TO,
        damage=both(gone(TOKENIZER), gone("bert/vocab.txt")),
        said="bert: holds neither tokenizer.json nor vocab.txt",
    ),
    Case(
        title="a tokenizer that breaks off",
        command=TO,
        damage=cut(TOKENIZER),
        said=f"{TOKENIZER}: damaged or not a tokenizer ({ANY})",
    ),
    Case(
        title="a vocabulary without reserved tokens",
        command=TO,
        damage=both(gone(TOKENIZER), file("bert/vocab.txt", "[PAD]\n[UNK]\nthe\n")),
        said="bert/vocab.txt: the vocabulary lacks [CLS], [SEP], [MASK]",
    ),
    Case(
        title="more pieces than rows",
        command=TO,
        damage=both(
            gone(TOKENIZER),
            file("bert/vocab.txt", "\n".join([*BERT_RESERVED, *"abcdefghijklmnopq"])),
        ),
        said="bert: the vocabulary has 22 entries, but config.json says 21",
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
        command="import bert bert --output full/model",
        needs=frozenset({"disk"}),
        said="full/model: cannot be written (no space left on the disk)",
    ),
]
