"""Bad input for `softquery train`."""

import gzip

from hostile_cases import (
    ANY,
    BROKEN_XZ,
    HEADER,
    JUNK,
    ROW,
    Case,
    both,
    closed,
    cut,
    file,
    gone,
    labelled,
    rows,
    with_one_more_word,
)

from softquery.files import LONGEST_LINE

PLAIN = "train esim --data data --output model"
COFFEE = "caf\u00e9\tb\tsame\n"
GRADED = "train esim-graded --data data --output model"
COLUMNS = "expected: sentence1, sentence2, label; other names are given with --columns"
FULL = frozenset({"disk"})
INTERRUPTED = frozenset({"interrupted"})

SETTINGS = [
    Case(
        title="an unknown recipe",
        command="train esmi --data data --output model",
        said=f"unknown recipe 'esmi'; did you mean 'esim'? (known: {ANY})",
    ),
    Case(
        title="`--set` of a setting that does not exist",
        command=f"{PLAIN} --set model.hiden_size=8",
        said="unknown setting 'model.hiden_size': there is no 'hiden_size'; "
        f"did you mean 'hidden_size'? (known: {ANY})",
    ),
    Case(
        title="`--set` of a whole group",
        command=f"{PLAIN} --set schedule=cosine",
        said="schedule is a group; set one of its fields: schedule.warmup_steps, "
        "schedule.warmup_share, schedule.decay, schedule.plateau_factor, schedule.plateau_patience",
    ),
    Case(
        title="`--set` without a value",
        command=f"{PLAIN} --set optim.lr",
        said="--set takes key=value, got 'optim.lr'",
    ),
    Case(
        title="`--set` of the wrong type",
        command=f"{PLAIN} --set training.max_epochs=many",
        said="training.max_epochs must be a whole number, got 'many'",
    ),
    Case(
        title="`--set` to infinity",
        command=f"{PLAIN} --set optim.lr=inf",
        said="optim.lr must be a finite number, got 'inf'",
    ),
    Case(
        title="`--set` to a number that overflows",
        command=f"{PLAIN} --set training.seed=99999999999999999999",
        said="training.seed must be below 9,007,199,254,740,992, got '99999999999999999999'",
    ),
    Case(
        title="`--set` outside of what a setting may be",
        command=f"{PLAIN} --set model.dropout=2",
        said="model.dropout: dropout must be in [0, 1), got 2.0",
    ),
    Case(
        title="`--set` to a word that is not one of the choices",
        command=f"{PLAIN} --set model.cell=transformer",
        said="model.cell must be one of lstm, gru, got 'transformer'",
    ),
    Case(
        title="a model that no memory can hold",
        command=f"{PLAIN} --set model.hidden_size=1000000000",
        said="esim cannot be built: its sizes need too much memory",
    ),
    Case(
        title="settings at which the run diverges",
        command=f"{PLAIN} --set optim.eps=0",
        said="the run diverged: the model's answers are no longer finite; "
        "lower optim.lr, or raise optim.eps or schedule.warmup_steps",
    ),
    Case(
        title="a negative seed",
        command=f"{PLAIN} --seed -1",
        said="training.seed: seed must be from 0 to 4,294,967,295, got -1",
    ),
    Case(
        title="`--devices 0`",
        command=f"{PLAIN} --devices 0",
        said=f"invalid value for '--devices': {ANY}; see softquery train --help",
    ),
    Case(
        title="no `--output`",
        command="train esim --data data",
        said="missing option '--output'; see softquery train --help",
    ),
    Case(
        title="an option that does not exist",
        command=f"{PLAIN} --epochs 3",
        said=f"no such option: --epochs{ANY}; see softquery train --help",
    ),
]

