"""Bad input for `softquery calibrate`, `explain` and `bench`, which ask an exported model."""

from pathlib import Path

from hostile_cases import ANY, HEADER, Case, Damage, both, cut, file, labelled, rows

FITTED = "calibrate model --data test.tsv"
WHY = "explain 'a man eats' 'somebody eats' --model model"
TIMED = "bench match --model model"
DOMAINS = "sentence1\tsentence2\tlabel\tdomain\n"
SOME_CHAT = "a man eats\tsomebody eats\tsame\tchat\na man\ta cat\tdifferent\tchat\n" * 20
ALIKE = b"a man eats\tsomebody eats\tsame\na man eats\tsomebody eats\tdifferent\n"


def folder(name: str) -> Damage:
    """Put a folder there."""
    return lambda place: (place / name).mkdir()


def without_graphs(place: Path) -> None:
    """A bundle as it is before its export."""
    for path in (place / "model" / "onnx").iterdir():
        path.unlink()
    (place / "model" / "onnx").rmdir()


CALIBRATE = [
    Case(
        title="a model that does not exist",
        command="calibrate nli-xx --data test.tsv",
        said=f"no model called 'nli-xx'; {ANY}shipped: {ANY}; local: none",
    ),
    Case(
        title="a folder that is no model",
        command="calibrate data --data test.tsv",
        said="data: incomplete model folder, config.json and tokenizer.json and "
        "model.safetensors and metrics.json and README.md missing",
    ),
    Case(
        title="no `--data`",
        command="calibrate model",
        said="missing option '--data'; see softquery calibrate --help",
    ),
    Case(
        title="data that is not there",
        command="calibrate model --data none.tsv",
        said="none.tsv: no such file",
    ),
    Case(
        title="rows without labels",
        command=FITTED,
        damage=file("test.tsv", "sentence1\tsentence2\na\tb\n"),
        said='test.tsv, row 1: no column "label"; found: sentence1, sentence2; expected: '
        "sentence1, sentence2, label; other names are given with --columns label=NAME",
    ),
    Case(
        title="a header and no rows",
        command=FITTED,
        damage=file("test.tsv", HEADER),
        said="test.tsv: holds no rows",
    ),
    Case(
        title="too few rows",
        command=FITTED,
        damage=labelled("test.tsv", *["same"] * 19),
        said="test.tsv: 19 rows are too few to calibrate on; expected at least 20",
    ),
    Case(
        title="a label that the model does not know",
        command=FITTED,
        damage=rows("test.tsv", b"a man\ta woman\tmaybe\n"),
        said="test.tsv, row 3: label 'maybe' is not one of different, same",
    ),
    Case(
        title="a row with a column too few",
        command=FITTED,
        damage=rows("test.tsv", b"a man\ta woman\n"),
        said="test.tsv, row 3: expected 3 columns (sentence1, sentence2, label), found 2",
    ),
    Case(
        title="rows sorted by their label",
        command=FITTED,
        damage=labelled("test.tsv", *["different"] * 20, *["same"] * 20),
        said="test.tsv: first half: cannot choose a threshold: no row is positive",
    ),
    Case(
        title="a precision that no threshold reaches",
        command=f"{FITTED} --aim precision=0.99",
        damage=file("test.tsv", HEADER + 20 * ALIKE),
        said="test.tsv: first half: no threshold reaches precision 0.99; the best is 0.5000",
    ),
    Case(
        title="a file named twice",
        command=f"{FITTED} --data ./test.tsv",
        said="test.tsv: is given twice; every source counts once",
    ),
    Case(
        title="a second file that is not there",
        command=f"{FITTED} --data none.tsv",
        said="none.tsv: no such file",
    ),
    Case(
        title="a source of too few rows",
        command=f"{FITTED} --data few.tsv",
        damage=labelled("few.tsv", *["same", "different"] * 5),
        said="few.tsv: source 'few': 10 rows are too few to calibrate on; expected at least 20",
    ),
    Case(
        title="sources sorted by their label",
        command="calibrate model --data one.tsv --data two.tsv",
        damage=both(
            labelled("one.tsv", *["different"] * 20, *["same"] * 20),
            labelled("two.tsv", *["different"] * 20, *["same"] * 20),
        ),
        said="first halves of all sources: cannot choose a threshold: no row is positive",
    ),
    Case(
        title="`--by` with a column that the file lacks",
        command=f"{FITTED} --by domain",
        said="test.tsv: no column 'domain' for --by; found: sentence1, sentence2, label",
    ),
    Case(
        title="`--by` with a column that the model reads",
        command=f"{FITTED} --by label",
        said="--by label: expected a column other than those that the model reads",
    ),
    Case(
        title="`--by` with a column that a row leaves empty",
        command=f"{FITTED} --by domain",
        damage=file("test.tsv", DOMAINS + SOME_CHAT + "a\tb\tsame\t\n"),
        said="test.tsv, row 42: column 'domain' is empty; expected the name of a source",
    ),
    Case(
        title="`--by` with a source of too few rows",
        command=f"{FITTED} --by domain",
        damage=file("test.tsv", DOMAINS + SOME_CHAT + "a\tb\tsame\tmail\n"),
        said="test.tsv: source 'mail': 1 row is too few to calibrate on; expected at least 20",
    ),
    Case(
        title="an unknown `--aim`",
        command=f"{FITTED} --aim recall=0.9",
        said="--aim must be f1, none or precision=0.95 (0 to 1), got 'recall=0.9'",
    ),
    Case(
        title="a precision of more than all",
        command=f"{FITTED} --aim precision=95",
        said="--aim must be f1, none or precision=0.95 (0 to 1), got 'precision=95'",
    ),
    Case(
        title="`--abstain-below` outside of 0 to 1",
        command=f"{FITTED} --abstain-below 60",
        said=f"invalid value for '--abstain-below': {ANY}; see softquery calibrate --help",
    ),
    Case(
        title="`--abstain-below` that is no number",
        command=f"{FITTED} --abstain-below often",
        said=f"invalid value for '--abstain-below': {ANY}; see softquery calibrate --help",
    ),
    Case(
        title="a calibration with a negative temperature",
        command=FITTED,
        damage=file("model/calibration.json", '{"temperature": -1}'),
        said="model/calibration.json: temperature must be a number from 1e-6 to 1e6, got -1",
    ),
    Case(
        title="a calibration with a bias for another number of labels",
        command=FITTED,
        damage=file("model/calibration.json", '{"bias": [0, 1, 2]}'),
        said="model/calibration.json: bias has 3 numbers for 2 labels",
    ),
    Case(
        title="a calibration with a bias that is no list of numbers",
        command=FITTED,
        damage=file("model/calibration.json", '{"bias": "much"}'),
        said="model/calibration.json: bias must be a number for each label, got 'much'",
    ),
    Case(
        title="a calibration with negative growth",
        command=FITTED,
        damage=file("model/calibration.json", '{"growth": -1}'),
        said="model/calibration.json: growth must be a number from 0 to 1e6, got -1",
    ),
    Case(
        title="a calibration with NaN",
        command=FITTED,
        damage=file("model/calibration.json", '{"temperature": NaN}'),
        said="model/calibration.json: broken JSON: NaN is not a JSON number",
    ),
    Case(
        title="a bundle without permission to write to it",
        command=FITTED,
        needs=frozenset({"nobody"}),
        said=f"model: cannot be written ({ANY})",
    ),
    Case(
        title="answers that lead to a full disk",
        command=FITTED,
        said="standard output: cannot be written (no space left on the disk)",
        left="`model`, calibrated",
        touched="model",
        answers="/dev/full",
    ),
]

