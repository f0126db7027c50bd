"""Bad input for `softquery distill`."""

from pathlib import Path

from hostile_cases import ANY, Case, Damage, both, file, gone

TEXTS = "".join(f"a man eats {number}\n" for number in range(8))
REST = "--texts texts.txt --output student"
BY_FOLDER, BY_VECTORS = f"distill sentences {REST}", f"distill vectors.npy {REST}"
PAIRED = f"{BY_FOLDER} --pairs pairs.tsv"
HEAD = "sentence1\tsentence2\tlabel\n"
BY_MATCHER = "distill model --pairs pairs.tsv --output student"
BY_LOGITS = "distill vectors.npy --pairs pairs.tsv --output student"
BUNDLE = frozenset({"bundle"})


def write_texts(place: Path) -> None:
    """Eight different texts, and eight pairs."""
    (place / "texts.txt").write_text(TEXTS)
    pairs(*(f"a man eats {number}\tsomeone eats\t" for number in range(8)))(place)


def pairs(*lines: str) -> Damage:
    """A file of pairs, with what may be a label."""
    return file("pairs.tsv", HEAD + "".join(f"{line}\n" for line in lines))


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

DISTILL_PAIRS = [
    Case(
        title="neither texts nor pairs",
        command="distill model --output student",
        said="nothing to learn from: name --texts for a sentence encoder, or --pairs for a matcher",
        needs=BUNDLE,
    ),
    Case(
        title="a teacher of pairs that encodes sentences",
        command="distill sentences --pairs pairs.tsv --output student",
        said="sentences: encodes sentences; expected a matcher or a cross-encoder; "
        "a teacher of vectors needs --texts",
    ),
    Case(
        title="a teacher of pairs that tags words",
        command="distill tagger --pairs pairs.tsv --output student",
        said="tagger: expected a matcher, found kind 'tagger'; a teacher of vectors needs --texts",
        needs=frozenset({"tagger"}),
    ),
    Case(
        title="two teachers of pairs",
        command="distill model model --pairs pairs.tsv --output student",
        said="one teacher at a time teaches a matcher, got 2",
        needs=BUNDLE,
    ),
    Case(
        title="pairs that are not there",
        command="distill model --pairs none.tsv --output student",
        said="none.tsv: no such file",
        needs=BUNDLE,
    ),
    Case(
        title="pairs without their second texts",
        command=BY_MATCHER,
        damage=file("pairs.tsv", "sentence1\tother\na\tb\n"),
        said='pairs.tsv, row 1: no column "sentence2" (did you mean "sentence1"?); found: '
        "sentence1, other; expected: sentence1, sentence2; other names are given with "
        "--columns sentence2=NAME",
        needs=BUNDLE,
    ),
    Case(
        title="a pair with an empty side",
        command=BY_MATCHER,
        damage=pairs("a\tb\t", "a\t \t"),
        said="pairs.tsv, row 3: sentence2 is empty",
        needs=BUNDLE,
    ),
    Case(
        title="a label that the teacher does not know",
        command=BY_MATCHER,
        damage=pairs("a\tb\tsame", "a\tc\tequal"),
        said="pairs.tsv, row 3: label 'equal' is not one of different, same",
        needs=BUNDLE,
    ),
    Case(
        title="the same pair again and again",
        command=BY_MATCHER,
        damage=pairs(*["a man\tsomeone\t"] * 9),
        said="pairs.tsv: 1 different pair to learn from; expected at least 4",
        needs=BUNDLE,
    ),
    Case(
        title="pairs of one first text",
        command=BY_MATCHER,
        damage=pairs(*(f"a man\tsomeone {number}\t" for number in range(9))),
        said="the pairs: 1 different first text, which is too few to learn from and to hold "
        "some back; expected at least 4",
        needs=BUNDLE,
    ),
    Case(
        title="logits of other pairs",
        command=f"{BY_LOGITS} --labels no,yes",
        damage=vectors(7, 2),
        said="vectors.npy: holds logits of 7 pairs for 8 rows; expected one row each",
    ),
    Case(
        title="logits that are not finite",
        command=f"{BY_LOGITS} --labels no,yes",
        damage=vectors(8, 2, holds=float("nan")),
        said="the teacher: its logits of pair 1 are not finite; expected numbers",
    ),
    Case(
        title="logits that nobody names",
        command=BY_LOGITS,
        damage=vectors(8, 3),
        said="vectors.npy: holds rows of 3, but --labels names none; "
        "expected a label for each column",
    ),
    Case(
        title="more labels than logits",
        command=f"{BY_LOGITS} --labels no,maybe,yes",
        damage=vectors(8, 2),
        said="vectors.npy: holds rows of 2, but --labels names 3; expected a label for each column",
    ),
    Case(
        title="labels for a teacher that has its own",
        command=f"{BY_MATCHER} --labels no,yes",
        said="--labels names the columns of a .npy; a model knows its own labels",
        needs=BUNDLE,
    ),
    Case(
        title="labels that are not the teacher's",
        command=f"{BY_MATCHER} --set task.labels=no,yes",
        said="task: a student has the labels of its teacher, which --set cannot change",
        needs=BUNDLE,
    ),
    Case(
        title="a weight below zero",
        command=f"{BY_MATCHER} --set distill.gold_weight=-1",
        said="distill.gold_weight: gold_weight must not be negative, got -1.0",
        needs=BUNDLE,
    ),
    Case(
        title="a matcher that is not known",
        command=f"{BY_MATCHER} --student esim-fst",
        said=f"unknown student 'esim-fst'; did you mean 'esim-fast'? (known: esim, {ANY})",
        needs=BUNDLE,
    ),
    Case(
        title="a student of vectors for pairs",
        command=f"{BY_MATCHER} --student static",
        said=f"static learns vectors of --texts; --pairs alone teach a matcher: esim, {ANY}",
        needs=BUNDLE,
    ),
    Case(
        title="a matcher for texts",
        command=f"{BY_FOLDER} --student esim-fast",
        said="esim-fast is a matcher, which learns from --pairs without --texts; "
        "vectors are learnt by static, bilstm, convolution, transformer",
    ),
    Case(
        title="`--weights` for a matcher",
        command=f"{BY_MATCHER} --weights 1",
        said="--weights is for sentence encoders, which need --texts",
        needs=BUNDLE,
    ),
    Case(
        title="`--init` names a matcher for texts",
        command=f"{BY_FOLDER} --init model",
        said=f"{ANY}model: expected a sentence encoder to go on with, found a matcher",
        needs=BUNDLE,
    ),
    Case(
        title="`--init` and another student",
        command=f"{BY_FOLDER} --init sentences --student bilstm",
        said="--student is for a student that learns from nothing, without --init",
    ),
    Case(
        title="`--init` and another structure",
        command=f"{BY_FOLDER} --init sentences --set model.hidden_size=8",
        said="--set model.hidden_size=8: --init keeps the structure and the sub-words of its "
        "bundle; leave this setting out",
    ),
    Case(
        title="a teacher that is narrower than what goes on",
        command=f"{BY_VECTORS} --init embed-en",
        damage=vectors(8, 4),
        said="model.output_size is 384, but the teacher's vectors have 4 numbers",
    ),
]
"""Where `--texts` are missing."""
