"""A tagger with and without ELMo: which runs are compared, and when one is as good as the other."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("the benchmarks are not here", allow_module_level=True)
sys.path.append(str(ROOT))

from benchmarks.tag.tag import both_at_each_share, epochs_to_baseline, variants  # noqa: E402


def run(name, seed=1, share=1.0, curve=()):
    return {"name": name, "seed": seed, "share": share, "curve": list(curve)}


def test_only_runs_of_one_share_and_seed_are_compared():
    rows = [run("elmo"), run("elmo", seed=2), run("plain"), run("elmo-last"), run("elmo-adapted"),
            run("elmo-share-0.1", share=0.1), run("plain-share-0.1", share=0.1),
            run("plain-share-0.5", share=0.5)]  # fmt: skip
    pairs = [(plain["name"], elmo["name"]) for plain, elmo in both_at_each_share(rows)]
    assert pairs == [("plain-share-0.1", "elmo-share-0.1"), ("plain", "elmo")]


def test_epochs_count_to_the_best_of_the_baseline():
    plain = run("plain", curve=(0.5, 0.8, 0.7))
    assert epochs_to_baseline(plain, run("elmo", curve=(0.6, 0.7, 0.8, 0.9))) == (2, 3)
    assert epochs_to_baseline(plain, run("elmo", curve=(0.6, 0.7))) == (2, None)


def test_an_adapted_bilm_is_a_variant_where_it_is_named():
    names = {variant.name for variant in variants("bilm")}
    assert "elmo-adapted" not in names
    assert {variant.name for variant in variants("bilm", "own")} == names | {"elmo-adapted"}


def test_variants_bear_the_name_that_a_bilm_is_given():
    known = {variant.name: variant.settings for variant in variants("larger=runs/bilm")}
    assert known["larger"] == ("elmo.bundle=runs/bilm",)
    assert {name.partition("-")[0] for name in known} == {"larger", "plain"}
    assert {each.name for each in variants("larger=b", tuned=True)} == {*known, "larger-tuned"}
    (folder,) = (each for each in variants("runs/lr=0.1/bilm") if each.name == "elmo")
    assert folder.settings == ("elmo.bundle=runs/lr=0.1/bilm",)
    with pytest.raises(SystemExit, match="plain is the tagger without a biLM"):
        variants("plain=runs/bilm")
