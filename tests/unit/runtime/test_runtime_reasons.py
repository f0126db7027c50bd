"""What answers owe to words: what is said is what leaving them out does, and it is faithful."""

from itertools import combinations

import numpy as np
import pytest

from small_classifiers import make_classifier, random_texts
from softquery.export import export_classifier
from softquery.runtime import load
from softquery.runtime.leaving_out import answer_log_odds, token_parts, word_parts
from softquery.text import BERT_RESERVED, TextConfig, build_pipeline, pipeline_from_pieces

pytest.importorskip("torch")

PAIRS = [
    ("a dog is chasing a red ball on the beach", "an animal is playing outside"),
    ("a dog is chasing a red ball on the beach", "a cat is sleeping on the sofa"),
    ("two women are cooking dinner in a small kitchen", "the women are preparing a meal"),
    ("two women are cooking dinner in a small kitchen", "nobody is in the kitchen"),
    ("a boy in a blue shirt rides a bicycle down the street", "a child is riding a bike"),
    ("a man plays the guitar for a crowd", "a man is swimming in a lake"),
]


@pytest.fixture(scope="module")
def nli():
    return load("nli-en", threads=1)


def odds_of(matcher, column, pairs):
    return answer_log_odds(matcher.probabilities(pairs), column)


@pytest.mark.parametrize("pair", PAIRS[:3], ids=str)
def test_a_change_is_what_the_answer_loses_without_the_word(nli, pair):
    found = nli.explain(*pair)
    column = nli.labels.index(found.label)
    assert found.reasons.answer == found.label
    assert found.reasons.probability == pytest.approx(found.probabilities[found.label], abs=1e-5)
    words = [text.split() for text in pair]
    assert [list(each) for each in found.reasons.words] == words
    whole = odds_of(nli, column, [pair])[0]
    for side in (0, 1):
        for place in range(len(words[side])):
            rest = [*words[side][:place], *words[side][place + 1 :]]
            changed = (" ".join(rest), pair[1]) if side == 0 else (pair[0], " ".join(rest))
            without = odds_of(nli, column, [changed])[0]
            assert found.reasons.changes[side][place] == pytest.approx(whole - without, abs=1e-3)
            expected = nli.probabilities([changed])[0, column]
            assert found.reasons.probabilities[side][place] == pytest.approx(expected, abs=1e-4)


def test_reasons_of_another_label(nli):
    found = nli.explain(*PAIRS[0], label="contradiction")
    assert found.label == "entailment"
    assert found.reasons.answer == "contradiction"
    assert found.reasons.probability == pytest.approx(
        found.probabilities["contradiction"], abs=1e-5
    )
    with pytest.raises(ValueError, match="agreement"):
        nli.explain(*PAIRS[0], label="agreement")


def test_removing_two_reasons_moves_the_answer_more_than_other_words_or_attention_do(nli):
    gained, beaten = [], []
    for pair in PAIRS:
        found = nli.explain(*pair)
        column = nli.labels.index(found.label)
        words = [text.split() for text in pair]
        places = [(side, place) for side in (0, 1) for place in range(len(words[side]))]
        removals = list(combinations(places, 2))
        dropped = [
            tuple(
                " ".join(w for place, w in enumerate(words[side]) if (side, place) not in removal)
                for side in (0, 1)
            )
            for removal in removals
        ]
        drops = odds_of(nli, column, [pair])[0] - odds_of(nli, column, dropped)
        best = found.reasons.strongest(len(places))
        speaking = sorted(best, key=lambda each: -each.change)[:2]
        ours = frozenset((each.sentence, each.position) for each in speaking)
        # How much a word is asked by the other sentence; the marks at both ends are no words.
        asked = [
            found.second_to_first[:, 1:-1].sum(axis=0),
            found.first_to_second[:, 1:-1].sum(axis=0),
        ]
        looked = frozenset(sorted(places, key=lambda at: -asked[at[0]][at[1]])[:2])
        by_removal = dict(zip(map(frozenset, removals), drops, strict=True))
        gained.append(by_removal[ours] - drops.mean())
        beaten.append(by_removal[ours] - by_removal[looked])
    assert min(gained) > 0
    assert np.mean(beaten) > 0


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("reasons")


@pytest.mark.parametrize("name", ["attentive", "hierarchical"])
@pytest.mark.parametrize("backend", ["torch", "onnx"])
def test_classifiers_leave_out_words_too(name, backend, place):
    made = place / f"{name}-{backend}"
    bundle = make_classifier(place / f"plain-{name}-{backend}", name)
    if backend == "onnx":
        from softquery.bundle import read_bundle

        export_classifier(read_bundle(bundle), made)
        bundle = made
    model = load(bundle, backend=backend)
    text = "W7 w5 w70 unheard. W3 w9 w2!"
    found = model.explain(text)
    assert found.reasons.words == found.sentences
    column = model.labels.index(found.label)
    first = found.sentences[0]
    changed = text.replace(first[0], "", 1)
    without = model.probabilities([changed])
    whole = answer_log_odds(model.probabilities([text]), column)
    lost = whole - answer_log_odds(without, column)
    assert found.reasons.changes[0][0] == pytest.approx(lost[0], abs=1e-3)
    assert (found.contributions is None) == (name == "hierarchical")


@pytest.mark.parametrize("backend", ["torch", "onnx"])
@pytest.mark.parametrize("merge", ["sum", "concat"])
def test_contributions_add_up_to_the_logit(backend, merge, place):
    from softquery.bundle import read_bundle

    bundle = make_classifier(place / f"{backend}-{merge}", merge=merge)
    if backend == "onnx":
        export_classifier(read_bundle(bundle), place / f"{merge}-exported")
        bundle = place / f"{merge}-exported"
    model = load(bundle, backend=backend)
    for text in random_texts(3, seed=9):
        logits = model.logits([text])[0].astype(float)
        found = model.explain(text).contributions
        column = model.labels.index(found.answer)
        margin = logits[column] - np.delete(logits, column).mean()
        assert found.score == pytest.approx(margin, abs=1e-4)
        assert found.base + found.changes[0].sum() == pytest.approx(margin, abs=1e-4)
        assert found.base == pytest.approx(0, abs=1e-4)  # the bias of these models is zero
        assert found.probabilities == ()


def test_pieces_of_a_word_are_left_out_together():
    pieces = [*BERT_RESERVED, "play", "##ing", "it", "公", "园"]
    pipeline = pipeline_from_pieces(pieces, TextConfig(unit="bert", boundaries=True))
    parts = token_parts("Playing it 公园", pipeline, 1)
    assert [(part.text, part.sentence, part.first, part.last) for part in parts] == [
        ("Playing", 1, 1, 2), ("it", 1, 3, 3), ("公", 1, 4, 4), ("园", 1, 5, 5),
    ]  # fmt: skip


def test_a_long_text_is_left_out_in_runs_of_words():
    pipeline = build_pipeline(["a"], TextConfig(max_tokens=300))
    text = " ".join(f"w{number}" for number in range(200))
    parts = token_parts(text, pipeline)
    assert len(parts) == 50
    assert " ".join(part.text for part in parts) == text
    assert [place for part in parts for place in range(part.first, part.last + 1)] == list(
        range(200)
    )
    assert len(word_parts(text.split())) == 50


def test_empty_sentences_have_no_reasons(nli):
    found = nli.explain("", "")
    assert found.reasons.words == ((), ())
    assert nli.explain("", "a dog").reasons.words == ((), ("a", "dog"))
