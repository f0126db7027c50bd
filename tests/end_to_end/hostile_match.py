"""Bad input for `softquery match`, `rank` and `export`; the first two ask an exported model."""

import os
from pathlib import Path

import numpy as np
from hostile_cases import (
    ANY,
    BROKEN_XZ,
    HEADER,
    JUNK,
    ROW,
    Case,
    changed,
    cut,
    file,
    gone,
    labelled,
    rows,
    with_one_more_word,
)
from safetensors.numpy import load_file, save_file

ONE = "match 'a man eats' 'somebody eats' --model model"
BULK = "match --pairs test.tsv --output out.jsonl --model model"
RANKED = "rank 'a man eats' --candidates docs.txt --model model"
PLAIN = "export model --output out"
INT8 = f"{PLAIN} --int8 --data test.tsv"
DOCS = file("docs.txt", "a man eats\nsomebody sleeps\n")


def both(*damages):
    return lambda place: [damage(place) for damage in damages]


def spoilt(place: Path) -> None:
    """Weights as a run that diverged would leave them."""
    path = place / "model" / "model.safetensors"
    weights = load_file(path)
    weights["classifier.1.bias"] = np.full_like(weights["classifier.1.bias"], np.nan)
    save_file(weights, path)


def linked(place: Path) -> None:
    """A graph that lies somewhere else."""
    graph = place / "model" / "onnx" / "encode.onnx"
    graph.rename(place / "encode.onnx")
    os.symlink(place / "encode.onnx", graph)


MATCH = [
    Case(
        title="one sentence",
        command="match 'a man eats' --model model",
        said="give two sentences, each in quotes",
    ),
    Case(
        title="nothing to match", command="match", said="give either two sentences, or --pairs FILE"
    ),
    Case(
        title="sentences and a file",
        command=f"{ONE} --pairs test.tsv",
        said="give either two sentences, or --pairs FILE",
    ),
    Case(
        title="three sentences",
        command="match a b c --model model",
        said=f"got unexpected extra argument{ANY} (c); see softquery match --help",
    ),
    Case(
        title="an empty sentence",
        command="match 'a man eats' ' ' --model model",
        said="sentence2 is empty",
    ),
    Case(
        title="`--output` for one pair",
        command=f"{ONE} --output out.jsonl",
        said="--output is for --pairs FILE; one pair is printed",
    ),
    Case(
        title="`--explain` for many pairs",
        command=f"{BULK} --explain why.html",
        said="--explain shows one pair; give two sentences",
    ),
    Case(
        title="`--explain` in a folder that is not there, told before the model is opened",
        command="match a b --model nli-xx --explain none/why.html",
        said="none/why.html: cannot be written (no such folder)",
    ),
    Case(
        title="a model that does not exist",
        command="match a b --model nli-xx",
        said=f"no model called 'nli-xx'; {ANY}shipped: {ANY}; local: none",
    ),
    Case(
        title="an unknown backend",
        command=f"{ONE} --backend tensorrt",
        said="backend must be 'auto', 'onnx' or 'torch', got 'tensorrt'",
    ),
    Case(
        title="`--threads 0`",
        command=f"{ONE} --threads 0",
        said=f"invalid value for '--threads': {ANY}; see softquery match --help",
    ),
    Case(
        title="a graph that is missing",
        command=ONE,
        damage=gone("model/onnx/compare.onnx"),
        said="model/onnx/compare.onnx: cannot be read (No such file or directory)",
    ),
    Case(
        title="a graph that breaks off",
        command=ONE,
        damage=cut("model/onnx/encode.onnx"),
        said=f"model/onnx/encode.onnx: cannot be run ({ANY})",
    ),
    Case(
        title="a graph that is a link out of the folder",
        command=ONE,
        damage=linked,
        said="model/onnx/encode.onnx: is a link that leads out of the model folder",
    ),
    Case(
        title="a list of weights that is missing",
        command=ONE,
        damage=gone("model/onnx/weights.json"),
        said="model/onnx/weights.json: cannot be read (No such file or directory)",
    ),
    Case(
        title="a list of weights that names a file",
        command=ONE,
        damage=changed("model/onnx/weights.json", "encode", to=["/etc/passwd"]),
        said="model/onnx/weights.json: encode takes '/etc/passwd', which the bundle lacks",
    ),
    Case(
        title="weights that are not finite",
        command=ONE,
        damage=spoilt,
        said="model/model.safetensors: classifier.1.bias holds a number that is not finite",
    ),
    Case(
        title="a tokenizer of another model",
        command=ONE,
        damage=with_one_more_word,
        said=f"model/tokenizer.json: holds {ANY} entries, but config.json says {ANY}",
    ),
    Case(
        title="a file of pairs that is not there",
        command="match --pairs none.tsv --output out.jsonl --model model",
        said="none.tsv: no such file",
    ),
    Case(
        title="a file of another kind",
        command="match --pairs data --model model",
        said="data: is a folder, expected a file",
    ),
    Case(
        title="no second sentence in the file",
        command=BULK,
        damage=file("test.tsv", "sentence1\tlabel\na\tb\n"),
        said='test.tsv, row 1: no column "sentence2" (did you mean "sentence1"?); '
        "found: sentence1, label; expected: sentence1, sentence2; "
        "other names are given with --columns sentence2=NAME",
    ),
    Case(
        title="a row with a column too few",
        command=BULK,
        damage=rows("test.tsv", b"only one\n"),
        said="test.tsv, row 3: expected 3 columns (sentence1, sentence2, label), found 1",
    ),
    Case(
        title="a row with an empty sentence",
        command=BULK,
        damage=rows("test.tsv", b"a\t \tsame\n"),
        said="test.tsv, row 3: sentence2 is empty",
    ),
    Case(
        title="a row in another encoding, printed",
        command="match --pairs test.tsv --model model",
        damage=rows("test.tsv", b"caf\xe9\tb\tsame\n"),
        said="test.tsv, row 3: not valid UTF-8 (byte 0xe9 at column 4); save the file as UTF-8",
    ),
    Case(
        title="an archive that breaks off",
        command="match --pairs test.tsv.xz --output out/o.jsonl --model model --on-error skip",
        damage=both(file("test.tsv.xz", BROKEN_XZ), file("out/other.txt", "mine\n")),
        left="`out/o.jsonl.partial`, to go on from",
        touched="out",
        said=f"test.tsv.xz, row {ANY}: the compressed file breaks off here (truncated); "
        "fetch or compress it again",
    ),
    Case(
        title="noise in place of a table",
        command=BULK,
        damage=file("test.tsv", JUNK),
        said=f"test.tsv, row 1: {ANY}",
    ),
    Case(
        title="answers in another form",
        command="match --pairs test.tsv --output out.csv --model model",
        said="out.csv: answers are written as .jsonl; name the output so",
    ),
    Case(
        title="answers that are there already",
        command=BULK,
        damage=file("out.jsonl", "mine\n"),
        said="out.jsonl: already exists; name another --output, or remove it",
        left="the file as it was",
    ),
    Case(
        title="answers in a folder that is not there",
        command="match --pairs test.tsv --output no/out.jsonl --model model",
        said="no/out.jsonl: cannot be written (no such folder)",
    ),
    Case(
        title="an interrupted run of another model",
        command=BULK,
        damage=both(
            file("out.jsonl.partial", '{"sentence1": "a"}\n'), file("out.jsonl.partial.json", "{}")
        ),
        said="out.jsonl.partial: was written with another model or backend; "
        "remove it to start over",
        left="the files as they were",
    ),
    Case(
        title="`--on-error` that is neither",
        command=f"{BULK} --on-error ignore",
        said="--on-error must be stop or skip, got 'ignore'",
    ),
    Case(
        title="answers that lead to a full disk",
        command="match --pairs test.tsv --model model",
        said="standard output: cannot be written (no space left on the disk)",
        answers="/dev/full",
    ),
    Case(
        title="a file of answers on a full disk",
        command="match --pairs test.tsv --output full/out.jsonl --model model",
        needs=frozenset({"disk"}),
        said="full/out.jsonl.partial.json: cannot be written (no space left on the disk)",
    ),
]