FOLDERS = [
    Case(
        title="a data folder that is not there",
        command="train esim --data none --output model",
        said="none: no such folder (No such file or directory)",
    ),
    Case(
        title="a file in place of the data folder",
        command="train esim --data data/train.tsv --output model",
        said="data/train.tsv: is a file, expected a folder",
    ),
    Case(
        title="a data folder without training rows",
        command=PLAIN,
        damage=gone("data/train.tsv"),
        said="data: no file for train, such as train.tsv or train.jsonl.gz; found: dev.tsv",
    ),
    Case(
        title="two files for one split",
        command=PLAIN,
        damage=file("data/train.csv", "sentence1,sentence2,label\n"),
        said="data: expected one file for train, found train.csv, train.tsv",
    ),
    Case(
        title="a data folder without dev",
        command=PLAIN,
        damage=gone("data/dev.tsv"),
        said="data: no file for dev, such as dev.tsv or dev.jsonl.gz; found: train.tsv",
    ),
    Case(
        title="a file without permission to read it",
        command=PLAIN,
        damage=closed("data/train.tsv"),
        needs=frozenset({"nobody"}),
        said="data/train.tsv: may not be read (no permission)",
    ),
]

COLUMN = [
    Case(
        title="no column of labels",
        command=PLAIN,
        damage=file("data/train.tsv", "sentence1\tsentence2\na man\tsomebody\n"),
        said='data/train.tsv, row 1: no column "label"; found: sentence1, sentence2; '
        f"{COLUMNS} label=NAME",
    ),
    Case(
        title="`--columns` with a column that the file has not",
        command=f"{PLAIN} --columns label=gold",
        said='data/train.tsv, row 1: no column "gold"; found: sentence1, sentence2, label; '
        "expected: sentence1, sentence2, gold; other names are given with --columns label=NAME",
    ),
    Case(
        title="`--columns` with a name that `train` does not know",
        command=f"{PLAIN} --columns lable=gold",
        said='--columns: no column is called "lable" (did you mean "label"?); '
        "known: sentence1, sentence2, label, probabilities",
    ),
    Case(
        title="`--columns` that cannot be read",
        command=f"{PLAIN} --columns sentence1",
        said=f"--columns: expected NAME=COLUMN,NAME=COLUMN,{ANY} such as sentence1=q1, "
        'found "sentence1"',
    ),
    Case(
        title="a row with too few columns",
        command=PLAIN,
        damage=rows("data/train.tsv", b"a man\tsame\n"),
        said="data/train.tsv, row 3: expected 3 columns (sentence1, sentence2, label), found 2",
    ),
    Case(
        title="an empty sentence",
        command=PLAIN,
        damage=rows("data/train.tsv", b"a man\t \tsame\n"),
        said="data/train.tsv, row 3: sentence2 is empty",
    ),
    Case(
        title="a label that the recipe does not know",
        command="train esim-snli --data data --output model",
        damage=labelled("data/train.tsv", *["neutral"] * 60, "same"),
        said="data/train.tsv, row 62: "
        "label 'same' is not one of entailment, neutral, contradiction",
    ),
    Case(
        title="probabilities that are no object of labels",
        command=PLAIN,
        damage=file(
            "data/train.tsv",
            "sentence1\tsentence2\tlabel\tprobabilities\n"
            + "".join(
                f"a man {place}\tsomebody\t{label}\t0.9\n"
                for place, label in enumerate(["same", "different"] * 40)
            ),
        ),
        said=f"data/train.tsv, row {ANY}: probabilities '0.9' are not an object "
        'such as {"different": 0.9, …}',
    ),
    Case(
        title="probabilities that do not sum to one",
        command=PLAIN,
        damage=file(
            "data/train.tsv",
            "sentence1\tsentence2\tlabel\tprobabilities\n"
            + "".join(
                f'a man {place}\tsomebody\t{label}\t{{"same": 0.4}}\n'
                for place, label in enumerate(["same", "different"] * 40)
            ),
        ),
        said=f"data/train.tsv, row {ANY}: probabilities '{{\"same\": 0.4}}' are not numbers "
        "from 0 to 1 that sum to 1",
    ),
    Case(
        title="a label in dev that no training row has",
        command=PLAIN,
        damage=labelled("data/dev.tsv", "same", "perhaps"),
        said="data/dev.tsv, row 3: label 'perhaps' is not one of different, same",
    ),
    Case(
        title="the same label everywhere",
        command=PLAIN,
        damage=labelled("data/train.tsv", *["same"] * 60),
        said="data/train.tsv: expected from 2 to 1,000 different labels, found 1 (same); "
        "grades need a graded recipe",
    ),
    Case(
        title="a grade outside of the scale",
        command=GRADED,
        damage=labelled("data/train.tsv", *map(str, range(60))),
        said="data/train.tsv, row 8: grade '6' is not a number from 0 to 5",
    ),
]

