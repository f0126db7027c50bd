"""Bad input for classifiers of texts: to train, to classify, to evaluate. See docs/classify.md.

Every case runs in a folder of its own, which holds `data/` with `train.tsv` and `dev.tsv`,
`texts.tsv` to classify or evaluate on, and `model/`, a small exported classifier.
"""

from hostile_cases import ANY, JUNK, Case, both, changed, cut, file, gone

HEADER = b"text\tlabel\n"
SOUND = (b"negative", b"positive")
TRAIN = "train attention-bilstm --data data --output new"
DOCUMENTS = "train hierarchical-attention --data data --output new"
ONE = "classify 'a fine film' --model model"
MANY = "classify --input texts.tsv --output out.jsonl --model model"
EVALUATE = "evaluate model --data texts.tsv"


def rows(name: str, *lines: bytes):
    """A file of sound rows, with some lines after the first one: the file's third and on."""
    sound = [b"%d films\t%s\n" % (n, SOUND[n % 2]) for n in range(60)]
    return file(name, HEADER + b"".join([sound[0], *lines, *sound[1:]]))


def labelled(name: str, *labels: str):
    """A file of one row a label, sound but for the labels."""
    lines = [b"%d films\t%s\n" % (n, label.encode()) for n, label in enumerate(labels)]
    return file(name, HEADER + b"".join(lines))


TRAINING = [
    Case(
        title="no column of texts",
        command=TRAIN,
        damage=file("data/train.tsv", "review\tlabel\nfine\tpositive\n"),
        said='data/train.tsv, row 1: no column "text"; found: review, label; expected: text, '
        "label; other names are given with --columns text=NAME",
    ),
    Case(
        title="no column of labels",
        command=TRAIN,
        damage=file("data/train.tsv", "text\nfine\n"),
        said='data/train.tsv, row 1: no column "label"; found: text; expected: text, label; '
        "other names are given with --columns label=NAME",
    ),
    Case(
        title="an empty file",
        command=TRAIN,
        damage=file("data/train.tsv", b""),
        said="data/train.tsv: is empty",
    ),
    Case(
        title="a header and no rows",
        command=TRAIN,
        damage=file("data/train.tsv", HEADER),
        said="data/train.tsv: holds no rows",
    ),
    Case(
        title="an empty text",
        command=TRAIN,
        damage=rows("data/train.tsv", b" \tpositive\n"),
        said="data/train.tsv, row 3: text is empty",
    ),
    Case(
        title="the same label everywhere",
        command=TRAIN,
        damage=labelled("data/train.tsv", *["positive"] * 60),
        said="data/train.tsv: expected from 2 to 1,000 different labels, found 1 (positive)",
    ),
    Case(
        title="a label of its own for every row",
        command=TRAIN,
        damage=labelled("data/train.tsv", *map(str, range(1200))),
        said="data/train.tsv: expected from 2 to 1,000 different labels, found 1,200 "
        "(0, 1, 10, 100, 1000, …)",
    ),
    Case(
        title="a label in dev that no training row has",
        command=TRAIN,
        damage=labelled("data/dev.tsv", "positive", "perhaps"),
        said="data/dev.tsv, row 3: label 'perhaps' is not one of negative, positive",
    ),
    Case(
        title="labels that name no relation",
        command="train relations --data data --output new",
        damage=both(
            labelled("data/train.tsv", *["Other", "Other(e1,e2)"] * 30),
            labelled("data/dev.tsv", "Other"),
        ),
        said="classes: labels must name a relation, got ('Other', 'Other(e1,e2)')",
    ),
    Case(
        title="a row with too many columns",
        command=TRAIN,
        damage=rows("data/train.tsv", b"a\tb\tpositive\n"),
        said="data/train.tsv, row 3: expected 2 columns (text, label), found 3",
    ),
    Case(
        title="binary junk",
        command=TRAIN,
        damage=file("data/train.tsv", JUNK),
        said=f"data/train.tsv, row 1: not valid UTF-8 (byte {ANY}); save the file as UTF-8",
    ),
    Case(
        title="sentences with their ends, for documents",
        command=f"{DOCUMENTS} --set text.boundaries=true",
        said="text.boundaries must be false: hierarchical-attention reads sentences without their "
        "ends",
    ),
    Case(
        title="no sentence that may be read",
        command=f"{DOCUMENTS} --set model.max_sentences=0",
        said="model.max_sentences: max_sentences must be positive, got 0",
    ),
    Case(
        title="sentences of more words than a document's may have",
        command=f"{DOCUMENTS} --set text.max_tokens=70000",
        said="text.max_tokens must be at most 65,535 words of a sentence, got 70,000",
    ),
    Case(
        title="markers for sub-words",
        command="train relations --data data --output new --set text.unit=bpe",
        said="text.unit: markers are kept whole by words and characters, not by bpe",
    ),
    Case(
        title="a smoothing that leaves no label",
        command=f"{TRAIN} --set classes.smoothing=1",
        said="classes.smoothing: smoothing must be in [0, 1), got 1.0",
    ),
    Case(
        title="a metric that is none",
        command=f"{TRAIN} --set classes.metric=f2",
        said="classes.metric must be one of accuracy, macro_f1, relation_f1, got 'f2'",
    ),
    Case(
        title="characters without a biLM",
        command=f"{TRAIN} --set model.max_characters=20",
        said="model.max_characters is a biLM's; leave it at 0 where there is none",
    ),
    Case(
        title="ELMo without a biLM",
        command="train attention-bilstm-elmo --data data --output new",
        said="attention-bilstm-elmo needs a biLM; name its bundle with --set elmo.bundle=DIR",
    ),
]

