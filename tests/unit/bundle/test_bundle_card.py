import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from softquery.bundle import Card, CardData, CardNumber, is_research_only, make_card
from softquery.bundle.card import EXAMPLES

FACTS = {
    "name": "nli-en",
    "purpose": "Says whether one sentence follows from another.",
    "languages": ["en"],
    "licence": "apache-2.0",
    "data": [CardData(name="SNLI", rows=100_000, licence="cc-by-sa-4.0", note="a | b")],
    "training": {"recipe": "esim_snli", "seed": 1, "pattern": "a|b\nc"},
    "numbers": [
        CardNumber(metric="accuracy", value=0.8351, n=9842, data="dev", interval=(0.828, 0.843)),
        CardNumber(metric="macro_f1", value=0.83, n=9842, data="dev"),
    ],
    "limits": ["English only."],
}


def _card(kind="matcher", calibration=None, **changes):
    return make_card(Card(**{**FACTS, **changes}), kind=kind, calibration=calibration)


def _front(text):
    return text.split("---\n")[1]


def test_every_part_is_there_in_order():
    text = _card(calibration={"temperature": 1.31})
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    assert titles == [
        "nli-en", "Data", "Training", "Numbers", "Calibration", "Limits", "How to use", "Licence"
    ]  # fmt: skip
    assert "| accuracy | 0.8351 | 0.8280 to 0.8430 | 9,842 | dev |" in text
    assert "| macro_f1 | 0.8300 |  | 9,842 | dev |" in text
    assert "| SNLI | 100,000 | cc-by-sa-4.0 |" in text
    assert "| seed | 1 |" in text
    assert "| temperature | 1.3100 |" in text
    assert 'softquery match "A man is eating." "Someone eats." --model nli-en' in text
    assert 'sq.load("nli-en")' in text
    assert "research" not in text.lower()


def test_front_matter_is_yaml():
    yaml = pytest.importorskip("yaml")
    licence = 'Ours: "free" # [for] all'
    assert yaml.safe_load(_front(_card(licence=licence, languages=["no", "zh"]))) == {
        "license": "other",
        "license_name": licence,
        "language": ["no", "zh"],
        "library_name": "softquery",
        "tags": ["softquery", "matcher"],
    }


def test_front_matter_is_what_hubs_read():
    assert _front(_card()) == (
        'license: "apache-2.0"\nlanguage:\n- "en"\nlibrary_name: softquery\n'
        'tags:\n- "softquery"\n- "matcher"\n'
    )
    other = _front(_card(licence='Ours: "free"\nfor all'))
    assert 'license: "other"\nlicense_name: "Ours: \\"free\\"\\nfor all"\n' in other


def test_pipes_and_line_breaks_stay_inside_their_cell():
    text = _card()
    assert "| pattern | a\\|b c |" in text
    assert "| SNLI | 100,000 | cc-by-sa-4.0 | a \\| b |" in text


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20))
@example("a\\|b", "\\")
def test_no_text_breaks_a_table(name, note):
    text = _card(data=[CardData(name=name, rows=1, licence="mit", note=note)])
    row = text.split("| --- | --- | --- | --- |\n")[1].split("\n")[0]
    cells = re.split(r"(?<!\\)(?:\\\\)*\|", row)
    assert len(cells) == 6


@pytest.mark.parametrize(
    ("licence", "restricted"),
    [
        ("apache-2.0", False),
        ("cc-by-sa-4.0", False),
        ("MIT", False),
        ("cc-by-nc-4.0", True),
        ("CC BY-NC-SA 4.0", True),
        ("Research use only", True),
        ("non-commercial", True),
        ("noncommercial use", True),
        ("academic use", True),
        ("ncsa", False),
    ],
)
def test_research_licences_are_recognised(licence, restricted):
    assert is_research_only(licence) is restricted


def test_research_only_data_makes_a_research_only_card():
    text = _card(data=[CardData(name="LCQMC", rows=9, licence="research use only")])
    assert "**For research only**, by the licence of LCQMC (research use only)." in text
    assert '- "research-only"' in _front(text)
    assert "apache-2.0. For research only." in text
    own = _card(licence="cc-by-nc-4.0", data=[])
    assert "**For research only**, by the licence of the model (cc-by-nc-4.0)." in own


def test_what_is_not_known_is_said():
    text = _card(data=[], training={}, numbers=[], limits=[])
    assert text.count("Not recorded.") == 2
    assert "Nothing was measured." in text
    assert "Not calibrated" in text


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
def test_every_kind_shows_its_use(kind):
    text = _card(kind=kind, name="my model")
    assert "--model 'my model'" in text
    assert (f"({json.dumps('my model')})" in text) is (kind != "encoder")
    assert ("## Calibration" in text) is EXAMPLES[kind].has_probabilities


def test_a_kind_that_the_table_lacks_is_refused_by_name():
    with pytest.raises(ValueError, match="unknown kind of bundle 'oracle' \\(known: matcher, "):
        _card(kind="oracle")