CONTENT = [
    Case(
        title="an empty file",
        command=PLAIN,
        damage=file("data/train.tsv", b""),
        said="data/train.tsv: is empty",
    ),
    Case(
        title="a header and no rows",
        command=PLAIN,
        damage=file("data/train.tsv", HEADER),
        said="data/train.tsv: holds no rows",
    ),
    Case(
        title="too few rows to hold some back",
        command=PLAIN,
        damage=file("data/train.tsv", HEADER + ROW),
        said="data: 1 row is too few to train on and to hold back 5% of them (data.tune_share)",
    ),
    Case(
        title="binary junk",
        command=PLAIN,
        damage=file("data/train.tsv", JUNK),
        said=f"data/train.tsv, row 1: not valid UTF-8 (byte {ANY}); save the file as UTF-8",
    ),
    Case(
        title="binary junk that is called .parquet",
        command=PLAIN,
        damage=both(gone("data/train.tsv"), file("data/train.parquet", JUNK)),
        said=f"data/train.parquet: not a readable Parquet file ({ANY})",
    ),
    Case(
        title="NUL bytes",
        command=PLAIN,
        damage=rows("data/train.tsv", b"a\0man\tsomebody\tsame\n"),
        said="data/train.tsv, row 3: holds a NUL byte (at column 2), expected text",
    ),
    Case(
        title="rows in another encoding",
        command=PLAIN,
        damage=rows(
            "data/train.tsv", "caf\u00e9 \u4e2d\tb\tsame\n".encode(), b"caf\xe9\tb\tsame\n"
        ),
        said="data/train.tsv, row 4: not valid UTF-8 (byte 0xe9 at column 4); "
        "save the file as UTF-8",
    ),
    Case(
        title="UTF-16",
        command=PLAIN,
        damage=file("data/train.tsv", (HEADER + ROW).decode().encode("utf-16")),
        said="data/train.tsv, row 1: is UTF-16 text; save the file as UTF-8",
    ),
    Case(
        title="a line of more than 1 MB",
        command=PLAIN,
        damage=rows("data/train.tsv", b"a" * (LONGEST_LINE + 1) + b"\tb\tsame\n"),
        said=f"data/train.tsv, row 3: the line is longer than {LONGEST_LINE:,} characters",
    ),
    Case(
        title="an .xz that breaks off",
        command=PLAIN,
        damage=both(gone("data/train.tsv"), file("data/train.tsv.xz", BROKEN_XZ)),
        said=f"data/train.tsv.xz, row {ANY}: the compressed file breaks off here (truncated); "
        "fetch or compress it again",
    ),
    Case(
        title="a name that says .gz over plain text",
        command=PLAIN,
        damage=both(gone("data/train.tsv"), file("data/train.tsv.gz", HEADER + ROW)),
        said="data/train.tsv.gz: does not hold gzip data, although its name says so",
    ),
    Case(
        title="gzip data that is called .tsv",
        command=PLAIN,
        damage=file("data/train.tsv", gzip.compress(HEADER + ROW)),
        said="data/train.tsv, row 1: holds gzip data; its name should end in .gz",
    ),
    Case(
        title="broken JSON",
        command=PLAIN,
        damage=both(gone("data/train.tsv"), file("data/train.jsonl", '{"sentence1": "a"\n')),
        said=f"data/train.jsonl, row 1: not valid JSON ({ANY})",
    ),
]

