"""Bad input for `softquery train word2vec`, `softquery vectors` and `softquery import vectors`."""

import lzma
from pathlib import Path

import numpy as np
from hostile_cases import ANY, JUNK, Case, both, changed, cut, file

from fasttext_writing import FastTextFile
from softquery.bundle.vectors import write_vector_bundle
from softquery.text import TextConfig

PLAIN = "train word2vec --data corpus.txt --output vectors"
SENTENCE = "the cat sat on the mat while the dog ran\n"
CORPUS = SENTENCE * 20
BROKEN = lzma.compress(JUNK.hex().encode() * 4)[:2048]
FULL = frozenset({"disk"})

TRAIN_WORDS = [
    Case(
        title="a corpus that is not there",
        command=PLAIN,
        said="corpus.txt: no such file",
    ),
    Case(
        title="a folder without text files",
        command="train word2vec --data data --output vectors",
        said="data: holds no .txt files (plain or .gz, .xz, .bz2)",
    ),
    Case(
        title="an empty corpus",
        command=PLAIN,
        damage=file("corpus.txt", b""),
        said="corpus.txt: holds no words",
    ),
    Case(
        title="a corpus of blanks",
        command=PLAIN,
        damage=file("corpus.txt", " \n\t\n\n"),
        said="corpus.txt: holds no words",
    ),
    Case(
        title="a corpus of one word",
        command=PLAIN,
        damage=file("corpus.txt", "word " * 1000),
        said="corpus.txt: expected at least 2 words that occur 5 times or more "
        "(vocabulary.min_count), found 1 among 1",
    ),
    Case(
        title="a corpus of rare words",
        command=PLAIN,
        damage=file("corpus.txt", "every word of this is here once only\n"),
        said="corpus.txt: expected at least 2 words that occur 5 times or more "
        "(vocabulary.min_count), found 0 among 8",
    ),
    Case(
        title="a corpus that is one token of 10,000 characters",
        command=PLAIN,
        damage=file("corpus.txt", "x" * 10_000),
        said="corpus.txt: holds no words",
    ),
    Case(
        title="a corpus that ends inside a character",
        command=PLAIN,
        damage=file("corpus.txt", CORPUS.encode() + "中".encode()[:2]),
        said="corpus.txt, row 21: not valid UTF-8 (byte 0xe4 at column 1); save the file as UTF-8",
    ),
    Case(
        title="a corpus in another encoding",
        command=PLAIN,
        damage=file("corpus.txt", CORPUS.encode("utf-16")),
        said="corpus.txt, row 1: is UTF-16 text; save the file as UTF-8",
    ),
    Case(
        title="a corpus with NUL bytes",
        command=PLAIN,
        damage=file("corpus.txt", CORPUS.encode() + b"a\0b\n"),
        said="corpus.txt, row 21: holds a NUL byte (at column 2), expected text",
    ),
    Case(
        title="one bad shard among many",
        command="train word2vec --data shards --output vectors",
        damage=both(file("shards/train-0.txt", CORPUS), file("shards/train-1.txt.xz", BROKEN)),
        said=f"shards/train-1.txt.xz, row {ANY}: the compressed file breaks off here (truncated); "
        "fetch or compress it again",
    ),
    Case(
        title="sub-words of a tokenizer as words",
        command=f"{PLAIN} --set text.unit=bpe",
        damage=file("corpus.txt", CORPUS),
        said="text.unit 'bpe' makes sub-words; expected words, characters, whitespace or jieba",
    ),
    Case(
        title="an engine that does not exist",
        command=f"{PLAIN} --set training.engine=cuda",
        said="training.engine must be one of auto, numba, torch, got 'cuda'",
    ),
    Case(
        title="a learning rate at which the run diverges",
        command=f"{PLAIN} --set training.lr=1e12 --set training.engine=numba",
        damage=file("corpus.txt", CORPUS * 9),
        said="the run diverged: the vectors are no longer finite; lower training.lr",
    ),
    Case(
        title="`--init`, which it has no use for",
        command=f"{PLAIN} --init model",
        said="--init: word2vec begins anew, with random vectors",
    ),
    Case(
        title="`--vectors`, which it makes",
        command=f"{PLAIN} --vectors glove.txt",
        said="--vectors: word2vec makes word vectors, and reads none",
    ),
    Case(
        title="`--columns` of running text",
        command=f"{PLAIN} --columns text=body",
        said="--columns: word2vec reads running text, which has no columns",
    ),
    Case(
        title="`--devices 2`",
        command=f"{PLAIN} --devices 2",
        said="--devices: word2vec takes all cores or one GPU in one process",
    ),
    Case(
        title="a disk that is full",
        command="train word2vec --data corpus.txt --output full/vectors",
        damage=file("corpus.txt", CORPUS * 500),
        needs=FULL,
        said=f"full/vectors.partial{ANY}: cannot be written (no space left on the disk)",
    ),
]

