r"""Few labels: `classify-few` beside what one would pick instead, from 30 to 1,000 rows.

    python benchmarks small few --data DATA --output few.jsonl \
        --bundle minilm=MINILM --bundle simbert=SIMBERT
    python benchmarks small few --show few.jsonl --beside tuned.jsonl --figure few.svg

Contestants, each on the same samples:

- classify-few: the recipe by its defaults, run as `softquery train` runs it;
- tfidf: TF-IDF with logistic regression (scikit-learn's defaults; for Chinese, which has no spaces,
  characters and pairs of them); tfidf-10 is the same with C = 10;
- one per `--bundle NAME=FOLDER`, a sentence encoder: its vectors with logistic regression, C = 1
  and C = 10 (NAME-10). Those of `CHINESE` are tried on Chinese sets, all others on English ones;
- with `--tuned`, in a run of its own because it takes long: the same, each with C chosen from those
  that classify-few tries, by accuracy in five folds (tfidf-cv, NAME-cv);
- with `--slow`, likewise: `classify-tuned`, that recipe by its defaults, and `setfit`, SetFit's
  recipe on the encoder of `--bundle setfit=FOLDER`.

Every sample is drawn with its own number as the seed; 500 other rows are what it is measured on.
"""

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.small.few_figure import draw
from benchmarks.small.small import sample, write_folder

import softquery as sq
from softquery.recipes import override, recipe
from softquery.recipes.few_labels import HeadSettings
from softquery.running.few_labels.train_few_labels import train_few_labels
from softquery.running.run_options import RunOptions

ENGLISH = {
    "sst2": "classification/sst2",
    "trec": "classification/trec",
    "hwu64": "intents/hwu64",
    "stackoverflow20": "intents/stackoverflow20",
}
CHINESE_SETS = {
    "chnsenticorp": "classification/chnsenticorp",
    "tnews": "classification/tnews",
    "smp2017": "intents/zh_smp2017",
    "zh_ms_skills": "intents/zh_ms_skills",
}
SETS = {**ENGLISH, **CHINESE_SETS}
CHINESE = ("simbert",)
"""Bundles that read Chinese."""
COSTS = ("", "-10", "-cv")
"""What stands behind the name of a contestant for its C: 1, 10, or by cross-validation."""
SLOW = ("classify-tuned", "setfit")
"""Those that train an encoder, and are run by themselves."""
Scored = Iterator[tuple[str, float, float]]
"""Name, accuracy and seconds of each contestant."""
Split = tuple[list[str], list[str]]
"""Texts and labels."""


class Quiet:
    """An observer that shows nothing."""

    def begin(self, total_steps: int, done: int) -> None:
        """Nothing is shown."""

    def step(self, done: int, facts: dict[str, float]) -> None:
        """Nothing is shown."""

    def epoch(self, number: int, facts: dict[str, float], improved: bool) -> None:
        """Nothing is shown."""


def split_of(items: list[str]) -> Split:
    """Rows `text<TAB>label` as texts and labels."""
    parts = [item.rpartition("\t") for item in items]
    return [text for text, _, _ in parts], [label for _, _, label in parts]


def few(train: list[str], dev: list[str], seed: int, name: str = "classify-few") -> Scored:
    """A recipe, from files to a bundle; one that was fine-tuned is NAME-kept."""
    with tempfile.TemporaryDirectory() as made:
        write_folder(Path(made), "classification", {"train": train, "dev": dev})
        options = RunOptions(
            data=made, output=f"{made}/model", observer=Quiet(), say=lambda line: None
        )
        run = override(recipe(name), [f"training.seed={seed}"])
        began = time.monotonic()
        bundle = train_few_labels(run, options)
        seconds = time.monotonic() - began
        metrics = json.loads((bundle / "metrics.json").read_text(encoding="utf-8"))
    is_tuned = metrics["training"].get("tuning", {}).get("kept", False)
    yield f"{name}-kept" if is_tuned else name, metrics["dev"]["accuracy"], seconds


Judge = Callable[[str, Any, list[str], Any, list[str], float], Scored]
"""Fits to rows and labels, and measures on others; given a name, and seconds that went before."""