RANK = [
    Case(
        title="no candidates",
        command="rank 'a man eats' --model model",
        said="missing option '--candidates'; see softquery rank --help",
    ),
    Case(
        title="no query",
        command="rank --candidates docs.txt --model model",
        said=f"missing argument {ANY}; see softquery rank --help",
    ),
    Case(
        title="an empty query",
        command="rank '' --candidates docs.txt --model model",
        damage=DOCS,
        said="query is empty",
    ),
    Case(
        title="a file of candidates that is not there",
        command=RANKED,
        said="docs.txt: no such file",
    ),
    Case(
        title="an empty file",
        command=RANKED,
        damage=file("docs.txt", ""),
        said="docs.txt: is empty",
    ),
    Case(
        title="a table with a header alone",
        command="rank a --candidates docs.tsv --model model",
        damage=file("docs.tsv", "text\n"),
        said="docs.tsv: holds no candidates",
    ),
    Case(
        title="a blank candidate",
        command=RANKED,
        damage=file("docs.txt", "a man\n\nsomebody\n"),
        said="docs.txt, row 2: text is empty",
    ),
    Case(
        title="candidates in another encoding",
        command=RANKED,
        damage=file("docs.txt", b"a man\ncaf\xe9\n"),
        said="docs.txt, row 2: not valid UTF-8 (byte 0xe9 at column 4); save the file as UTF-8",
    ),
    Case(
        title="a NUL byte",
        command=RANKED,
        damage=file("docs.txt", b"a\0man\n"),
        said="docs.txt, row 1: holds a NUL byte (at column 2), expected text",
    ),
    Case(
        title="a table without a column `text`",
        command="rank a --candidates test.tsv --model model",
        said='test.tsv, row 1: no column "text"; found: sentence1, sentence2, label; '
        "expected: text; other names are given with --columns text=NAME",
    ),
    Case(
        title="`--columns` for a column that nobody needs",
        command="rank a --candidates test.tsv --columns query=sentence1 --model model",
        said='--columns: no column is called "query"; known: text',
    ),
    Case(
        title="a label that the model lacks",
        command=f"{RANKED} --label maybe",
        damage=DOCS,
        said="--label: label 'maybe' is not one of different, same",
    ),
    Case(
        title="`--top-k 0`",
        command=f"{RANKED} --top-k 0",
        damage=DOCS,
        said=f"invalid value for '--top-k' / '--top': {ANY}; see softquery rank --help",
    ),
    Case(
        title="a model that is a file",
        command="rank a --candidates docs.txt --model test.tsv",
        damage=DOCS,
        said="test.tsv: is a file, but a model is a folder",
    ),
    Case(
        title="a model whose graphs are gone, on ONNX Runtime",
        command=f"{RANKED} --backend onnx",
        damage=both(DOCS, lambda place: (place / "model" / "onnx").rename(place / "elsewhere")),
        said=f"model: not exported yet; run {ANY} on it",
    ),
    Case(
        title="answers that lead to a full disk",
        command=f"{RANKED} --json",
        damage=DOCS,
        said="standard output: cannot be written (no space left on the disk)",
        answers="/dev/full",
    ),
]

