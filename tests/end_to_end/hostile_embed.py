"""Bad input for `softquery embed`."""

from hostile_cases import ANY, BROKEN_XZ, Case, both, changed, cut, file, gone

TO = "--model model --output v.npz"
PLAIN = f"embed lines.txt {TO}"
SOUND = file("lines.txt", "a cat\nthe dog ran\n")
ONNX = "model/onnx"


def lines(content: bytes | str):
    return file("lines.txt", content)


INPUT = [
    Case(
        title="a file that is not there",
        command=f"embed none.txt {TO}",
        said="none.txt: no such file",
    ),
    Case(
        title="an empty file",
        command=PLAIN,
        damage=lines(b""),
        said="lines.txt: holds no sentences",
    ),
    Case(
        title="only blank lines",
        command=PLAIN,
        damage=lines(b"\n \n\t\n\n"),
        said="lines.txt: holds no sentences",
    ),
    Case(
        title="a file that ends inside a character",
        command=PLAIN,
        damage=lines("a sound line\nand caf\u00e9".encode()[:-1]),
        said="lines.txt, row 2: not valid UTF-8 (byte 0xc3 at column 8); save the file as UTF-8",
    ),
    Case(
        title="NUL bytes",
        command=PLAIN,
        damage=lines(b"a\0cat\n"),
        said="lines.txt, row 1: holds a NUL byte (at column 2), expected text",
    ),
    Case(
        title="an .xz that breaks off",
        command="embed lines.tsv.xz --model model --output out/v.npz --columns text=sentence1",
        damage=both(file("lines.tsv.xz", BROKEN_XZ), lambda place: (place / "out").mkdir()),
        left="`out/v.npz.partial` with the rows before, to go on from",
        touched="out",
        said=f"lines.tsv.xz, row {ANY}: the compressed file breaks off here (truncated); "
        "fetch or compress it again",
    ),
    Case(
        title="a table without text",
        command=f"embed test.tsv {TO}",
        said='test.tsv, row 2: no column "text", nor "tokens"; '
        "other names are given with --columns text=NAME",
    ),
    Case(
        title="tokens that are no list",
        command=f"embed words.jsonl {TO}",
        damage=file("words.jsonl", '{"tokens": ["a"]}\n{"tokens": "a cat"}\n'),
        said="words.jsonl, row 2: tokens must be a list of words, found a cat",
    ),
    Case(
        title="a token that is empty",
        command=f"embed words.jsonl {TO}",
        damage=file("words.jsonl", '{"tokens": ["a", ""]}\n'),
        said='words.jsonl, row 1: tokens must be a list of words, found ["a", ""]',
    ),
    Case(
        title="broken JSON",
        command=f"embed words.jsonl {TO}",
        damage=file("words.jsonl", '{"text": "a"\n'),
        said=f"words.jsonl, row 1: not valid JSON ({ANY} at column {ANY})",
    ),
    Case(
        title="a kind of file that is not known",
        command=f"embed lines.doc {TO}",
        damage=file("lines.doc", "a cat\n"),
        said="lines.doc: unknown kind of file; expected a name ending in .tsv, .csv, .jsonl, "
        ".parquet, .txt, each plain or .gz, .xz, .bz2",
    ),
    Case(
        title="`--columns` that cannot be read",
        command=f"embed test.tsv {TO} --columns text",
        said='--columns: expected NAME=COLUMN,NAME=COLUMN,… such as sentence1=q1, found "text"',
    ),
]

OUTPUT = [
    Case(
        title="an output of another form",
        command="embed lines.txt --model model --output v.txt",
        damage=SOUND,
        said="v.txt: vectors are written as .npz or .parquet; name the output so",
    ),
    Case(
        title="an output that is there already",
        command=PLAIN,
        damage=both(SOUND, file("v.npz", "mine")),
        said="v.npz: already exists; name another --output, or remove it",
        left="`v.npz` as it was",
    ),
    Case(
        title="an output in a folder that is not there",
        command="embed lines.txt --model model --output none/v.npz",
        damage=SOUND,
        said="none/v.npz: cannot be written (no such folder)",
    ),
    Case(
        title="no `--output` for a file",
        command="embed lines.txt --model model",
        damage=SOUND,
        said="name a file for the vectors with --output: .npz or .parquet",
    ),
    Case(
        title="an output on a full disk",
        command="embed lines.txt --model model --output full/v.npz",
        damage=lines("a cat sat on the mat\n" * 300),
        needs=frozenset({"disk"}),
        said="full/v.npz.partial.json: cannot be written (no space left on the disk)",
    ),
    Case(
        title="a table on a full disk",
        command="embed lines.txt --model model --output full/v.parquet",
        damage=lines("a cat sat on the mat\n" * 300),
        needs=frozenset({"disk"}),
        said="full/v.parquet: cannot be written (no space left on the disk)",
    ),
    Case(
        title="an output in a folder without permission to write",
        command="embed lines.txt --model model --output closed/v.npz",
        damage=both(SOUND, lambda place: (place / "closed").mkdir(mode=0o500)),
        needs=frozenset({"nobody"}),
        said="closed/v.npz.partial: cannot be written (Permission denied)",
    ),
    Case(
        title="what another model has begun",
        command=PLAIN,
        damage=both(SOUND, file("v.npz.partial", "PK"), file("v.npz.partial.json", "{}")),
        said="v.npz.partial: was written with another model, backend or options; "
        "remove it to start over",
        left="what was begun",
    ),
]

