"""The tables of benchmark pages, cell by cell, against the rows that lie beside them."""

import json
import re
import statistics
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import NamedTuple

import pytest

SCRIPT = "match.month"
ROOT = Path(__file__).resolve().parents[3]
BENCHMARKS = ROOT / "benchmarks"
pytestmark = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="the benchmarks are not here")


class Told(NamedTuple):
    """A row of a page: a piece of its first cell, and what cells must stand in it, in order."""

    first: str
    cells: list[str]


def rounded(value, digits=2, scale=100):
    """As people round: halves upwards. A share becomes points."""
    exact = Decimal(str(round(value * scale, 9)))
    return f"{exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):,}"


def spread(values, digits=2, scale=100):
    """Mean ± standard deviation, or one value."""
    mean = rounded(statistics.mean(values), digits, scale)
    if len(values) == 1:
        return mean
    return f"{mean} ± {rounded(statistics.stdev(values), digits, scale)}"


def interval(values, digits=1):
    return " to ".join(rounded(each, digits) for each in values)


def lines(name):
    return [json.loads(line) for line in (BENCHMARKS / name).read_text("utf-8").splitlines()]


def whole(name):
    return json.loads((BENCHMARKS / name).read_text("utf-8"))


def some(rows, name, part, metric):
    return [row[part][metric] for row in rows if row["name"] == name]


def masks() -> Iterator[Told]:
    for row in whole("bert/fill.json")["rows"]:
        cells = []
        for metric in ("top_1", "top_5"):
            cells += [f"{rounded(row[metric], 1)} %", interval(row[f"{metric}_interval"])]
        for metric in ("one_piece", "top_1_of_one_piece", "top_5_of_one_piece"):
            cells.append(f"{rounded(row[metric], 1)} %")
        cells += [rounded(row[each], 1, 1) for each in ("ms_median", "ms_p95")]
        yield Told(f"`{row['model']}`", cells)


def fine_tuned() -> Iterator[Told]:
    rows = lines("bert/tasks.jsonl")
    for task, metric, told in (("sst2", "accuracy", "SST-2 ("), ("snli", "accuracy", "SNLI-100k"),
                               ("conll", "f1", "CoNLL-2003, F1")):  # fmt: skip
        made = [some(rows, f"{how}-{task}", "dev", metric) for how in ("random", "pretrained")]
        gain = statistics.mean(made[1]) - statistics.mean(made[0])
        yield Told(told, [*map(spread, made), rounded(gain, 1)])


def probed() -> Iterator[Told]:
    found = whole("probes/probes.json")
    sets = [found["senses"]["semcor"]["systems"], found["senses"]["semeval2007"]["systems"]]
    for name, key in (("first sense", "first sense"), ("commonest sense", "commonest sense"),
                      *((f"layer {each}", f"elmo-en layer {each}") for each in range(3)),
                      ("mean of layers", "elmo-en mean of layers"), ("word2vec", "word2vec-100d"),
                      ("translator, layer 0", "en-de-transformer-seed-1 layer 0"),
                      ("translator, layer 4", "en-de-transformer-seed-1 layer 4")):  # fmt: skip
        yield Told(name, [rounded(each[key]["accuracy"], 1) for each in sets])
    tags = found["tags"]["dev"]["systems"]
    for name, key in (("commonest tag of each word", "commonest tag"),
                      *((f"layer {each}", f"elmo-en layer {each}") for each in range(3)),
                      ("word2vec", "word2vec-100d")):  # fmt: skip
        yield Told(name, [rounded(tags[key]["accuracy"], 1)])


def with_elmo() -> Iterator[Told]:
    rows = [{**row, "name": key.rpartition("-seed-")[0]}
            for key, row in whole("esim/with_elmo.json").items()]  # fmt: skip
    for name in ("plain", "wide", "wide-both", "elmo-en", "elmo-en-both", "larger", "drop",
                 "adapted", "norm", "elmo-en-cased", "original", "original-tuned"):  # fmt: skip
        dev = some(rows, name, "dev", "accuracy")
        held = statistics.mean(some(rows, name, "tune", "accuracy"))
        best = statistics.mean(some(rows, name, "training", "best_epoch"))
        yield Told(f"`{name}`", [str(len(dev)), rounded(held), rounded(statistics.mean(dev)),
                                 rounded(statistics.stdev(dev)), rounded(best, 0, 1)])  # fmt: skip


def names() -> Iterator[Told]:
    rows = lines("tag/tag.jsonl")
    for name in ("plain", "original", "elmo", "elmo-both", "elmo-adapted", "elmo-shipped"):
        parts = [spread(some(rows, name, part, "f1")) for part in ("tune", "dev")]
        yield Told(f"(`{name}`)", parts)
    for name in ("elmo-last", "elmo-lambda-1", "elmo-lambda-0.001", "elmo-gamma-1", "elmo-output"):
        parts = [spread(some(rows, name, part, "f1")) for part in ("tune", "dev")]
        (best,) = some(rows, name, "training", "best_epoch")
        yield Told(f"(`{name}`)", [*parts, str(best)])


