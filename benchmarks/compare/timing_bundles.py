r"""A bundle of each way of each task after one step: as large and as fast as a trained one.

    python benchmarks compare timing_bundles --output runs/timing --sst2 DIR --snli DIR \
        --conll DIR --squad DIR --text ENWIKI --pieces vocab.txt --minilm BUNDLE \
        --vectors glove-50d.bin glove-100d.bin --reader-vectors glove-100d.bin

How many parameters a model has, and how long it takes to answer, follow from its settings and its
vocabulary, and not from what its weights are. So `compare.py --sizes-only` takes both from
these bundles, which a CPU makes in minutes; its options are printed at the end. Settings are those
by which the other benchmarks train, but for the precision, and all of train is read, from which
the vocabulary comes; of dev, the beginning. What these bundles answer is worth nothing.

Our BERT and the tagger's biLM are made first, in the sizes of their recipes, from a few lines of
`--text`. A bundle that is there is not made again. SST-2 is read as `classify.py prepare` writes
it.
"""

import argparse
import json
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.bert import tasks as bert_tasks
from benchmarks.classify import classify
from benchmarks.compare.compare_page import TASKS, WAYS
from benchmarks.esim import with_elmo
from benchmarks.read import read
from benchmarks.shared.side_by_side import Planned, train_all
from benchmarks.tag import tag

from softquery.files import find_shards
from softquery.files.text_lines import open_bytes, split_suffix

SEED = 1
ONE_STEP = ("training.max_steps=1", "training.precision=32-true")
LITTLE_HELD_BACK = "data.tune_share=0.001"
"""For those whose vocabulary does not come from the rows that are left to train on."""
TEXT_LINES, DEV_LINES, DEV_PARAGRAPHS = 4000, 200, 2


def shortened(folder: Path, target: Path) -> Path:
    """A folder with all of train, and of dev no more than its beginning."""
    target.mkdir(parents=True, exist_ok=True)
    for split in ("train", "dev"):
        (path,) = folder.glob(f"{split}.*")
        if split == "train":
            shutil.copyfile(path, target / path.name)
            continue
        form = split_suffix(path)[0]
        short = first_paragraphs(path) if form == ".json" else first_lines(path, DEV_LINES)
        (target / f"{split}{form}").write_text(short, encoding="utf-8")
    return target


def first_lines(path: Path, count: int) -> str:
    """The beginning of a file of lines."""
    with open_bytes(path) as file:
        return b"".join(file.readline() for _ in range(count)).decode("utf-8")


def first_paragraphs(path: Path) -> str:
    """The beginning of a file as SQuAD's."""
    with open_bytes(path) as file:
        article = json.loads(file.read())["data"][0]
    paragraphs = article["paragraphs"][:DEV_PARAGRAPHS]
    return json.dumps({"data": [{**article, "paragraphs": paragraphs}]}, ensure_ascii=False)


def little_text(folder: Path, target: Path) -> Path:
    """A few lines of a corpus, to train on and to measure on."""
    target.mkdir(parents=True, exist_ok=True)
    (valid,) = folder.glob("valid.*")
    for split, path in (("train", find_shards(folder)[0]), ("valid", valid)):
        count = TEXT_LINES if split == "train" else DEV_LINES
        (target / f"{split}.txt").write_text(first_lines(path, count), encoding="utf-8")
    return target


def bases(options: argparse.Namespace, text: Path) -> tuple[Planned, Planned]:
    """What others stand on: our BERT and the tagger's biLM."""
    pieces = (f"pieces.given={options.pieces}", "data.num_tokens=4096")
    bert = _planned("bert", "bert-mini-en", text, pieces)
    return bert, _planned("larger", "elmo-medium", text, ("data.num_streams=8",))