CLASSIFYING = [
    Case(
        title="neither texts nor a file",
        command="classify --model model",
        said="give either texts, or --input FILE",
    ),
    Case(
        title="texts and a file",
        command=f"{ONE} --input texts.tsv",
        said="give either texts, or --input FILE",
    ),
    Case(
        title="an empty text, typed",
        command="classify fine ' ' --model model",
        said="a text is empty",
    ),
    Case(
        title="an empty text in a file",
        command=MANY,
        damage=rows("texts.tsv", b"\tpositive\n"),
        said="texts.tsv, row 3: text is empty",
    ),
    Case(
        title="no column of texts in a file",
        command=MANY,
        damage=file("texts.tsv", "review\nfine\n"),
        said='texts.tsv, row 1: no column "text"; found: review; expected: text; '
        "other names are given with --columns text=NAME",
    ),
    Case(
        title="an empty file to classify",
        command=MANY,
        damage=file("texts.tsv", b""),
        said="texts.tsv: is empty",
    ),
    Case(
        title="a file that is not there",
        command="classify --input none.txt --output out.jsonl --model model",
        said="none.txt: no such file",
    ),
    Case(
        title="answers in another form",
        command="classify --input texts.tsv --output out.csv --model model",
        said="out.csv: answers are written as .jsonl; name the output so",
    ),
    Case(
        title="`--output` for texts that are typed",
        command=f"{ONE} --output out.jsonl",
        said="--output is for --input FILE; texts are printed",
    ),
    Case(
        title="`--explain` of a file",
        command=f"{MANY} --explain why.html",
        said="--explain shows one text; give it in quotes",
    ),
    Case(
        title="`--explain` of several texts",
        command=f"{ONE} dull --explain why.html",
        said="--explain shows one text; give only one",
    ),
    Case(
        title="`--explain` in a form that does not exist",
        command=f"{ONE} --explain why.pdf",
        said="why.pdf: expected a name that ends in .html, .svg, .png or .json",
    ),
    Case(
        title="`--explain` in a folder that is not there, told before the model is opened",
        command="classify fine --model none --explain none/why.html",
        said="none/why.html: cannot be written (no such folder)",
    ),
    Case(
        title="`--on-error` with a word that is not one of the choices",
        command=f"{ONE} --on-error ask",
        said="--on-error must be stop or skip, got 'ask'",
    ),
    Case(
        title="a model that there is not",
        command="classify fine --model sentiment-xx",
        said=f"no model called 'sentiment-xx'; {ANY}",
    ),
    Case(
        title="a damaged bundle",
        command=ONE,
        damage=cut("model/model.safetensors"),
        said=f"model/model.safetensors: damaged or not a safetensors file ({ANY})",
    ),
    Case(
        title="a bundle without its graphs' list of weights",
        command=ONE,
        damage=gone("model/onnx/weights.json"),
        said=f"model/onnx/weights.json: cannot be read ({ANY})",
    ),
    Case(
        title="a bundle of another kind",
        command=ONE,
        damage=changed("model/config.json", "kind", to="matcher"),
        said="model: expected a classifier, found kind 'matcher'",
    ),
    Case(
        title="two texts to `explain`",
        command="explain fine dull --model model",
        said="a classifier reads one text; give only one, in quotes",
    ),
    Case(
        title="a label outside of the model's, to evaluate on",
        command=EVALUATE,
        damage=labelled("texts.tsv", "positive", "great"),
        said="texts.tsv, row 3: label 'great' is not one of negative, positive",
    ),
    Case(
        title="no labels to evaluate on",
        command=EVALUATE,
        damage=file("texts.tsv", "text\nfine\n"),
        said='texts.tsv, row 1: no column "label"; found: text; expected: text, label; '
        "other names are given with --columns label=NAME",
    ),
    Case(
        title="nothing to evaluate on",
        command=EVALUATE,
        damage=file("texts.tsv", HEADER),
        said="texts.tsv: holds no rows",
    ),
    Case(
        title="`--order` for a classifier",
        command=f"{EVALUATE} --order",
        said="--order compares pairs; a classifier reads one text",
    ),
]