def classified() -> Iterator[Told]:
    rows = lines("classify/classify.jsonl")
    for name, told in (("sst2", "`attention-bilstm`"), ("sst2-elmo", "`attention-bilstm-elmo`")):
        parts = [spread(some(rows, name, part, "accuracy")) for part in ("tune", "dev")]
        yield Told(told, parts)
        five = name.replace("sst2", "sst5")
        parts = [spread(some(rows, five, part, "accuracy")) for part in ("tune", "dev")]
        yield Told(f"{told}, five grades", parts)
    parts = [spread(some(rows, "sentiment", part, "accuracy")) for part in ("tune", "dev")]
    yield Told("mean ± standard deviation", parts)


def couplets() -> Iterator[Told]:
    rows = [row for row in lines("generate/couplets.jsonl") if row["recipe"] == "couplet-zh"]
    for name, told in (("verses", "verses"), ("couplets", "couplets"), ("both", "both: verses")):
        got = {each: some(rows, name, "dev", each) for each in rows[0]["dev"]}
        perplexity = spread(got["perplexity"], 0 if name == "verses" else 1, 1)
        alone = rounded(statistics.mean(got["ranked_first_by_likelihood"]), 1)
        yield Told(told, [perplexity, spread(got["ranked_first"], 1), alone,
                          rounded(statistics.mean(got["mean_reciprocal_rank"]), 3, 1),
                          rounded(statistics.mean(got["bleu"]), 1, 1)])  # fmt: skip


def translated() -> Iterator[Told]:
    rows = lines("generate/translate.jsonl")
    for name, told in (("de-en-rnn", "de → en, no"), ("de-en-bahdanau", "de → en, additive"),
                       ("de-en-luong", "de → en, Luong"), ("de-en-transformer", "de → en, Tr"),
                       ("en-de-transformer", "en → de"),
                       ("en-fr-transformer", "en → fr")):  # fmt: skip
        greedy, beam = (some(rows, name, "dev", each) for each in ("bleu_greedy", "bleu"))
        chrf, perplexity = (statistics.mean(some(rows, name, "dev", each))
                            for each in ("chrf", "perplexity"))  # fmt: skip
        yield Told(told, [spread(greedy, 1, 1), spread(beam, 1, 1), rounded(chrf, 1, 1),
                          rounded(perplexity, 2, 1)])  # fmt: skip


def beside_gensim() -> Iterator[Told]:
    for file in ("word2vec/word2vec.json", "word2vec/word2vec_gpu.json"):
        for row in whole(file)["summary"]:
            if "analogies" not in row:
                continue
            who = {"numba": "softquery, numba", "gensim": "gensim 4", "torch": "GPU"}
            kind = {"skipgram": "skip-gram", "cbow": "CBOW"}[row["architecture"]]
            half = rounded(row["analogies_spread"] / 2, 1, 1)
            yield Told(f"{kind} | {who[row['contestant']]}", [
                f"{rounded(row['analogies'], 2, 1)} ± {half}",
                rounded(row["wordsim"], 2, 1), rounded(row["simlex"], 2, 1),
            ])  # fmt: skip


def raced() -> Iterator[Told]:
    for name, row in whole("match/match.json")["rows"].items():
        yield Told(name, [f"{1000 * row['pair_s']:.2f}", f"{32 / row['batch32_s']:,.0f}",
                          f"{row['startup_s']:.2f}", f"{row['peak_mb']:.0f}"])  # fmt: skip


def esim_parts() -> Iterator[Told]:
    rows = whole("esim/snli.json")
    for told, name in (("whole, seed 1", "seed-1"), ("GRU for LSTM", "gru"),
                       ("no alignment", "no-alignment"), ("without a |", "without-own"),
                       ("without ã", "without-aligned"), ("a − ã |", "without-difference"),
                       ("a ⊙ ã |", "without-product"), ("| 32 |", "batch-32"),
                       ("| 512 |", "batch-512")):  # fmt: skip
        tune, dev = rows[name]["tune"], rows[name]["dev"]
        yield Told(told, [rounded(tune["accuracy"]), rounded(dev["accuracy"]),
                          interval(dev["accuracy_interval"])])  # fmt: skip


def read() -> Iterator[Told]:
    for row in lines("read/read.jsonl"):
        dev, training = row["dev"], row["training"]
        yield Told("| ", [str(row["seed"]), str(training["best_epoch"]), rounded(row["tune"]["f1"]),
                          rounded(dev["f1"]), interval(dev["f1_interval"]),
                          rounded(dev["exact_match"])])  # fmt: skip