EXPORT = [
    Case(
        title="a model that does not exist",
        command="export nli-xx",
        said=f"no model called 'nli-xx'; {ANY}shipped: {ANY}; local: none",
    ),
    Case(
        title="a folder that is no model",
        command="export data",
        said="data: incomplete model folder, config.json and tokenizer.json and "
        "model.safetensors and metrics.json and README.md missing",
    ),
    Case(
        title="an output that is there already",
        command="export model --output data",
        said="data: already exists; name another --output",
    ),
    Case(
        title="`--int8` without rows",
        command=f"{PLAIN} --int8",
        said="int8 needs labelled rows for its gate; name a file with --data",
    ),
    Case(
        title="a gate that is no number of points",
        command=f"{INT8} --gate inf",
        said="the gate must be a finite number of points, got inf",
    ),
    Case(
        title="a negative gate",
        command=f"{INT8} --gate -1",
        said=f"invalid value for '--gate': {ANY}; see softquery export --help",
    ),
    Case(
        title="rows without labels",
        command=INT8,
        damage=file("test.tsv", "sentence1\tsentence2\na\tb\n"),
        said='test.tsv, row 1: no column "label"; found: sentence1, sentence2; '
        "expected: sentence1, sentence2, label; other names are given with --columns label=NAME",
    ),
    Case(
        title="a label that the model lacks",
        command=INT8,
        damage=labelled("test.tsv", "same", "maybe"),
        said="test.tsv, row 3: label 'maybe' is not one of different, same",
    ),
    Case(
        title="a file without rows",
        command=INT8,
        damage=file("test.tsv", HEADER),
        said="int8 needs labelled rows for its gate; name a file with --data",
    ),
    Case(
        title="a file that is not there",
        command=f"{PLAIN} --int8 --data none.tsv",
        said="none.tsv: no such file",
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
        title="weights of other sizes",
        command=PLAIN,
        damage=changed("model/config.json", "model", "config", "hidden_size", to=9),
        said=f"model/model.safetensors: does not fit config.json: {ANY}",
    ),
    Case(
        title="an unknown model",
        command=PLAIN,
        damage=changed("model/config.json", "model", "name", to="bert"),
        said=f"model: 'bert' cannot be exported (known: {ANY})",
    ),
    Case(
        title="a tokenizer of another model",
        command=PLAIN,
        damage=with_one_more_word,
        said=f"model/tokenizer.json: holds {ANY} entries, but config.json says {ANY}",
    ),
    Case(
        title="a bundle of another kind",
        command=PLAIN,
        damage=changed("model/config.json", "kind", to="oracle"),
        said=f"model: a bundle of kind 'oracle' cannot be opened (known: {ANY})",
    ),
    Case(
        title="an embedder that is none",
        command=PLAIN,
        damage=changed("model/config.json", "kind", to="embedder"),
        said="model: expected word vectors in context (elmo), found 'esim'",
    ),
    Case(
        title="`--drop-softmax` for a matcher",
        command=f"{PLAIN} --drop-softmax",
        said="--drop-softmax is for embedders, which are pretrained with one",
    ),
    Case(
        title="a row with a column too few",
        command=INT8,
        damage=file("test.tsv", HEADER + ROW + b"a\tb\n"),
        said="test.tsv, row 3: expected 3 columns (sentence1, sentence2, label), found 2",
    ),
    Case(
        title="a full disk",
        command="export model --output full/out",
        needs=frozenset({"disk"}),
        said="full/out: cannot be written (no space left on the disk)",
    ),
]
