"""The report over several systems on the same words."""

import numpy as np
import pytest

from softquery.measure.probe_scores import ProbeReport


def probed():
    made = ProbeReport(np.repeat(np.arange(20), 2), ("base",))
    made.add("base", [True, False] * 20)
    made.add("m layer 0", [True, False] * 20, [True, False] * 20)
    made.add("m layer 1", [True, True] * 20)
    made.families.append(["m layer 0", "m layer 1"])
    return made


def test_systems_are_told_with_their_lead():
    report = probed().report()
    assert (report["n"], report["sentences"], report["baselines"]) == (40, 20, ["base"])
    base, first, second = report["systems"].values()
    assert "over_baseline" not in base
    assert (base["accuracy"], base["f1"], base["answered"]) == (0.5, 0.5, 1.0)
    assert (first["accuracy"], first["answered"]) == (0.5, 0.5)
    assert first["f1"] == pytest.approx(2 * 20 / (40 + 20))
    assert first["over_baseline"] == {"difference": 0.0, "interval": [0.0, 0.0], "chance": 1.0}
    assert second["over_baseline"]["difference"] == 0.5
    assert second["accuracy_interval"] == [1.0, 1.0]


def test_layers_of_a_family_are_compared():
    (compared,) = probed().report()["comparisons"]
    assert (compared["first"], compared["second"]) == ("m layer 0", "m layer 1")
    assert (compared["difference"], compared["chance"]) == (0.5, 0.0)


def test_too_few_answers_are_refused():
    with pytest.raises(ValueError, match="half has 1 answers for 40 words"):
        probed().add("half", [True])