OPTIONS = [
    Case(
        title="neither a file nor a text",
        command="embed --model model",
        said="give either a file, or --text TEXT",
    ),
    Case(
        title="a file and a text",
        command="embed lines.txt --text 'a cat' --model model",
        damage=SOUND,
        said="give either a file, or --text TEXT",
    ),
    Case(
        title="`--layers` that are none",
        command=f"{PLAIN} --layers last",
        damage=SOUND,
        said="--layers must be one of all, mix, top, average, or the number of a layer, got 'last'",
    ),
    Case(
        title="a layer that the model lacks",
        command=f"{PLAIN} --layers 3",
        damage=SOUND,
        said="the model has layers 0 to 2, got 3",
    ),
    Case(
        title="a precision that is none",
        command=f"{PLAIN} --precision int8",
        damage=SOUND,
        said="--precision must be float32 or float16, got 'int8'",
    ),
    Case(
        title="`--on-error` with another word",
        command=f"{PLAIN} --on-error ignore",
        damage=SOUND,
        said="--on-error must be stop or skip, got 'ignore'",
    ),
    Case(
        title="no threads",
        command=f"{PLAIN} --threads 0",
        damage=SOUND,
        said=f"invalid value for '--threads': {ANY}; see softquery embed --help",
    ),
    Case(
        title="a backend that is none",
        command=f"{PLAIN} --backend tpu",
        damage=SOUND,
        said="backend must be 'auto', 'onnx' or 'torch', got 'tpu'",
    ),
]

MODEL = [
    Case(
        title="a model that does not exist",
        command="embed lines.txt --model elmo-xx --output v.npz",
        damage=SOUND,
        said=f"no model called 'elmo-xx'; {ANY}shipped: {ANY}; local: none",
    ),
    Case(
        title="a bundle that is no embedder",
        command=PLAIN,
        damage=both(SOUND, changed("model/config.json", "model", "name", to="esim")),
        said="model: expected word vectors in context (elmo), found 'esim'",
    ),
    Case(
        title="weights that break off",
        command=PLAIN,
        damage=both(SOUND, cut("model/model.safetensors")),
        said=f"model/model.safetensors: damaged or not a safetensors file ({ANY})",
    ),
    Case(
        title="weights of other sizes",
        command=PLAIN,
        damage=both(SOUND, changed("model/config.json", "model", "config", "hidden_size", to=9)),
        said="model/config.json: hidden_size is 9, but model.safetensors is made for 7",
    ),
    Case(
        title="a setting of the model that cannot be",
        command=PLAIN,
        damage=both(SOUND, changed("model/config.json", "model", "config", "num_layers", to=0)),
        said=f"model/config.json: elmo cannot be built: sizes must be positive {ANY}",
    ),
    Case(
        title="a graph that is missing",
        command=PLAIN,
        damage=both(SOUND, gone(f"{ONNX}/context.onnx")),
        said=f"{ONNX}/context.onnx: cannot be read (No such file or directory)",
    ),
    Case(
        title="a graph that breaks off",
        command=PLAIN,
        damage=both(SOUND, cut(f"{ONNX}/read.onnx")),
        said=f"{ONNX}/read.onnx: cannot be run ({ANY})",
    ),
    Case(
        title="a tokenizer of another model",
        command=PLAIN,
        damage=both(SOUND, changed("model/config.json", "model", "config", "vocab_size", to=9)),
        said="model/tokenizer.json: holds 14 entries, but config.json says 9",
    ),
]

EMBED = [*INPUT, *OUTPUT, *OPTIONS, *MODEL]
