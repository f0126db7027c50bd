import json
from pathlib import Path

import pytest
from facts import FOLDER, known_models, read_facts
from finish import MAKERS
from matcher_card import matcher_card, probe_line
from probes import ProbeResult, Tally
from runs import SeedRun, differing_settings, without_paths

from softquery.bundle import Bundle, BundleConfig, make_card
from softquery.errors import InputError
from softquery.zoo import resolve

SETS = [
    {"name": "snli", "rows": 7, "licence": "CC BY-SA 4.0", "note": "captions"},
    {"name": "other", "rows": 5, "licence": "Apache-2.0"},
]


KNOWN = json.loads((FOLDER / "match-zh.json").read_text(encoding="utf-8"))


def facts_in(folder, *, asked=None, **changes):
    """Those of `match-zh` with some keys changed, and those left out that are None."""
    path = folder / "facts.json"
    content = {**KNOWN, "licence": "", **changes}
    path.write_text(json.dumps({key: v for key, v in content.items() if v is not None}))
    return read_facts("match-zh", path, asked)


@pytest.mark.parametrize("name", known_models())
def test_facts_of_a_shipped_model_can_be_used(name):
    facts = read_facts(name)
    assert facts.kind in MAKERS
    card = (resolve(name) / "README.md").read_text(encoding="utf-8")
    told = [facts.purpose, facts.scope, *facts.limits]
    assert [line for line in told if "{" not in line and line not in card] == []
    known = facts.card_data({"words": 1, "pieces": 1})
    assert [part.name for part in known if part.name not in card] == []


def test_licence_follows_from_the_data_or_is_stated(tmp_path):
    assert facts_in(tmp_path, data=SETS).licence == "cc-by-sa-4.0"
    restricted = [*SETS, {"name": "qqp", "rows": 1, "licence": "research"}]
    assert facts_in(tmp_path, data=restricted).licence == "research only"
    assert facts_in(tmp_path, licence="mit").licence == "mit"
    assert facts_in(tmp_path, licence="mit", asked="bsd").licence == "bsd"
    with pytest.raises(InputError, match="no licence follows"):
        facts_in(tmp_path, data=SETS[1:])


def test_broken_facts_are_refused_in_one_line(tmp_path):
    with pytest.raises(InputError, match="unknown key 'license'"):
        facts_in(tmp_path, license="mit")
    with pytest.raises(InputError, match="expected sets with name, rows"):
        facts_in(tmp_path, data=[{"name": "snli"}])
    with pytest.raises(InputError, match="lacks kind, purpose"):
        facts_in(tmp_path, kind=None, purpose=None)
    with pytest.raises(InputError, match="cannot be read"):
        read_facts("match-zh", tmp_path / "none.json")


def test_settings_lose_their_paths_and_show_where_runs_differ():
    config = BundleConfig(kind="matcher", model={"name": "esim", "config": {}},
                          task={"name": "match"}, text={}, library_version="0")  # fmt: skip
    bundle = Bundle(path=Path("x"), config=config)
    runs = [
        SeedRun(bundle, str(seed), {"vectors": [f"/machine{seed}/glove.bin"], "optim": {"lr": rate},
                                    "training": {"seed": seed}})
        for seed, rate in ((1, 0.1), (2, 0.2))
    ]  # fmt: skip
    assert differing_settings(runs) == ["the runs differ in optim.lr, not only in their seed"]
    assert without_paths(runs[0].settings)["vectors"] == ["glove.bin"]


def probe(kind, **labels):
    tallies = {name: Tally(n=n, right=right) for name, (right, n) in labels.items()}
    n, right = (sum(getattr(each, key) for each in tallies.values()) for key in ("n", "right"))
    return ProbeResult(kind=kind, n=n, accuracy=right / n, interval=(0.1, 0.9), labels=tallies,
                       wrong=n - right, wrong_and_sure=1 if right < n else 0, cut=0)  # fmt: skip


def test_a_limit_is_called_one_by_the_worst_label():
    bad = probe_line(probe("negation", same=(30, 30), other=(10, 50)))
    assert bad.startswith(
        "Negation: 50 % of 80 right (95 % interval 10 to 90; label same: 30 of 30"
    )
    assert "1 of the 40 wrong answers had a probability above 0.9" in bad
    assert bad.endswith("**Do not rely on it here**: most pairs with label other are missed.")
    fair = probe_line(probe("name", same=(30, 30), other=(35, 50)))
    assert fair.endswith("pairs with label other are often missed.")
    good = probe_line(probe("paraphrase", same=(80, 80)))
    assert good.endswith("label same: 80 of 80).")


def test_the_card_states_every_figure(tmp_path):
    config = BundleConfig(
        kind="matcher",
        model={
            "name": "esim",
            "config": {"hidden_size": 8, "embedding_size": 9, "vocab_size": 1000},
        },
        task={"name": "match", "labels": ["0", "1"]},
        text={"unit": "characters", "max_tokens": 96},
        library_version="0",
    )
    run = SeedRun(Bundle(path=Path("x"), config=config), "2", {"name": "esim-zh", "vectors": []})
    found = {"accuracy": 0.8125, "interval": [0.8, 0.825], "n": 50}
    part = {"n": 100, "seeds": {"mean": 0.8333, "min": 0.8111, "max": 0.8444, "runs": {"1": 0.8}},
            "shipped": found, "second_half": found, "int8_lost_points": 0.25, "ece_before": 0.0777,
            "ece_after": 0.0123, "ece_by_chance": 0.0099}  # fmt: skip
    metrics = {
        "export": {"precision": "int8"},
        "int8": {"size_mb": 9.87, "lost_points": 0.3125, "n": 50},
        "sources": {"lcqmc": part, "bq": {**part, "shipped": {**found, "accuracy": 0.5}}},
        "seeds": {"shipped": "2", "tune_n": 1234, "runs": {"2": {"tune": 0.9, "dev": 0.8}}},
        "order": {"same_label": 0.97, "n": 50},
    }
    facts = facts_in(tmp_path, data=SETS, limits=["One more."], training={"teacher": "T"})
    card = matcher_card(facts, metrics, run, [probe("name", same=(1, 2))])
    text = make_card(card, kind="matcher", calibration={"temperature": 1.5})
    for shown in ("0.8111 to 0.8444", "0.8333", "0.8125", "0.2500", "0.3125", "0.0777", "0.0123",
                  "0.0099", "9.9 MB", "1,234 held-back", "esim-zh", "One more.", "| teacher | T |",
                  "changes the label of 3.0 % of 50", "81.2 % on lcqmc but 50.0 % on bq",
                  "at most 96 characters", "Names of people", "CC BY-SA 4.0"):  # fmt: skip
        assert shown in text
    assert 'license: "cc-by-sa-4.0"' in text
