"""Bad input for `softquery train tagger`, `evaluate` of a tagger, and `softquery tag`.

The data lies in `tagged/`, in three columns, and a small tagger in `tagger/`.
"""

import json
from pathlib import Path

import numpy as np
from hostile_cases import ANY, BROKEN_XZ, Case, Damage, both, changed, cut, file, gone
from safetensors.numpy import load_file, save_file

from softquery.files import LONGEST_LINE

PLAIN = "train tagger --data tagged --output new"
TAGGER = frozenset({"tagger"})
EXPORTED = frozenset({"exported tagger"})
TRAIN_FILE = "tagged/train.txt"


def before(content: str) -> Damage:
    """Sentences before all others of the training file."""

    def damage(place: Path) -> None:
        path = place / TRAIN_FILE
        path.write_bytes(content.encode() + b"\n" + path.read_bytes())

    return damage


def behind(content: bytes | str) -> Damage:
    """Something behind the last sentence of the training file."""

    def damage(place: Path) -> None:
        more = content if isinstance(content, bytes) else content.encode()
        path = place / TRAIN_FILE
        path.write_bytes(path.read_bytes() + b"\n" + more)

    return damage


def lines(*records: object) -> Damage:
    """JSONL in place of the columns."""
    content = "".join(json.dumps(record) + "\n" for record in records)
    return both(gone(TRAIN_FILE), file("tagged/train.jsonl", content))