def tfidf(train: Split, dev: Split, judge: Judge, *, is_chinese: bool) -> Scored:
    """TF-IDF with logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    began = time.monotonic()
    words = (
        TfidfVectorizer(analyzer="char", ngram_range=(1, 2)) if is_chinese else TfidfVectorizer()
    )
    rows, others = words.fit_transform(train[0]), words.transform(dev[0])
    yield from judge("tfidf", rows, train[1], others, dev[1], time.monotonic() - began)


def logistic(
    name: str, rows: Any, labels: list[str], others: Any, gold: list[str], before: float
) -> Scored:
    """Logistic regression on rows, with C = 1 and C = 10."""
    from sklearn.linear_model import LogisticRegression

    for cost, shown in ((1.0, name), (10.0, f"{name}-10")):
        began = time.monotonic()
        model = LogisticRegression(C=cost, max_iter=1000).fit(rows, labels)
        yield shown, float(model.score(others, gold)), before + time.monotonic() - began


def tuned(seed: int) -> Judge:
    """Logistic regression with C by cross-validation."""

    def judge(
        name: str, rows: Any, labels: list[str], others: Any, gold: list[str], before: float
    ) -> Scored:
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GridSearchCV, KFold

        began = time.monotonic()
        search = GridSearchCV(
            LogisticRegression(max_iter=300),
            {"C": list(HeadSettings().costs)},
            cv=KFold(5, shuffle=True, random_state=seed),
        )
        search.fit(rows, labels)
        accuracy = float(search.score(others, gold))
        yield f"{name}-cv", accuracy, before + time.monotonic() - began

    return judge


class Vectors:
    """An encoder that remembers what it was asked.

    Args:
        folder: Its bundle.
    """

    def __init__(self, folder: str) -> None:
        self._encoder = sq.load(folder, threads=1)
        self._known: dict[str, Any] = {}

    def __call__(self, texts: list[str]) -> Any:
        """Vectors of texts, of length one."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._known]
        if fresh:
            self._known.update(zip(fresh, self._encoder.encode(fresh), strict=True))
        return np.stack([self._known[text] for text in texts])


def contest(
    folder: Path,
    num_rows: int,
    seed: int,
    encoders: dict[str, Callable[[list[str]], Any]],
    *,
    is_chinese: bool,
    is_tuned: bool,
) -> Scored:
    """All contestants on one sample."""
    rows, others = sample(folder, num_rows, seed)
    train, dev = split_of(rows), split_of(others)
    judge = tuned(seed) if is_tuned else logistic
    if not is_tuned:
        yield from few(rows, others, seed)
    yield from tfidf(train, dev, judge, is_chinese=is_chinese)
    for name, encode in encoders.items():
        yield from judge(name, encode(train[0]), train[1], encode(dev[0]), dev[1], 0.0)


def slow_contest(
    folder: Path, num_rows: int, seed: int, names: list[str], bundles: dict[str, str]
) -> Scored:
    """Those that train an encoder, on one sample."""
    rows, others = sample(folder, num_rows, seed)
    if "classify-tuned" in names:
        yield from few(rows, others, seed, "classify-tuned")
    if "setfit" in names:
        from benchmarks.small.setfit import setfit

        yield from setfit("setfit", bundles["setfit"], split_of(rows), split_of(others), seed)


def run_slow(given: argparse.Namespace) -> None:
    """Make the slow runs that the output lacks."""
    text = given.output.read_text(encoding="utf-8") if given.output.exists() else ""
    keys = ("set", "rows", "sample", "name")
    done = {
        tuple(map(json.loads(line.replace("-kept", "")).get, keys)) for line in text.splitlines()
    }
    bundles = dict(each.split("=", 1) for each in given.bundle)
    for name in given.sets.split(","):
        for num_rows in map(int, given.rows.split(",")):
            for seed in map(int, given.samples.split(",")):
                wanted = [
                    each
                    for each in given.slow.split(",")
                    if (name, num_rows, seed, each) not in done
                ]
                found = slow_contest(given.data / SETS[name], num_rows, seed, wanted, bundles)
                for contestant, accuracy, seconds in found:
                    line = {"set": name, "rows": num_rows, "sample": seed, "name": contestant}
                    line |= {"accuracy": round(accuracy, 4), "seconds": round(seconds, 2)}
                    with given.output.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(line) + "\n")
                    print(line, flush=True)


def run_all(given: argparse.Namespace) -> None:
    """Make the runs that the output lacks."""
    output: Path = given.output
    text = output.read_text(encoding="utf-8") if output.exists() else ""
    lines = [json.loads(line) for line in text.splitlines()]
    lines = [line for line in lines if line["name"] not in SLOW]
    lines = [line for line in lines if line["name"].endswith("-cv") == given.tuned]
    done = {tuple(line[key] for key in ("set", "rows", "sample")) for line in lines}
    bundles = dict(each.split("=", 1) for each in given.bundle)
    for name in given.sets.split(","):
        chinese = name in CHINESE_SETS
        encoders = {
            key: Vectors(place) for key, place in bundles.items() if (key in CHINESE) == chinese
        }
        for num_rows in map(int, given.rows.split(",")):
            for seed in map(int, given.samples.split(",")):
                if (name, num_rows, seed) in done:
                    continue
                found = list(
                    contest(
                        given.data / SETS[name],
                        num_rows,
                        seed,
                        encoders,
                        is_chinese=chinese,
                        is_tuned=given.tuned,
                    )
                )
                with output.open("a", encoding="utf-8") as file:
                    for contestant, accuracy, seconds in found:
                        line = {"set": name, "rows": num_rows, "sample": seed, "name": contestant}
                        line |= {"accuracy": round(accuracy, 4), "seconds": round(seconds, 2)}
                        file.write(json.dumps(line) + "\n")
                print(name, num_rows, seed, found[0], flush=True)