NEAREST = "vectors nearest cat --model model"
ANALOGY = "vectors analogy questions.txt --model model"
SIMILARITY = "vectors similarity pairs.tsv --model model"

VECTORS = [
    Case(
        title="a word that has no vector",
        command="vectors nearest dgo --model model",
        said="'dgo' is not among the 5 words; did you mean 'dog'?",
    ),
    Case(
        title="a model that does not exist",
        command="vectors nearest cat --model word-xx",
        said=f"no model called 'word-xx'; {ANY}shipped: {ANY}; local: none",
    ),
    Case(
        title="a folder that is no model",
        command="vectors nearest cat --model data",
        said="data: incomplete model folder, config.json and tokenizer.json and "
        "model.safetensors and metrics.json and README.md missing",
    ),
    Case(
        title="a bundle of another kind",
        command=NEAREST,
        damage=changed("model/config.json", "kind", to="matcher"),
        said="model: expected word vectors, found kind 'matcher'",
    ),
    Case(
        title="a file that holds no vectors",
        command="vectors nearest cat --model test.tsv",
        said="test.tsv, row 1: expected word vectors: a word and its numbers, separated by spaces",
    ),
    Case(
        title="weights that break off",
        command=NEAREST,
        damage=cut("model/model.safetensors"),
        said=f"model/model.safetensors: damaged or not a safetensors file ({ANY})",
    ),
    Case(
        title="vectors of another size than the vocabulary",
        command=NEAREST,
        damage=changed("model/config.json", "model", "config", "embedding_size", to=9),
        said="model/model.safetensors: expected vectors of shape [9, 9], found [9, 3]",
    ),
    Case(
        title="a vocabulary of another model",
        command=NEAREST,
        damage=changed("model/config.json", "model", "config", "vocab_size", to=7),
        said="model/tokenizer.json: holds 9 entries, but config.json says 7",
    ),
    Case(
        title="no `--model`",
        command="vectors nearest cat",
        said="missing option '--model'; see softquery vectors nearest --help",
    ),
    Case(
        title="`--top-k 0`",
        command=f"{NEAREST} --top-k 0",
        said=f"invalid value for '--top-k' / '--top': {ANY}; see softquery vectors nearest --help",
    ),
    Case(
        title="an analogy of two words",
        command="vectors analogy cat dog --model model",
        said="give three words, or one file of questions; got 2 words",
    ),
    Case(
        title="questions that are not there",
        command=ANALOGY,
        said="questions.txt: no such file",
    ),
    Case(
        title="a question of three words",
        command=ANALOGY,
        damage=file("questions.txt", ": animals\ncat dog the\n"),
        said="questions.txt, row 2: expected four words, or a colon and a name, found 3 words",
    ),
    Case(
        title="a file without questions",
        command=ANALOGY,
        damage=file("questions.txt", ": animals\n"),
        said="questions.txt: holds no questions",
    ),
    Case(
        title="a similarity of three words",
        command="vectors similarity cat dog mat --model model",
        said="give two words, or one file of graded pairs; got 3 words",
    ),
    Case(
        title="a graded pair without a grade",
        command=SIMILARITY,
        damage=file("pairs.tsv", "cat\tdog\t7\ncat\tmat\n"),
        said="pairs.tsv, row 2: expected two words and a number, separated by tabs, "
        'found "cat mat"',
    ),
    Case(
        title="a file without graded pairs",
        command=SIMILARITY,
        damage=file("pairs.tsv", "# nothing\n"),
        said="pairs.tsv: holds no pairs: two words and a number per line, separated by tabs",
    ),
    Case(
        title="a map without a place to go",
        command="vectors plot cat dog --model model",
        said="name a picture with --output map.png, or ask for --json",
    ),
    Case(
        title="a map of one word",
        command="vectors plot cat --output map.png --model model",
        said="a map needs at least two different words, got 1",
    ),
    Case(
        title="a map as another kind of file",
        command="vectors plot cat dog --output map.bmp --model model",
        said="map.bmp: expected a name that ends in .png",
    ),
    Case(
        title="arrows between an odd number of words",
        command="vectors plot cat dog mat --arrows --output map.png --model model",
        said="--arrows needs words two by two",
    ),
    Case(
        title="a map into a folder that is not there",
        command="vectors plot cat dog --output none/map.png --model model",
        said="none/map.png: cannot be written (no such folder)",
    ),
    Case(
        title="an export over a file",
        command="vectors export --output test.tsv --model model",
        said="test.tsv: already exists; name another --output",
        left="`test.tsv` as it was",
    ),
    Case(
        title="an export in an unknown form",
        command="vectors export --output out.txt --form fasttext --model model",
        said=f"invalid value for '--form': {ANY}; see softquery vectors export --help",
    ),
    Case(
        title="answers that lead to a full disk",
        command=NEAREST,
        answers="/dev/full",
        said="standard output: cannot be written (no space left on the disk)",
    ),
]

