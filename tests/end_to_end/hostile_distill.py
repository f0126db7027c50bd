"""Bad input for `softquery distill`."""

from pathlib import Path

from hostile_cases import ANY, Case, Damage, both, file, gone

TEXTS = "".join(f"a man eats {number}\n" for number in range(8))
REST = "--texts texts.txt --output student"
BY_FOLDER, BY_VECTORS = f"distill sentences {REST}", f"distill vectors.npy {REST}"
PAIRED = f"{BY_FOLDER} --pairs pairs.tsv"
HEAD = "sentence1\tsentence2\tlabel\n"


def write_texts(place: Path) -> None:
    """Eight different texts."""
    (place / "texts.txt").write_text(TEXTS)


def vectors(*shape: int, kind: str = "f4", holds: float = 1.0) -> Damage:
    """A teacher that is a file."""

    def damage(place: Path) -> None:
        import numpy

        numpy.save(place / "vectors.npy", numpy.full(shape, holds, kind))

    return damage


def cut_short(place: Path) -> None:
    """A header that promises more than the file holds."""
    vectors(8, 300)(place)
    content = (place / "vectors.npy").read_bytes()
    (place / "vectors.npy").write_bytes(content.replace(b"(8, 300)", b"(8, 999)"))


DISTILL = [
    Case(
        title="a teacher that is not there",
        command=f"distill none {REST}",
        said=f"no model called 'none'; shipped: {ANY}",
    ),
    Case(
        title="texts that are not there",
        command="distill sentences --texts none.txt --output student",
        said="none.txt: no such file",
    ),
    Case(
        title="nothing but blank lines",
        command=BY_FOLDER,
        damage=file("texts.txt", "\n \n\t\n"),
        said="texts.txt: 0 different texts to learn from; expected at least 4",
    ),
    Case(
        title="the same text again and again",
        command=BY_FOLDER,
        damage=file("texts.txt", "a man\na  man\n a man\n" * 5),
        said="texts.txt: 1 different text to learn from; expected at least 4",
    ),
    Case(
        title="texts in another encoding",
        command=BY_FOLDER,
        damage=file("texts.txt", b"caf\xe9\n" * 9),
        said="texts.txt, row 1: not valid UTF-8 (byte 0xe9 at column 4); save the file as UTF-8",
    ),
    Case(
        title="a folder without its pooling",
        command=BY_FOLDER,
        damage=gone("sentences/1_Pooling/config.json"),
        said="sentences/1_Pooling/config.json: no such file",
    ),
    Case(
        title="a teacher that is narrower than the student",
        command=BY_FOLDER,
        said="model.output_size is 256, but the teacher's vectors have 8 numbers",
    ),
    Case(
        title="a folder that is no model",
        command=f"distill data {REST}",
        said=f"data: incomplete model folder, {ANY}",
    ),
    Case(
        title="a graph without a tokenizer",
        command=f"distill model.onnx {REST}",
        damage=file("model.onnx", "no graph"),
        said="model.onnx: has no tokenizer.json beside it",
    ),
    Case(
        title="a tokenizer that breaks off",
        command=f"distill model.onnx {REST}",
        damage=both(file("model.onnx", "no graph"), file("tokenizer.json", "{")),
        said=f"tokenizer.json: cannot be read ({ANY})",
    ),
    Case(
        title="vectors that are no file of numpy's",
        command=BY_VECTORS,
        damage=file("vectors.npy", "1 2 3"),
        said=f"vectors.npy: cannot be read as a matrix ({ANY})",
    ),
    Case(
        title="a file that breaks off",
        command=BY_VECTORS,
        damage=cut_short,
        said=f"vectors.npy: cannot be read as a matrix ({ANY})",
    ),
    Case(
        title="vectors of other texts",
        command=BY_VECTORS,
        damage=vectors(7, 300),
        said="vectors.npy: holds 7 vectors for 8 texts; expected one each",
    ),
    Case(
        title="a single vector",
        command=BY_VECTORS,
        damage=vectors(300),
        said="vectors.npy: expected a matrix of numbers, one row per text; found float32 [300]",
    ),
    Case(
        title="whole numbers in place of vectors",
        command=BY_VECTORS,
        damage=vectors(8, 300, kind="i4"),
        said="vectors.npy: expected a matrix of numbers, one row per text; found int32 [8, 300]",
    ),
    Case(
        title="vectors that are not finite",
        command=BY_VECTORS,
        damage=vectors(8, 300, holds=float("nan")),
        said="the teacher: its vector of text 1 is not finite or is zero; "
        "expected numbers with a direction",
    ),
    Case(
        title="vectors of nothing but zeros",
        command=BY_VECTORS,
        damage=vectors(8, 300, holds=0.0),
        said="the teacher: its vector of text 1 is not finite or is zero; "
        "expected numbers with a direction",
    ),
    Case(
        title="pairs with grades",
        command=PAIRED,
        damage=file("pairs.tsv", HEAD + "a\tb\t4.5\n"),
        said="pairs.tsv, row 2: label is '4.5'; expected 1 for the same meaning or 0",
    ),
    Case(
        title="too few pairs",
        command=PAIRED,
        damage=file("pairs.tsv", HEAD + "a\tb\t1\nc\td\t0\ne\te\t1\n"),
        said="pairs.tsv: 1 pair of different texts that mean the same; expected at least 4",
    ),
    Case(
        title="translations without what the teacher reads",
        command=f"{BY_FOLDER} --parallel parallel.tsv",
        damage=file("parallel.tsv", "text\tother\na\tb\n"),
        said='parallel.tsv, row 1: no column "taught"; found: text, other; expected: text, taught; '
        "other names are given with --columns taught=NAME",
    ),
    Case(
        title="more weights than teachers",
        command=f"{BY_FOLDER} --weights 1,2",
        said="2 weights for 1 teacher",
    ),
    Case(
        title="weights that are no numbers",
        command=f"{BY_FOLDER} --weights much",
        said="--weights must be numbers such as 0.4,0.6, got 'much'",
    ),
    Case(
        title="a weight of zero",
        command=f"{BY_FOLDER} --weights 0",
        said="a teacher's weight must be a positive number",
    ),
    Case(
        title="a student that is not known",
        command=f"{BY_FOLDER} --student bilst",
        said="unknown student 'bilst'; did you mean 'bilstm'? (known: static, bilstm, "
        "convolution, transformer)",
    ),
    Case(
        title="an output that exists",
        command=BY_FOLDER,
        damage=file("student/notes.txt", "mine"),
        said="student: already exists; name another --output",
        left="`student` as it was",
    ),
    Case(
        title="nothing to go on from",
        command=f"{BY_FOLDER} --resume",
        said="student.partial: there is no interrupted run here to resume",
    ),
]