EXPLAIN = [
    Case(
        title="one sentence",
        command="explain 'a man eats' --model model",
        said="give two sentences, each in quotes",
    ),
    Case(
        title="three sentences",
        command="explain a b c --model model",
        said=f"got unexpected extra argument{ANY} (c); see softquery explain --help",
    ),
    Case(
        title="an empty sentence",
        command="explain 'a man eats' ' ' --model model",
        said="sentence2 is empty",
    ),
    Case(
        title="a model that does not exist",
        command="explain a b --model nli-xx",
        said=f"no model called 'nli-xx'; {ANY}shipped: {ANY}; local: none",
    ),
    Case(
        title="a layer of a matcher",
        command="explain a b --model model --layer 1",
        said="--layer and --head are for an encoder, such as bert-mini-en",
    ),
    Case(
        title="a form that is not known, told before the model is opened",
        command="explain a b --model nli-xx --output why.bmp",
        said="why.bmp: expected a name that ends in .html, .svg, .png or .json",
    ),
    Case(
        title="a name without an ending",
        command=f"{WHY} --output why",
        said="why: expected a name that ends in .html, .svg, .png or .json",
    ),
    Case(
        title="a picture in a folder that is not there",
        command=f"{WHY} --output none/why.html",
        said="none/why.html: cannot be written (no such folder)",
    ),
    Case(
        title="a picture where a folder is",
        command=f"{WHY} --output why.svg",
        damage=folder("why.svg"),
        said="why.svg: cannot be written (is a folder)",
        left="`why.svg` as it was",
    ),
    Case(
        title="a picture on a full disk",
        command=f"{WHY} --output full/why.html",
        needs=frozenset({"disk"}),
        said="full/why.html: cannot be written (no space left on the disk)",
    ),
    Case(
        title="an unknown backend",
        command=f"{WHY} --backend tensorrt",
        said="backend must be 'auto', 'onnx' or 'torch', got 'tensorrt'",
    ),
    Case(
        title="a model that was not exported, on ONNX Runtime",
        command=f"{WHY} --backend onnx",
        damage=without_graphs,
        said=f"model: not exported yet; run {ANY} on it",
    ),
    Case(
        title="a graph that breaks off",
        command=WHY,
        damage=cut("model/onnx/compare.onnx"),
        said=f"model/onnx/compare.onnx: cannot be run ({ANY})",
    ),
    Case(
        title="a calibration in words",
        command=WHY,
        damage=file("model/calibration.json", '{"threshold": "high"}'),
        said="model/calibration.json: threshold must be a number from 0 to 1, got 'high'",
    ),
    Case(
        title="a calibration that is a list",
        command=WHY,
        damage=file("model/calibration.json", "[]"),
        said="model/calibration.json: expected a JSON object, found list",
    ),
    Case(
        title="answers that lead to a full disk",
        command=WHY,
        said="standard output: cannot be written (no space left on the disk)",
        answers="/dev/full",
    ),
]