TRAIN_TAGGER = [
    Case(
        title="a data folder that is not there",
        command="train tagger --data none --output new",
        said="none: no such folder (No such file or directory)",
    ),
    Case(
        title="a data folder of other files",
        command="train tagger --data others --output new",
        damage=file("others/train.csv", "Ada,I-PER\n"),
        said="others: no file for train, such as train.txt or train.jsonl.gz; found: train.csv",
    ),
    Case(
        title="a tag outside of the set, in dev",
        command=PLAIN,
        damage=file("tagged/dev.txt", "Ada x I-ORG\nreads x O\n"),
        said="tagged/dev.txt, row 1: tag 'I-ORG' is not one of LOC, PER",
    ),
    Case(
        title="tags of several schemes",
        command=PLAIN,
        damage=behind("Bo x B-PER\nreads x O\n\n" * 20),
        said=f"tagged/train.txt, row {ANY}: tags of several schemes: 'B-PER' stands where iob1 has "
        "'I-PER'; to read them all the same, name one with --set tags.given=iob1",
    ),
    Case(
        title="the same tag everywhere",
        command=f"{PLAIN} --set tags.given=plain",
        damage=file(TRAIN_FILE, "".join(f"{n} x O\n\n" for n in range(60))),
        said="tagged/train.txt: labels must be two or more different tags, got ('O',)",
    ),
    Case(
        title="an empty file",
        command=PLAIN,
        damage=file(TRAIN_FILE, ""),
        said="tagged/train.txt: is empty",
    ),
    Case(
        title="a file of blank lines",
        command=PLAIN,
        damage=file(TRAIN_FILE, "\n\n\n"),
        said="tagged/train.txt: holds no sentences",
    ),
    Case(
        title="a column that the file has not",
        command=f"{PLAIN} --columns tags=ner",
        said='tagged/train.txt, row 1: no column "ner" for tags; a row has 3 (word, pos, chunk); '
        "name one with --columns tags=PLACE, counted from 1",
    ),
    Case(
        title="a column beyond the last one",
        command=f"{PLAIN} --columns tags=7",
        said='tagged/train.txt, row 1: no column "7" for tags; a row has 3 (word, pos, chunk); '
        "name one with --columns tags=PLACE, counted from 1",
    ),
    Case(
        title="a file of one column",
        command=PLAIN,
        damage=file(TRAIN_FILE, "Ada\nreads\n\nBo\n"),
        said="tagged/train.txt, row 1: expected one column each for tokens and tags, "
        "found 1 in all",
    ),
    Case(
        title="one column for words and tags",
        command=f"{PLAIN} --columns tokens=3",
        said="tagged/train.txt, row 1: tokens and tags cannot both be column 3",
    ),
    Case(
        title="`--columns` with a name that a tagger does not know",
        command=f"{PLAIN} --columns label=3",
        said='--columns: no column is called "label"; known: tokens, tags',
    ),
    Case(
        title="a row with a column too few",
        command=PLAIN,
        damage=behind("Ada I-PER\n"),
        said=f"tagged/train.txt, row {ANY}: expected 3 columns, found 2",
    ),
    Case(
        title="CoNLL-U without its ten columns",
        command=PLAIN,
        damage=both(gone(TRAIN_FILE), file("tagged/train.conllu", "1\tAda\t_\tPROPN\n")),
        said="tagged/train.conllu, row 1: expected 10 columns, found 4",
    ),
    Case(
        title="CoNLL-U without numbers of words",
        command=PLAIN,
        damage=both(
            gone(TRAIN_FILE), file("tagged/train.conllu", f"Ada\tx{2 * chr(9)}PROPN{6 * chr(9)}\n")
        ),
        said="tagged/train.conllu, row 1: expected the number of a word, found 'Ada'",
    ),
    Case(
        title="a file that ends inside a character",
        command=PLAIN,
        damage=behind("caf\u00e9".encode()[:-1]),
        said=f"tagged/train.txt, row {ANY}: not valid UTF-8 (byte 0xc3 at column 4); "
        "save the file as UTF-8",
    ),
    Case(
        title="NUL bytes",
        command=PLAIN,
        damage=before("A\0da x I-PER\n"),
        said="tagged/train.txt, row 1: holds a NUL byte (at column 2), expected text",
    ),
    Case(
        title="a line of more than 1 MB",
        command=PLAIN,
        damage=before("a" * (LONGEST_LINE + 1) + " x O\n"),
        said=f"tagged/train.txt, row 1: the line is longer than {LONGEST_LINE:,} characters",
    ),
    Case(
        title="an .xz that breaks off",
        command=PLAIN,
        damage=both(gone(TRAIN_FILE), file("tagged/train.txt.xz", BROKEN_XZ)),
        said=f"tagged/train.txt.xz, row {ANY}: the compressed file breaks off here (truncated); "
        "fetch or compress it again",
    ),
    Case(
        title="JSONL with more tokens than tags",
        command=PLAIN,
        damage=lines({"tokens": ["a", "b"], "tags": ["O"]}),
        said="tagged/train.jsonl, row 1: expected as many tags as tokens, "
        "found 2 tokens and 1 tags",
    ),
    Case(
        title="JSONL without tags",
        command=PLAIN,
        damage=lines({"tokens": ["a", "b"]}),
        said='tagged/train.jsonl, row 1: no "tags"; found: tokens',
    ),
    Case(
        title="JSONL with a token that is no text",
        command=PLAIN,
        damage=lines({"tokens": ["a", 3], "tags": ["O", "O"]}),
        said="tagged/train.jsonl, row 1: tokens must be a list of strings",
    ),
    Case(
        title="JSONL with an empty token",
        command=PLAIN,
        damage=lines({"tokens": ["a", ""], "tags": ["O", "O"]}),
        said="tagged/train.jsonl, row 1: tokens holds an empty string (number 2)",
    ),
    Case(
        title="a scheme that is none",
        command=f"{PLAIN} --set tags.learnt=bio",
        said="tags.learnt must be one of iob1, iob2, bioes, bmes, got 'bio'",
    ),
    Case(
        title="sub-words in place of words",
        command=f"{PLAIN} --set text.unit=bpe",
        said="vocabulary: a list of words cannot make a vocabulary for unit 'bpe'",
    ),
    Case(
        title="filters wider than a word's characters",
        command=f"{PLAIN} --set model.spelling.width=40",
        said="model.spelling.width: max_characters (32) must hold two marks, a character, "
        "and the width (40)",
    ),
    Case(
        title="settings at which the run diverges",
        command=f"{PLAIN} --set optim.lr=1e15",
        said="the run diverged: the model's answers are no longer finite; "
        "lower optim.lr, or raise optim.eps or schedule.warmup_steps",
    ),
    Case(
        title="ELMo without a biLM",
        command="train tagger-elmo --data tagged --output new",
        said="tagger-elmo needs a biLM; name its bundle with --set elmo.bundle=DIR",
    ),
    Case(
        title="a tagger in place of a biLM",
        command="train tagger-elmo --data tagged --output new --set elmo.bundle=tagger",
        needs=TAGGER,
        said="tagger: expected an elmo, found 'tagger'",
    ),
    Case(
        title="an output that exists",
        command=PLAIN,
        damage=file("new/notes.txt", "mine"),
        said="new: already exists; name another --output",
        left="`new` as it was",
    ),
]

GOLD = "Ada x I-PER\nreads x O\n\n"
EVALUATED = "evaluate tagger --data test.conll"