Means = dict[tuple[str, int], dict[str, list[float]]]


def read(path: Path) -> Means:
    """Accuracies in per cent by set and rows, and then by contestant."""
    found: Means = defaultdict(lambda: defaultdict(list))
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        found[line["set"], line["rows"]][line["name"]].append(100 * line["accuracy"])
    return found


def with_slow(means: Means, path: Path) -> Means:
    """The means with those of the slow contestants."""
    for key, each in read(path).items():
        for name, values in each.items():
            means[key][name.removesuffix("-kept")] += values
    return means


def show_slow(means: Path, slow: Path) -> None:
    """A table of the slow contestants, beside quick ones on the same samples."""
    quick: dict[tuple[str, int, int], dict[str, float]] = defaultdict(dict)
    for line in map(json.loads, means.read_text(encoding="utf-8").splitlines()):
        quick[line["set"], line["rows"], line["sample"]][line["name"]] = 100 * line["accuracy"]
    found: dict[tuple[str, int, str], dict[int, tuple[float, bool]]] = defaultdict(dict)
    for line in map(json.loads, slow.read_text(encoding="utf-8").splitlines()):
        name = line["name"].removesuffix("-kept")
        value = (100 * line["accuracy"], name != line["name"])
        found[line["set"], line["rows"], name][line["sample"]] = value
    print("| set | rows | samples | what | its accuracy | kept | classify-few | larger encoder |")
    print("|---|---|---|---|---|---|---|---|")
    for (name, rows, what), each in sorted(found.items()):
        beside = [quick[name, rows, sample] for sample in each]
        larger = "simbert-10" if name in CHINESE_SETS else "minilm-10"
        kept = sum(is_kept for _, is_kept in each.values())
        cells = [name, f"{rows:,}", str(len(each)), what]
        cells.append(f"{np.mean([value for value, _ in each.values()]):.1f}")
        cells.append(f"{kept} of {len(each)}" if what == "classify-tuned" else "")
        cells += [
            f"{np.mean([one[key] for one in beside]):.1f}" for key in ("classify-few", larger)
        ]
        print("| " + " | ".join(cells) + " |")


def names_of(chinese: bool) -> list[str]:
    """The columns of a table."""
    teacher = "simbert" if chinese else "minilm"
    return ["classify-few", *(f"{one}{cost}" for one in ("tfidf", teacher) for cost in COSTS)]


def show(means: Means) -> None:
    """A table for each language: means over samples and, of classify-few, the range."""
    for chinese, sets in ((False, ENGLISH), (True, CHINESE_SETS)):
        names = names_of(chinese)
        print("| set | rows | " + " | ".join(names) + " |\n|---|---|" + "---|" * len(names))
        totals: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for name in sets:
            for num_rows in sorted(rows for key, rows in means if key == name):
                found = means[name, num_rows]
                for each in names:
                    if found[each]:
                        totals[num_rows][each].append(float(np.mean(found[each])))
                print(f"| {name} | {num_rows:,} | " + _cells(found, names) + " |")
        for num_rows, found in totals.items():
            print(f"| mean | {num_rows:,} | " + _cells(found, names, with_range=False) + " |")
        print()


def _cells(found: dict[str, list[float]], names: list[str], *, with_range: bool = True) -> str:
    cells = [f"{np.mean(found[name]):.1f}" if found[name] else "" for name in names]
    if with_range:
        own = found[names[0]]
        cells[0] += f" ({min(own):.1f} to {max(own):.1f})"
    return " | ".join(cells)


def main() -> None:
    """Run, or show what was run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--bundle", action="append", default=[], help="NAME=FOLDER")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--rows", default="30,90,300,1000")
    parser.add_argument("--samples", default="1,2,3,4,5")
    parser.add_argument("--tuned", action="store_true", help="with C by cross-validation")
    parser.add_argument("--slow", default="", help=f"only these: {','.join(SLOW)}")
    parser.add_argument("--show", type=Path, help="print this output as tables")
    parser.add_argument("--beside", type=Path, help="the output of --slow, shown as well")
    parser.add_argument("--figure", type=Path, help="and draw it")
    given = parser.parse_args()
    if given.show is None:
        (run_slow if given.slow else run_all)(given)
        return
    means = read(given.show)
    show(means)
    if given.beside is not None:
        show_slow(given.show, given.beside)
        means = with_slow(means, given.beside)
    if given.figure is not None:
        draw(means, {False: list(ENGLISH), True: list(CHINESE_SETS)}, names_of, given.figure)


if __name__ == "__main__":
    main()