PLACES = [
    Case(
        title="an output that exists",
        command=PLAIN,
        damage=file("model/notes.txt", "mine"),
        said="model: already exists; name another --output",
        left="`model` as it was",
    ),
    Case(
        title="the current folder as output",
        command="train esim --data data --output .",
        said=".: already exists; name another --output",
    ),
    Case(
        title="an output below a file",
        command="train esim --data data --output test.tsv/model",
        said="test.tsv/model.partial: cannot be made (Not a directory)",
    ),
    Case(
        title="an interrupted run, without `--resume`",
        command=PLAIN,
        needs=INTERRUPTED,
        said="model.partial: holds an interrupted run; go on with --resume, or remove the folder",
        left="`model.partial` as it was",
    ),
    Case(
        title="`--resume` without an interrupted run",
        command=f"{PLAIN} --resume",
        said="model.partial: there is no interrupted run here to resume",
    ),
    Case(
        title="`--resume` where `model.partial` holds something else",
        command=f"{PLAIN} --resume",
        damage=file("model.partial/thesis.txt", "mine"),
        said="model.partial: there is no interrupted run here to resume",
        left="`model.partial` as it was",
    ),
    Case(
        title="`--resume` with another setting",
        command=f"{PLAIN} --resume --set optim.lr=0.5",
        needs=INTERRUPTED,
        said="model.partial/training/run.json: the interrupted run had optim.lr = 0.0004, now 0.5",
        left="`model.partial` as it was",
    ),
    Case(
        title="`--resume` with other data",
        command=f"{PLAIN} --resume",
        needs=INTERRUPTED,
        damage=rows("data/train.tsv"),
        said="model.partial/training/run.json: "
        "the training data has changed since the run was started",
        left="`model.partial` as it was",
    ),
    Case(
        title="`--resume` from a checkpoint that breaks off",
        command=f"{PLAIN} --resume",
        needs=INTERRUPTED,
        damage=cut("model.partial/checkpoint.safetensors"),
        said=f"model.partial/checkpoint.safetensors: not a readable checkpoint ({ANY})",
        left="`model.partial` as it was",
    ),
    Case(
        title="`--resume` with damaged notes of the run",
        command=f"{PLAIN} --resume",
        needs=INTERRUPTED,
        damage=cut("model.partial/training/run.json"),
        said=f"model.partial/training/run.json: is damaged ({ANY}); remove model.partial",
        left="`model.partial` as it was",
    ),
]

STARTS = [
    Case(
        title="`--init` with a name that no model has",
        command=f"{PLAIN} --init nli-xx",
        said=f"no model called 'nli-xx'; {ANY}shipped: {ANY}; local: none",
    ),
    Case(
        title="`--init` with a damaged bundle",
        command="train esim --data data --output new --init model",
        damage=cut("model/model.safetensors"),
        said=f"model/model.safetensors: damaged or not a safetensors file ({ANY})",
        needs=frozenset({"bundle"}),
    ),
    Case(
        title="`--init` with a bundle whose tokenizer is of another model",
        command="train esim --data data --output new --init model",
        damage=with_one_more_word,
        said=f"model/tokenizer.json: holds {ANY} entries, but config.json says {ANY}",
        needs=frozenset({"bundle"}),
    ),
    Case(
        title="`--vectors` that are not there",
        command=f"{PLAIN} --vectors glove.txt",
        said="glove.txt: no such file",
    ),
    Case(
        title="`--vectors` with a damaged row",
        command=f"{PLAIN} --vectors glove.txt",
        damage=file("glove.txt", "the 0.1 0.2\na 0.3 0.4\nman 0.5\n"),
        said='glove.txt, row 3: expected 2 numbers after a word, found 1 ("man 0.5")',
    ),
    Case(
        title="`--vectors` that hold no vectors",
        command=f"{PLAIN} --vectors data/train.tsv",
        said="data/train.tsv, row 1: expected word vectors: "
        "a word and its numbers, separated by spaces",
    ),
]

DISKS = [
    Case(
        title="a disk that is full before the first checkpoint",
        command="train esim --data data --output full/model",
        needs=FULL,
        said="full/model.partial/training/run.json: cannot be written (no space left on the disk)",
    ),
    Case(
        title="a disk that is full after a checkpoint",
        command="train esim --data data --output full/model --resume",
        needs=FULL | INTERRUPTED,
        said=f"full/model.partial{ANY}: cannot be written (no space left on the disk)",
        left="`model.partial` with its last whole checkpoint, for `--resume`",
        touched="full/model.partial",
    ),
    Case(
        title="answers that lead to a full disk",
        command=PLAIN,
        said="standard output: cannot be written (no space left on the disk)",
        answers="/dev/full",
        left="`model`, complete",
        touched="model",
    ),
]

TRAIN = [*SETTINGS, *FOLDERS, *COLUMN, *CONTENT, *PLACES, *STARTS, *DISKS]