def yardsticks() -> Iterator[Told]:
    found = whole("match/shipped.json")
    cross, teachers = found["minilm_l6_cross_encoder"], found["teachers"]
    for told, model, name in (("SNLI, second", "nli-en", "snli_100k"),
                              ("counterfactual", "nli-en", "snli_cad"),
                              ("qqp_20k, second", "match-en", "qqp_20k")):  # fmt: skip
        theirs = cross[model][name]["accuracy"], teachers[model][name]
        yield Told(told, [rounded(each, 1) for each in theirs])


def widths() -> Iterator[Told]:
    for width, row in whole("match/width.json")["widths"].items():
        times = rounded(row["pair_ms"], 2, 1), rounded(row["rank_ms"], 1, 1)
        yield Told(f"| {width} |", [*times, rounded(row["nli-en"]), rounded(row["match-en"])])


def small() -> Iterator[Told]:
    """Means over samples, of texts, pairs and tags from 30 to 1,000 rows."""
    found: dict[tuple[str, int], dict[str, list[float]]] = {}
    for row in lines("small/few.jsonl"):
        names = found.setdefault((row["set"], row["rows"]), {})
        names.setdefault(row["name"], []).append(row["accuracy"])
    for row in lines("small/pairs.jsonl"):
        names = found.setdefault((row["set"], row["rows"]), {})
        for name in ("train match", "untouched", "cosine"):
            names.setdefault(name, []).append(row[name])
    for row in lines("small/tags.jsonl"):
        names = found.setdefault((f"{row['set']} | `{row['base']}`", row["rows"]), {})
        names.setdefault("f1", []).append(row["f1"])
    for (name, rows), values in found.items():
        order = sorted(values, key=lambda each: ("few" not in each, "tfidf" not in each, each))
        order = order if "classify-few" in values else list(values)
        cells = [rounded(statistics.mean(values[each]), 1) for each in order]
        yield Told(f"| {name} | {rows:,} |", cells)


def tuned() -> Iterator[Told]:
    """Fine-tuning, and SetFit's recipe, beside quick ways on the same samples."""
    quick: dict[tuple[str, int, int], dict[str, float]] = {}
    for row in lines("small/few.jsonl"):
        names = quick.setdefault((row["set"], row["rows"], row["sample"]), {})
        names[row["name"]] = row["accuracy"]
    found: dict[tuple[str, int, str], list[tuple[float, dict[str, float]]]] = {}
    for row in lines("small/tuned.jsonl"):
        key = (row["set"], row["rows"], row["name"].removesuffix("-kept"))
        beside = quick[row["set"], row["rows"], row["sample"]]
        found.setdefault(key, []).append((row["accuracy"], beside))
    for (name, rows, what), each in found.items():
        larger = "minilm-10" if "minilm-10" in each[0][1] else "simbert-10"
        cells = [str(len(each)), what, rounded(statistics.mean(own for own, _ in each), 1)]
        for other in ("classify-few", larger):
            cells.append(rounded(statistics.mean(beside[other] for _, beside in each), 1))
        yield Told(f"| {name} | {rows:,} |", cells)


def published() -> Iterator[Told]:
    for row in lines("published/published.jsonl"):
        cells = [f"{row['rows']:,}", f"{row['n']:,}", rounded(row["value"], 1)]
        yield Told(f"| {row['set']} | `{row['recipe']}`", [*cells, interval(row["interval"])])


def few_chinese_pairs() -> Iterator[Told]:
    for row in lines("match/cross_encoders_zh.jsonl"):
        dev, training = row["dev"], row["training"]
        yield Told(f"(`{row['name']}`)", [
            rounded(dev["accuracy"], 1), interval(dev["accuracy_interval"]),
            rounded(dev["auc"], 3, 1), str(training["epochs"]),
        ])  # fmt: skip


def adapted() -> Iterator[Told]:
    rows = whole("embed/adapt.json")
    for name in dict.fromkeys(row["set"] for row in rows):
        own = [row for row in rows if row["set"] == name]
        first = {each: [row["first"] for row in own if row["system"] == each]
                 for each in ("before", "adapted", "teacher")}  # fmt: skip
        cells = [f"{own[-1]['texts']:,}", *map(spread, first.values())]
        yield Told(f"`{name}`", cells)


def quiet_ray() -> Iterator[Told]:
    found = whole("scale/ray_quiet.json")
    (run,) = found["rounds"]
    for told, each in (("two bare processes, half", run["bare"]), ("Ray, two actors", run["ray"])):
        pace = f"{found['pairs'] / each['seconds']:,.0f}"
        share = rounded(
            run["bare"]["seconds"] / each["seconds"], 0 if each is run["bare"] else 2, 1
        )
        cells = [rounded(each["seconds"], 1, 1), pace, rounded(each["cpu"], 1, 1), share]
        yield Told(told, cells)