BENCH = [
    Case(
        title="a benchmark that does not exist",
        command="bench speed --model model",
        said="unknown benchmark 'speed' (known: match, rates, serve)",
    ),
    Case(
        title="no benchmark",
        command="bench",
        said=f"missing argument {ANY}; see softquery bench --help",
    ),
    Case(
        title="two benchmarks",
        command="bench match rank --model model",
        said=f"got unexpected extra argument{ANY} (rank); see softquery bench --help",
    ),
    Case(
        title="no threads",
        command=f"{TIMED} --threads 0",
        said=f"invalid value for '--threads': {ANY}; see softquery bench --help",
    ),
    Case(
        title="no rounds",
        command=f"{TIMED} --rounds 0",
        said=f"invalid value for '--rounds': {ANY}; see softquery bench --help",
    ),
    Case(
        title="half a round",
        command=f"{TIMED} --rounds 0.5",
        said=f"invalid value for '--rounds': {ANY}; see softquery bench --help",
    ),
    Case(
        title="a time before now",
        command=f"{TIMED} --seconds -1",
        said=f"invalid value for '--seconds': {ANY}; see softquery bench --help",
    ),
    Case(
        title="a picture in another form",
        command=f"{TIMED} --picture bench.jpg",
        said="--picture must end in .png, got 'bench.jpg'",
    ),
    Case(
        title="a picture in a folder that is not there",
        command=f"{TIMED} --picture none/bench.png",
        said="none/bench.png: cannot be written (no such folder)",
    ),
    Case(
        title="a picture where a folder is",
        command=f"{TIMED} --picture bench.png",
        damage=folder("bench.png"),
        said="bench.png: cannot be written (is a folder)",
        left="`bench.png` as it was",
    ),
    Case(
        title="an option that does not exist",
        command=f"{TIMED} --gpu",
        said=f"no such option: --gpu{ANY}; see softquery bench --help",
    ),
]
