import json
import lzma
import shutil

import pytest

pytest.importorskip("onnx", reason="export needs the extra [train]")
pytest.importorskip("sacrebleu", reason="BLEU needs sacrebleu ([train])")

from facts import FOLDER
from finish import finish, options_of
from gather_translations import gather

from small_generators import make_generator, some_texts
from softquery.bundle import RECORDS, read_bundle
from softquery.errors import BundleError, InputError
from softquery.runtime import load


def write_tsv(path, seed):
    rows = zip(some_texts(20, seed=seed), some_texts(20, seed=seed + 1), strict=True)
    path.write_text("source\ttarget\n" + "".join(f"{one}\t{other}\n" for one, other in rows))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finish")
    for seed in (1, 2):
        bundle = make_generator(folder / f"run-{seed}", "transformer")
        metrics = {
            "dev": {"bleu": 9.0 + seed, "perplexity": 5.0},
            "tune": {"bleu": 10.0 + seed, "n": 3},
            "training": {"seed": seed, "epochs": 2, "steps": 9, "seconds": 1.0},
        }
        (bundle / "metrics.json").write_text(json.dumps(metrics))
        (bundle / RECORDS).mkdir()
        settings = {"name": "translate-de-en", "training": {"seed": seed}}
        (bundle / RECORDS / "run.json").write_text(json.dumps(settings))
        (bundle / RECORDS / "log.csv").write_text("bulky\n")
    for number, name in enumerate(("dev", "captions")):
        write_tsv(folder / f"{name}.tsv", 10 * number)
    facts = json.loads((FOLDER / "translate-de-en.json").read_text(encoding="utf-8"))
    data = [{"name": "a", "rows": 9, "licence": "CC BY 2.0"}]
    facts = {**facts, "dev": "dev", "licence": "cc-by-2.0", "data": data}
    (folder / "facts.json").write_text(json.dumps(facts))
    return folder


def arguments(place, output, *more, runs=("run-1", "run-2")):
    seeds = [str(place / run) for run in runs]
    sets = ["--data", str(place), f"--also=captions={place / 'captions.tsv'}"]
    files = ["--facts", str(place / "facts.json")]
    where = ["--output", str(place / output)]
    return options_of(["translate-de-en", "--runs", *seeds, *sets, *files, *where, *more])


@pytest.fixture(scope="module")
def finished(place):
    return finish(arguments(place, "out", "--gate", "50"))


def test_a_bundle_is_written_that_says_what_was_measured(place, finished):
    metrics, found = finished
    bundle = read_bundle(place / "out")
    assert bundle.metrics == json.loads(json.dumps(metrics))
    assert set(metrics["sets"]) == {"dev", "captions"}
    assert metrics["sets"]["dev"]["n"] == 20
    assert metrics["export"]["precision"] == "int8"
    assert all(check.passed for check in found)
    assert "| bleu |" in bundle.card
    assert "captions, int8" in bundle.card
    assert "BLEU is sacrebleu's: nrefs:1" in bundle.card
    assert "## Export" in bundle.card
    assert "Calibration" not in bundle.card
    assert load(place / "out").backend.name == "onnx"


def test_the_run_is_chosen_by_what_was_held_back(place, finished):
    run = json.loads((place / "out" / RECORDS / "run.json").read_text())
    assert run["training"]["seed"] == 2
    assert not (place / "out" / RECORDS / "log.csv").exists()
    assert set(finished[0]["seeds"]) == {"1", "2"}


def test_int8_outside_of_the_gate_is_told(place):
    metrics, found = finish(arguments(place, "refused", "--gate", "-100", runs=("run-1",)))
    assert metrics["export"]["precision"] == "float32"
    assert [check.passed for check in found if check.what.startswith("int8")] == [False]


def test_a_tokenizer_of_the_source_comes_along(place):
    run = shutil.copytree(place / "run-1", place / "two-sided-run")
    text = (run / "tokenizer.json").read_text()
    (run / "source_tokenizer.json").write_text(text)
    finish(arguments(place, "two-sided", "--gate", "50", runs=("two-sided-run",)))
    assert read_bundle(place / "two-sided").source_tokenizer_path.read_text() == text


def test_mistakes_are_told_in_one_line(place, finished):
    with pytest.raises(InputError, match="exists already"):
        finish(arguments(place, "out"))
    with pytest.raises(InputError, match="different seeds, got 1, 1"):
        finish(arguments(place, "new", runs=("run-1", "run-1")))
    with pytest.raises(BundleError, match="int8 already"):
        finish(arguments(place, "new", runs=("out",)))


def pack(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.encode()))


def test_what_dev_knows_is_not_trained_on(tmp_path):
    lines = [f"Sentence {number}.\tSatz {number}.\tCC-BY\n" for number in range(40)]
    lines += [f"Sentence {number}!\tsatz {number} !\n" for number in range(40)]
    pack(tmp_path / "tatoeba_deu_eng" / "all.txt.xz", "".join(lines))
    captions = {"de": "Ein Hund.\nSatz 3\n", "en": "A dog.\nOther.\n"}
    for language, text in captions.items():
        for split in ("train", "val"):
            pack(tmp_path / "multi30k" / f"{split}.{language}.xz", text + f"{split}.\n")
    for split in ("train", "dev"):
        pack(tmp_path / "ted_de_en" / f"{split}.tsv.xz", f"de\ten\nDas {split}\tThe {split}\n")
    gather(tmp_path, ("tatoeba", "multi30k", "ted"), tmp_path / "out", 5)
    rows = {
        name: [line.split("\t") for line in (tmp_path / "out" / f"{name}.tsv").read_text()
               .splitlines()[1:]]
        for name in ("train", "dev", "dev_multi30k", "dev_ted")
    }  # fmt: skip
    assert len(rows["dev"]) == 10
    held = {german.rstrip("!. ").lower() for german, _ in rows["dev"]}
    assert not held & {german.rstrip("!. ").lower() for german, _ in rows["train"]}
    assert ["Das train", "The train"] in rows["train"]
    assert ["Ein Hund.", "A dog."] not in rows["train"]  # it stands in val, too
    facts = json.loads((tmp_path / "out" / "facts.json").read_text())
    assert facts["licence"] == "research only"
    assert sum(part["rows"] for part in facts["data"]) == len(rows["train"])
    gather(tmp_path, ("tatoeba",), tmp_path / "free", 5)
    assert json.loads((tmp_path / "free" / "facts.json").read_text())["licence"] == "cc-by-2.0"