PAGES = {
    "scale/README.md": (quiet_ray,),
    "embed/adapt.md": (adapted,),
    "bert/README.md": (masks, fine_tuned),
    "probes/README.md": (probed,),
    "esim/README.md": (esim_parts,),
    "esim/with_elmo.md": (with_elmo,),
    "read/README.md": (read,),
    "tag/README.md": (names,),
    "classify/README.md": (classified,),
    "generate/couplets.md": (couplets,),
    "generate/README.md": (translated,),
    "word2vec/README.md": (beside_gensim,),
    "match/README.md": (raced, yardsticks, widths, few_chinese_pairs),
    "small/README.md": (small, tuned),
    "published/README.md": (published,),
}


def stands(told, page):
    """Whether a row has the first cell and then the others, in order, among its own."""
    for line in page.splitlines():
        if not line.startswith("|") or told.first not in line:
            continue
        cells = (cell.strip().split(" (")[0] for cell in line.replace("*", "").split("|"))
        if all(each in cells for each in told.cells):  # `in` takes what it passes by
            return True
    return False


@pytest.mark.parametrize("page", PAGES)
def test_the_tables_show_the_rows(page):
    text = (BENCHMARKS / page).read_text("utf-8")
    claims = [told for claim in PAGES[page] for told in claim()]
    assert claims
    assert [told for told in claims if not stands(told, text)] == []


def test_the_guide_on_masks_says_what_was_found():
    (row,) = whole("bert/fill.json")["rows"]
    guide = (ROOT / "docs/bert-tasks.md").read_text("utf-8")
    first, five = (f"{rounded(row[each], 1)} %" for each in ("top_1", "top_5"))
    assert f"first answer is right for {first}, one of its first five for {five}" in guide


def test_the_pages_on_bert_say_what_few_chinese_pairs_gave():
    rows = {row["name"]: row for row in lines("match/cross_encoders_zh.jsonl")}
    assert "esim-bq" in rows
    for page in ("docs/esim-against-bert.md", "docs/zh/esim-against-bert.md"):
        text = (ROOT / page).read_text("utf-8")
        for row in rows.values():
            assert rounded(row["dev"]["accuracy"], 1) in text, (page, row["name"])


def test_the_page_on_translators_says_what_became_of_the_small_one():
    row = whole("generate/cove.json")
    page = " ".join((BENCHMARKS / "generate/README.md").read_text("utf-8").split())
    dev, steps = row["dev"], row["training"]["steps"]
    told = f"perplexity of {rounded(dev['perplexity'], 0, 1)} per word and a BLEU of "
    assert f"{told}{rounded(dev['bleu'], 1, 1)} on the first {dev['n']} pairs" in page
    assert f"one pass in {steps} steps" in page


def test_the_page_on_bert_has_the_figures_that_it_reckons_with(script):
    page = (ROOT / "docs/esim-against-bert.md").read_text("utf-8")
    rows = [*script.speeds(), *script.months(rate=10, load=0.5, watts=10)]
    assert [row for row in rows if row not in page] == []
    translated = (ROOT / "docs/zh/esim-against-bert.md").read_text("utf-8").splitlines()
    whose = tuple(f"| {name}" for name in script.WHO.values())
    for row in (row for row in rows if row.startswith(whose)):
        figures = re.findall(r"\d[\d.,]*(?![\d.,]* million)", row.partition(" | ")[2])
        assert any(all(each in line for each in figures) for line in translated), row
    source = (BENCHMARKS / "match/README.md").read_text("utf-8")
    for told in ("SNLI", "counterfactual SNLI", "Quora pairs"):
        (row,) = re.findall(rf"^\| {told} \|.*", page, re.MULTILINE)
        ours, _, *others = re.findall(r"\d\d\.\d|–", row)
        of = {"Quora pairs": "qqp_20k"}.get(told, told)
        figures = " | ".join([ours, *(f"{other} (all of dev)" for other in others)])
        assert re.search(
            rf"^\| {of}, second half.* \| {re.escape(figures)} \|", source, re.MULTILINE
        )


def test_a_row_that_says_something_else_is_found():
    page = "| a | seeds | 1.5 ± 0.1 | **2.0** (one way) |\n"
    assert stands(Told("a", ["1.5 ± 0.1", "2.0"]), page)
    assert not stands(Told("a", ["2.0", "1.5 ± 0.1"]), page)
    assert not stands(Told("a", ["1.5"]), page)
    assert not stands(Told("b", []), page)
    assert rounded(0.34345, 2) == "34.35"
    assert spread([0.5, 0.6], 0) == "55 ± 7"
