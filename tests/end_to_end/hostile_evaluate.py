"""Bad input for `softquery evaluate`."""

from pathlib import Path

import numpy as np
from hostile_cases import (
    ANY,
    BROKEN_XZ,
    HEADER,
    JUNK,
    Case,
    changed,
    cut,
    file,
    labelled,
    rows,
    with_one_more_word,
)
from safetensors.numpy import load_file, save_file

from softquery.files import LONGEST_LINE

PLAIN = "evaluate model --data test.tsv"
MISTAKES = f"{PLAIN} --errors"
EATING = "\u5403\u996d\tb\tsame\n"


def spoilt(place: Path) -> None:
    """Weights as a run that diverged would leave them."""
    path = place / "model" / "model.safetensors"
    weights = load_file(path)
    weights["classifier.1.bias"] = np.full_like(weights["classifier.1.bias"], np.nan)
    save_file(weights, path)


MODELS = [
    Case(
        title="a model that does not exist",
        command="evaluate nli-xx --data test.tsv",
        said=f"no model called 'nli-xx'; {ANY}shipped: {ANY}; local: none",
    ),
    Case(
        title="a model folder that does not exist",
        command="evaluate models/none --data test.tsv",
        said="models/none: no such model folder",
    ),
    Case(
        title="a folder that is no model",
        command="evaluate data --data test.tsv",
        said="data: incomplete model folder, config.json and tokenizer.json and "
        "model.safetensors and metrics.json and README.md missing",
    ),
    Case(
        title="weights that break off",
        command=PLAIN,
        damage=cut("model/model.safetensors"),
        said=f"model/model.safetensors: damaged or not a safetensors file ({ANY})",
    ),
    Case(
        title="weights that are not finite",
        command=PLAIN,
        damage=spoilt,
        said="model/model.safetensors: classifier.1.bias holds a number that is not finite",
    ),
    Case(
        title="weights of another size than the model's",
        command=PLAIN,
        damage=changed("model/config.json", "model", "config", "hidden_size", to=9),
        said=f"model/model.safetensors: does not fit config.json: {ANY}",
    ),
    Case(
        title="a setting that the model lacks",
        command=PLAIN,
        damage=changed("model/config.json", "model", "config", "heads", to=8),
        said="model/config.json: esim has no setting 'heads'",
    ),
    Case(
        title="an architecture that this softquery does not know",
        command=PLAIN,
        damage=changed("model/config.json", "model", "name", to="esim3"),
        said=f"model/config.json: unknown model 'esim3' (known: {ANY})",
    ),
    Case(
        title="more labels than the model has outputs",
        command=PLAIN,
        damage=changed("model/config.json", "task", "labels", to=["a", "b", "c"]),
        said="model/config.json: the model has 2 outputs, but its task needs 3",
    ),
    Case(
        title="a task without labels",
        command=PLAIN,
        damage=changed("model/config.json", "task", to={"name": "match"}),
        said="model/config.json: task.labels must be two or more different names, got None",
    ),
    Case(
        title="a tokenizer that is none",
        command=PLAIN,
        damage=file("model/tokenizer.json", "{}"),
        said=f"model/tokenizer.json: damaged or not a tokenizer ({ANY})",
    ),
    Case(
        title="a tokenizer of another model",
        command=PLAIN,
        damage=with_one_more_word,
        said=f"model/tokenizer.json: holds {ANY} entries, but config.json says {ANY}",
    ),
    Case(
        title="a text setting that does not exist",
        command=PLAIN,
        damage=changed("model/config.json", "text", "lower_case", to=True),
        said="model/config.json: unknown text setting 'lower_case'; did you mean 'lowercase'?",
    ),
    Case(
        title="a bundle of a kind that cannot be measured",
        command=PLAIN,
        damage=changed("model/config.json", "kind", to="clock"),
        said=f"model: a bundle of kind 'clock' cannot be opened (known: {ANY})",
    ),
    Case(
        title="a biLM without a softmax",
        command=PLAIN,
        damage=changed("model/config.json", "kind", to="embedder"),
        said="model: has no softmax to predict words with; use softquery embed",
    ),
    Case(
        title="word vectors",
        command=PLAIN,
        damage=changed("model/config.json", "kind", to="vectors"),
        said="model: holds word vectors; see softquery vectors similarity, analogy",
    ),
]