def variants(options: argparse.Namespace) -> Iterator[tuple[str, Planned]]:
    """All that the other benchmarks would train, each with the file of its rows."""
    vectors = tuple(options.vectors)
    for each in (*classify.VARIANTS, *classify.WITH_ELMO):
        settings = tuple(classify.settings(each, options))
        yield "classify/classify.jsonl", _planned(each.name, each.recipe, options.sst2, settings)
    for name, (recipe, own) in with_elmo.variants({"elmo-en": options.elmo}).items():
        name, _, seed = name.rpartition("-seed-")
        if int(seed) == SEED:
            run = _planned(name, recipe, options.snli, tuple(own), vectors)
            yield "esim/with_elmo.json", run
    for each in tag.variants(options.larger):
        run = _planned(each.name, each.recipe, options.conll, each.settings, vectors)
        yield "tag/tag.jsonl", run
    for each in read.variants(options):
        settings, given = each.settings, tuple(options.reader_vectors)
        if each.recipe == "bert-read":
            settings, given = (*settings, LITTLE_HELD_BACK), ()
        yield "read/read.jsonl", _planned(each.name, each.recipe, options.squad, settings, given)
    for run in bert_tasks.runs(options):
        yield "bert/tasks.jsonl", replace(run, settings=(*run.settings, LITTLE_HELD_BACK))


def _planned(
    name: str,
    recipe: str,
    data: Path,
    settings: tuple[str, ...],
    vectors: tuple[Path, ...] = (),
) -> Planned:
    return Planned(
        name=name, recipe=recipe, data=data, seed=SEED, settings=settings, vectors=vectors
    )


def compared(options: argparse.Namespace) -> dict[tuple[str, str], Planned]:
    """Those that are compared, by task and way; each is named after both."""
    known = {(file, run.name): run for file, run in variants(options)}
    return {
        (task, way): replace(known[WAYS[way][task]], name=f"{task}-{slug(way)}")
        for task in TASKS
        for way in WAYS
    }


def slug(way: str) -> str:
    """A way as a part of a folder's name, such as `bert-random-weights`."""
    return re.sub(r"\W+", "-", way).lower()


def make(runs: Sequence[Planned], options: argparse.Namespace) -> None:
    """Train what is not there; its figures are thrown away."""
    missing = [run for run in runs if not run.bundle(options.output).is_dir()]
    with tempfile.TemporaryDirectory() as scratch:
        rows = Path(scratch) / "rows.jsonl"
        train_all(missing, work=options.output, results=rows, jobs=options.jobs, more=ONE_STEP)
    failed = [run.name for run in runs if not run.bundle(options.output).is_dir()]
    if failed:
        sys.exit(f"{options.output}: not made: {', '.join(failed)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for task in TASKS:
        parser.add_argument(f"--{task}", type=Path, required=True, help="its folder")
    parser.add_argument("--text", type=Path, required=True, help="train*.txt and valid.txt")
    parser.add_argument("--pieces", type=Path, required=True, help="our BERT's, one a line")
    parser.add_argument("--minilm", required=True, help="MiniLM, imported as a bundle")
    parser.add_argument("--elmo", default="elmo-en", help="the biLM of all but the tagger")
    parser.add_argument("--vectors", type=Path, nargs="+", required=True)
    parser.add_argument("--reader-vectors", type=Path, nargs="+", required=True)
    parser.add_argument("--output", type=Path, default=Path("runs/timing"))
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side")
    options = parser.parse_args()
    data = options.output / "data"
    for task in TASKS:
        setattr(options, task, shortened(getattr(options, task), data / task))
    under = bases(options, little_text(options.text, data / "text"))
    make(under, options)
    options.bert, options.larger = (str(run.bundle(options.output)) for run in under)
    options.seeds, options.characters = SEED, []
    runs = compared(options)
    make(list(runs.values()), options)
    for (task, way), run in runs.items():
        print("--bundle", shlex.quote(f"{task}/{way}={run.bundle(options.output)}"), "\\")


if __name__ == "__main__":
    main()