EVALUATE_TAGGER = [
    Case(
        title="a tag that the model does not know",
        command=EVALUATED,
        needs=TAGGER,
        damage=file("test.conll", f"{GOLD}Ada x I-ORG\n"),
        said="test.conll, row 4: tag 'I-ORG' is not one of LOC, PER",
    ),
    Case(
        title="parts of speech for a tagger of names",
        command=EVALUATED,
        needs=TAGGER,
        damage=file("test.conll", "Ada x PROPN\nreads x VERB\n"),
        said="test.conll, row 1: 'PROPN' is not a tag of iob2",
    ),
    Case(
        title="tags of several schemes",
        command=EVALUATED,
        needs=TAGGER,
        damage=file("test.conll", GOLD * 9 + "Bo x B-PER\n\n" * 5),
        said="test.conll, row 28: tags of several schemes: 'B-PER' stands where iob1 has 'I-PER'; "
        "write all in iob1 first",
    ),
    Case(
        title="data that is not there",
        command="evaluate tagger --data none.conll",
        needs=TAGGER,
        said="none.conll: no such file",
    ),
    Case(
        title="an empty file",
        command=EVALUATED,
        needs=TAGGER,
        damage=file("test.conll", ""),
        said="test.conll: is empty",
    ),
    Case(
        title="a file of blank lines",
        command=EVALUATED,
        needs=TAGGER,
        damage=file("test.conll", "\n\n"),
        said="test.conll: holds no sentences",
    ),
    Case(
        title="a kind of file that is not known",
        command="evaluate tagger --data test.csv",
        needs=TAGGER,
        damage=file("test.csv", GOLD),
        said="test.csv: unknown kind of file; expected a name ending in .txt, .conll, .conllu, "
        ".conllup, .bio, .iob, .bmes, .tsv, .jsonl, plain or compressed",
    ),
    Case(
        title="a column that the file has not",
        command=f"{EVALUATED} --columns tags=ner",
        needs=TAGGER,
        damage=file("test.conll", GOLD),
        said='test.conll, row 1: no column "ner" for tags; a row has 3 (word, pos, chunk); '
        "name one with --columns tags=PLACE, counted from 1",
    ),
    Case(
        title="a row with a column too few",
        command=EVALUATED,
        needs=TAGGER,
        damage=file("test.conll", f"{GOLD}Bo I-PER\n"),
        said="test.conll, row 4: expected 3 columns, found 2",
    ),
    Case(
        title="`--order`, which is for pairs",
        command=f"{EVALUATED} --order",
        needs=TAGGER,
        damage=file("test.conll", GOLD),
        said="--order compares pairs; a tagger reads one text",
    ),
    Case(
        title="`--slice` by label",
        command=f"{EVALUATED} --slice label",
        needs=TAGGER,
        damage=file("test.conll", GOLD),
        said="test.conll: cannot slice by 'label'; expected length "
        "(the report is by label already)",
    ),
    Case(
        title="labels that are no tags of the scheme",
        command=EVALUATED,
        needs=TAGGER,
        damage=both(
            file("test.conll", GOLD), changed("tagger/config.json", "task", "scheme", to="bilou")
        ),
        said="tagger/config.json: scheme must be one of plain, iob1, iob2, bioes, bmes, "
        "got 'bilou'",
    ),
    Case(
        title="more tags than the model has outputs",
        command=EVALUATED,
        needs=TAGGER,
        damage=both(
            file("test.conll", GOLD),
            changed("tagger/config.json", "task", "labels", to=["O", "B-PER"]),
        ),
        said="tagger/config.json: the model has 9 outputs, but its task needs 2",
    ),
]


def spoilt(place: Path) -> None:
    """Weights as a run that diverged would leave them."""
    path = place / "tagger" / "model.safetensors"
    weights = load_file(path)
    weights["output.bias"] = np.full_like(weights["output.bias"], np.nan)
    save_file(weights, path)


ONE = "tag 'Ada reads' --model tagger"
BULK = "tag --input in.txt --output out.jsonl --model tagger"
TEXT = file("in.txt", "Ada reads\n")