DATA = [
    Case(
        title="data that is not there",
        command="evaluate model --data none.tsv",
        said="none.tsv: no such file",
    ),
    Case(
        title="a folder in place of the data",
        command="evaluate model --data data",
        said="data: is a folder, expected a file",
    ),
    Case(
        title="a kind of file that is not known",
        command="evaluate model --data test.docx",
        damage=file("test.docx", b"PK\x03\x04"),
        said="test.docx: unknown kind of file; expected a name ending in "
        ".tsv, .csv, .jsonl, .parquet, .txt, each plain or .gz, .xz, .bz2",
    ),
    Case(
        title="no column of labels",
        command=PLAIN,
        damage=file("test.tsv", "sentence1\tsentence2\na man\tsomebody\n"),
        said='test.tsv, row 1: no column "label"; found: sentence1, sentence2; '
        "expected: sentence1, sentence2, label; other names are given with --columns label=NAME",
    ),
    Case(
        title="`--columns` with a column that the file lacks",
        command=f"{PLAIN} --columns sentence1=q1",
        said='test.tsv, row 1: no column "q1"; found: sentence1, sentence2, label; '
        "expected: q1, sentence2, label; other names are given with --columns sentence1=NAME",
    ),
    Case(
        title="a row with too many columns",
        command=PLAIN,
        damage=rows("test.tsv", b"a man\tsomebody\tsame\tsure\n"),
        said="test.tsv, row 3: expected 3 columns (sentence1, sentence2, label), found 4",
    ),
    Case(
        title="a label that the model does not know",
        command=PLAIN,
        damage=labelled("test.tsv", "same", "entailment"),
        said="test.tsv, row 3: label 'entailment' is not one of different, same",
    ),
    Case(
        title="an empty sentence",
        command=PLAIN,
        damage=rows("test.tsv", b"\tsomebody\tsame\n"),
        said="test.tsv, row 3: sentence1 is empty",
    ),
    Case(
        title="an empty file",
        command=PLAIN,
        damage=file("test.tsv", b""),
        said="test.tsv: is empty",
    ),
    Case(
        title="a header and no rows",
        command=PLAIN,
        damage=file("test.tsv", HEADER),
        said="test.tsv: holds no rows",
    ),
    Case(
        title="binary junk",
        command=PLAIN,
        damage=file("test.tsv", JUNK),
        said=f"test.tsv, row 1: not valid UTF-8 (byte {ANY}); save the file as UTF-8",
    ),
    Case(
        title="NUL bytes",
        command=PLAIN,
        damage=rows("test.tsv", b"a\0man\tsomebody\tsame\n"),
        said="test.tsv, row 3: holds a NUL byte (at column 2), expected text",
    ),
    Case(
        title="rows in another encoding",
        command=PLAIN,
        damage=rows("test.tsv", EATING.encode(), EATING.encode("gb18030")),
        said="test.tsv, row 4: not valid UTF-8 (byte 0xb3 at column 1); save the file as UTF-8",
    ),
    Case(
        title="a line of more than 1 MB",
        command=PLAIN,
        damage=rows("test.tsv", b"a" * (LONGEST_LINE + 1) + b"\tb\tsame\n"),
        said=f"test.tsv, row 3: the line is longer than {LONGEST_LINE:,} characters",
    ),
    Case(
        title="an .xz that breaks off",
        command="evaluate model --data test.tsv.xz",
        damage=file("test.tsv.xz", BROKEN_XZ),
        said=f"test.tsv.xz, row {ANY}: the compressed file breaks off here (truncated); "
        "fetch or compress it again",
    ),
    Case(
        title="broken JSON",
        command="evaluate model --data test.jsonl",
        damage=file("test.jsonl", '{"sentence1": "a"\n'),
        said=f"test.jsonl, row 1: not valid JSON ({ANY})",
    ),
]

OPTIONS = [
    Case(
        title="`--slice` by a column that the file lacks",
        command=f"{PLAIN} --slice genre",
        said="test.tsv: cannot slice by 'genre'; "
        "expected one of length, sentence1, sentence2, label",
    ),
    Case(
        title="`--errors` into a folder that is not there",
        command=f"{MISTAKES} none/mistakes.tsv",
        said="none/mistakes.tsv: cannot be written (no such folder)",
    ),
    Case(
        title="`--errors` with an unknown ending",
        command=f"{MISTAKES} mistakes.xlsx",
        said="mistakes.xlsx: mistakes are written as one of .tsv, .csv, .jsonl",
    ),
    Case(
        title="`--errors` over the data itself",
        command=f"{MISTAKES} data/../test.tsv",
        said="data/../test.tsv: is the data itself; name another file for the mistakes",
        left="`test.tsv` as it was",
    ),
    Case(
        title="`--errors` where a folder is",
        command=f"{MISTAKES} old.tsv",
        damage=file("old.tsv/inside.txt", "mine"),
        said="old.tsv: cannot be written (is a folder)",
        left="`old.tsv` as it was",
    ),
    Case(
        title="`--errors` onto a full disk",
        command=f"{MISTAKES} full/mistakes.tsv",
        needs=frozenset({"disk"}),
        said="full/mistakes.tsv: cannot be written (no space left on the disk)",
    ),
    Case(
        title="answers that lead to a full disk",
        command=f"{PLAIN} --json",
        said="standard output: cannot be written (no space left on the disk)",
        answers="/dev/full",
    ),
    Case(
        title="no `--data`",
        command="evaluate model",
        said="missing option '--data'; see softquery evaluate --help",
    ),
    Case(
        title="an option that does not exist",
        command=f"{PLAIN} --metric f1",
        said=f"no such option: --metric{ANY}; see softquery evaluate --help",
    ),
]

EVALUATE = [*MODELS, *DATA, *OPTIONS]