IMPORT_VECTORS = [
    Case(
        title="vectors that are not there",
        command="import vectors glove.txt --output model",
        said="glove.txt: no such file",
    ),
    Case(
        title="a folder in place of a file",
        command="import vectors data --output model",
        said="data: is a folder, expected a file",
    ),
    Case(
        title="an empty file of vectors",
        command="import vectors glove.txt --output model",
        damage=file("glove.txt", b""),
        said="glove.txt: is empty",
    ),
    Case(
        title="a file of something else",
        command="import vectors test.tsv --output model",
        said="test.tsv, row 1: expected word vectors: a word and its numbers, separated by spaces",
    ),
    Case(
        title="a row with too few numbers",
        command="import vectors glove.txt --output model",
        damage=file("glove.txt", "a 0.1 0.2\nb 0.3 0.4\nman 0.5\n"),
        said='glove.txt, row 3: expected 2 numbers after a word, found 1 ("man 0.5")',
    ),
    Case(
        title="a number that is none",
        command="import vectors glove.txt --output model",
        damage=file("glove.txt", "a 0.1 0.2\nb 0.3 0.4\nman 0.5 much\n"),
        said=f'glove.txt, row 3: expected 2 numbers after "man", found 0 ({ANY})',
    ),
    Case(
        title="a number that is not finite",
        command="import vectors glove.txt --output model",
        damage=file("glove.txt", "a 0.1 0.2\nb 0.3 inf\n"),
        said='glove.txt, row 2: the vector of "b" holds a number that is not finite',
    ),
    Case(
        title="a text file of word2vec that breaks off",
        command="import vectors vectors.txt --output model",
        damage=file("vectors.txt", "3 2\na 0.1 0.2\nb 0.3 0.4\n"),
        said="vectors.txt, row 3: the header promises 3 words, found 2 (truncated?)",
    ),
    Case(
        title="a binary file of word2vec that breaks off",
        command="import vectors vectors.bin --output model",
        damage=file("vectors.bin", b"2 2\na " + bytes(8) + b"\nb " + bytes(3)),
        said="vectors.bin, row 2: the file breaks off here; its header promises 2 words",
    ),
    Case(
        title="a word in another encoding, where `--on-error skip` would pass over it",
        command="import vectors wiki.vec --output model",
        damage=file("wiki.vec", b"2 2\na 0.1 0.2\ncaf\xe9 0.3 0.4\n"),
        said="wiki.vec, row 3: not valid UTF-8 (byte 0xe9 at column 4); save the file as UTF-8",
    ),
    Case(
        title="a quantised model of fastText",
        command="import vectors model.ftz --output model",
        damage=file("model.ftz", FastTextFile(quantised=True).to_bytes()),
        said="model.ftz: is a quantised fastText model (.ftz); only .bin files are read",
    ),
    Case(
        title="a classifier of fastText",
        command="import vectors model.bin --output model",
        damage=file("model.bin", FastTextFile(model=3).to_bytes()),
        said="model.bin: is a fastText classifier; expected vectors of skip-gram or cbow",
    ),
    Case(
        title="a fastText file whose header promises more than there is",
        command="import vectors model.bin --output model",
        damage=file("model.bin", FastTextFile(matrix_rows=2**60).to_bytes()),
        said="model.bin: the header promises 6 words and 50 buckets of 4 numbers, but the matrix "
        "is said to be 1,152,921,504,606,846,976 × 4",
    ),
    Case(
        title="a fastText file that breaks off",
        command="import vectors model.bin --output model",
        damage=file("model.bin", FastTextFile().to_bytes()[:500]),
        said=f"model.bin: breaks off after the vectors of {ANY} of 50 n-grams",
    ),
    Case(
        title="an output that exists",
        command="import vectors glove.txt --output data",
        damage=file("glove.txt", "a 0.1 0.2\n"),
        said="data: already exists; name another --output",
        left="`data` as it was",
    ),
    Case(
        title="an output on a full disk",
        command="import vectors glove.txt --output full/model",
        damage=file("glove.txt", "a 0.1 0.2\nb 0.3 0.4\n"),
        needs=FULL,
        said="full/model: cannot be written (no space left on the disk)",
    ),
    Case(
        title="no `--output`",
        command="import vectors glove.txt",
        said="missing option '--output'; see softquery import vectors --help",
    ),
    Case(
        title="something that cannot be imported",
        command="import pickles model.pkl --output model",
        said=f"no such command 'pickles'{ANY}; see softquery import --help",
    ),
]


def write_small_vectors(folder: Path) -> None:
    """A bundle of five words."""
    matrix = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)
    write_vector_bundle(
        folder,
        words=["the", "cat", "dog", "mat", "sat"],
        matrix=matrix,
        text=TextConfig(),
        model={"name": "word2vec", "config": {}},
        library_version="0.1.0",
        metrics={},
        card="# five words\n",
    )