TAG = [
    Case(
        title="neither texts nor a file",
        command="tag --model tagger",
        needs=TAGGER,
        said="give either texts, or --input FILE",
    ),
    Case(
        title="texts and a file",
        command=f"{ONE} --input in.txt",
        needs=TAGGER,
        damage=TEXT,
        said="give either texts, or --input FILE",
    ),
    Case(
        title="an empty text",
        command="tag 'Ada reads' ' ' --model tagger",
        needs=TAGGER,
        said="a text is empty",
    ),
    Case(
        title="a model that does not exist",
        command="tag Ada --model tagger-xx",
        said=f"no model called 'tagger-xx'; {ANY}shipped: {ANY}; local: none",
    ),
    Case(
        title="a bundle that is no tagger",
        command="tag Ada --model model",
        needs=frozenset({"bundle"}),
        said="model: expected a tagger, found kind 'matcher'",
    ),
    Case(
        title="weights that break off",
        command=ONE,
        needs=TAGGER,
        damage=cut("tagger/model.safetensors"),
        said=f"tagger/model.safetensors: damaged or not a safetensors file ({ANY})",
    ),
    Case(
        title="weights that are not finite",
        command=ONE,
        needs=TAGGER,
        damage=spoilt,
        said="tagger/model.safetensors: output.bias holds a number that is not finite",
    ),
    Case(
        title="weights of other sizes",
        command=ONE,
        needs=TAGGER,
        damage=changed("tagger/config.json", "model", "config", "embedding_size", to=7),
        said=f"tagger/model.safetensors: does not fit config.json: {ANY}",
    ),
    Case(
        title="a setting that the model has not",
        command=ONE,
        needs=TAGGER,
        damage=changed("tagger/config.json", "model", "config", "spelling", "widht", to=7),
        said="tagger/config.json: tagger.spelling has no setting 'widht'",
    ),
    Case(
        title="an unknown backend",
        command=f"{ONE} --backend tensorrt",
        needs=TAGGER,
        said="backend must be 'auto', 'onnx' or 'torch', got 'tensorrt'",
    ),
    Case(
        title="a tagger that was not exported, on ONNX Runtime",
        command=f"{ONE} --backend onnx",
        needs=TAGGER,
        said=f"tagger: not exported yet; run {ANY} on it",
    ),
    Case(
        title="a graph that is missing",
        command=ONE,
        needs=EXPORTED,
        damage=gone("tagger/onnx/spell.onnx"),
        said="tagger/onnx/spell.onnx: cannot be read (No such file or directory)",
    ),
    Case(
        title="a graph that breaks off",
        command=ONE,
        needs=EXPORTED,
        damage=cut("tagger/onnx/tag.onnx"),
        said=f"tagger/onnx/tag.onnx: cannot be run ({ANY})",
    ),
    Case(
        title="a list of weights that names a file",
        command=ONE,
        needs=EXPORTED,
        damage=changed("tagger/onnx/weights.json", "tag", to=["/etc/passwd"]),
        said="tagger/onnx/weights.json: tag takes '/etc/passwd', which the bundle has not",
    ),
    Case(
        title="weights that are not finite, on ONNX Runtime",
        command=ONE,
        needs=EXPORTED,
        damage=spoilt,
        said="tagger/model.safetensors: output.bias holds a number that is not finite",
    ),
    Case(
        title="`--threads 0`",
        command=f"{ONE} --threads 0",
        needs=TAGGER,
        said=f"invalid value for '--threads': {ANY}; see softquery tag --help",
    ),
    Case(
        title="`--split` that is neither",
        command=f"{ONE} --split letters",
        needs=TAGGER,
        said="--split must be words or spaces, got 'letters'",
    ),
    Case(
        title="`--output` for texts",
        command=f"{ONE} --output out.jsonl",
        needs=TAGGER,
        said="--output is for --input FILE; texts are printed",
    ),
    Case(
        title="a file that is not there",
        command="tag --input none.txt --model tagger",
        needs=TAGGER,
        said="none.txt: no such file",
    ),
    Case(
        title="an empty file",
        command=BULK,
        needs=TAGGER,
        damage=file("in.txt", ""),
        said="in.txt: is empty",
    ),
    Case(
        title="a blank line among texts",
        command=BULK,
        needs=TAGGER,
        damage=file("in.txt", "Ada reads\n\nBo\n"),
        said="in.txt, row 2: text is empty",
    ),
    Case(
        title="a file that ends inside a character",
        command=BULK,
        needs=TAGGER,
        damage=file("in.txt", "Ada reads\ncaf\u00e9".encode()[:-1]),
        said="in.txt, row 2: not valid UTF-8 (byte 0xc3 at column 4); save the file as UTF-8",
    ),
    Case(
        title="a table without a column `text`",
        command="tag --input test.tsv --model tagger",
        needs=TAGGER,
        said='test.tsv, row 1: no column "text"; found: sentence1, sentence2, label; '
        "expected: text; other names are given with --columns text=NAME",
    ),
    Case(
        title="columns of changing number",
        command="tag --input in.conll --model tagger",
        needs=TAGGER,
        damage=file("in.conll", "Ada O\nreads O O\n"),
        said="in.conll, row 2: expected 2 columns, found 3",
    ),
    Case(
        title="tokens that are no list",
        command="tag --input in.jsonl --model tagger",
        needs=TAGGER,
        damage=file("in.jsonl", '{"tokens": "Ada reads"}\n'),
        said="in.jsonl, row 1: tokens must be a list of strings",
    ),
    Case(
        title="broken JSON",
        command="tag --input in.jsonl --model tagger",
        needs=TAGGER,
        damage=file("in.jsonl", '{"tokens": ["Ada"]\n'),
        said=f"in.jsonl, row 1: not valid JSON ({ANY})",
    ),
    Case(
        title="a kind of file that is not known",
        command="tag --input in.doc --model tagger",
        needs=TAGGER,
        damage=file("in.doc", "Ada reads"),
        said="in.doc: unknown kind of file; expected a name ending in .txt, .tsv, .csv, .jsonl, "
        ".parquet, .conll, .conllu, .conllup, .bio, .iob, .bmes, plain or compressed",
    ),
    Case(
        title="answers in another form",
        command="tag --input in.txt --output out.csv --model tagger",
        needs=TAGGER,
        damage=TEXT,
        said="out.csv: answers are written as .jsonl; name the output so",
    ),
    Case(
        title="answers that are there already",
        command=BULK,
        needs=TAGGER,
        damage=both(TEXT, file("out.jsonl", "{}\n")),
        said="out.jsonl: already exists; name another --output, or remove it",
        left="the file as it was",
    ),
    Case(
        title="`--on-error` that is neither",
        command=f"{BULK} --on-error ignore",
        needs=TAGGER,
        damage=TEXT,
        said="--on-error must be stop or skip, got 'ignore'",
    ),
    Case(
        title="answers that lead to a full disk",
        command=ONE,
        needs=TAGGER,
        said="standard output: cannot be written (no space left on the disk)",
        answers="/dev/full",
    ),
]

EXPORT_PLAIN = "export tagger --output out"
INT8 = f"{EXPORT_PLAIN} --int8 --data test.conll"

EXPORT_TAGGER = [
    Case(
        title="`--int8` without sentences",
        command=f"{EXPORT_PLAIN} --int8",
        needs=TAGGER,
        said="int8 needs tagged sentences for its gate; name a file with --data",
    ),
    Case(
        title="a file of blank lines",
        command=INT8,
        needs=TAGGER,
        damage=file("test.conll", "\n\n"),
        said="int8 needs tagged sentences for its gate; name a file with --data",
    ),
    Case(
        title="an empty file",
        command=INT8,
        needs=TAGGER,
        damage=file("test.conll", ""),
        said="test.conll: is empty",
    ),
    Case(
        title="a file that is not there",
        command=f"{EXPORT_PLAIN} --int8 --data none.conll",
        needs=TAGGER,
        said="none.conll: no such file",
    ),
    Case(
        title="a tag that the model does not know",
        command=INT8,
        needs=TAGGER,
        damage=file("test.conll", f"{GOLD}Ada x I-ORG\n"),
        said="test.conll, row 4: tag 'I-ORG' is not one of LOC, PER",
    ),
    Case(
        title="a column that the file has not",
        command=f"{INT8} --columns tags=ner",
        needs=TAGGER,
        damage=file("test.conll", GOLD),
        said='test.conll, row 1: no column "ner" for tags; a row has 3 (word, pos, chunk); '
        "name one with --columns tags=PLACE, counted from 1",
    ),
    Case(
        title="a gate that is no number of points",
        command=f"{INT8} --gate inf",
        needs=TAGGER,
        damage=file("test.conll", GOLD),
        said="the gate must be a finite number of points, got inf",
    ),
    Case(
        title="an output that is there already",
        command="export tagger --output data",
        needs=TAGGER,
        said="data: already exists; name another --output",
    ),
    Case(
        title="weights that break off",
        command=EXPORT_PLAIN,
        needs=TAGGER,
        damage=cut("tagger/model.safetensors"),
        said=f"tagger/model.safetensors: damaged or not a safetensors file ({ANY})",
    ),
    Case(
        title="weights that are not finite",
        command=EXPORT_PLAIN,
        needs=TAGGER,
        damage=spoilt,
        said="tagger/model.safetensors: output.bias holds a number that is not finite",
    ),
    Case(
        title="weights of other sizes",
        command=EXPORT_PLAIN,
        needs=TAGGER,
        damage=changed("tagger/config.json", "model", "config", "hidden_sizes", to=[8]),
        said=f"tagger/model.safetensors: does not fit config.json: {ANY}",
    ),
    Case(
        title="a full disk",
        command="export tagger --output full/out",
        needs=TAGGER | {"disk"},
        said="full/out: cannot be written (no space left on the disk)",
    ),
]
