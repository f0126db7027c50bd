"""BLEU as sacrebleu computes it, with its signature."""

import pytest

pytest.importorskip("sacrebleu", reason="BLEU needs sacrebleu ([train])")

import sacrebleu

from softquery.measure import TranslationReport, bleu_counts, bleu_of_counts, corpus_bleu

ANSWERS = ["a man eats an apple .", "two dogs run in the green park .", "nothing here"]
REFERENCES = ["a man is eating an apple .", "two dogs run through the green park .", "so it is"]


def test_it_is_sacrebleus_own_figure():
    found = TranslationReport.of(ANSWERS, REFERENCES, num_samples=50)
    theirs = sacrebleu.corpus_bleu(ANSWERS, [REFERENCES])
    assert found.bleu == pytest.approx(theirs.score)
    assert "tok:13a" in found.signature
    assert "case:mixed" in found.signature
    assert found.bleu_interval.low <= found.bleu <= found.bleu_interval.high
    assert set(found.to_dict()) == {
        "bleu", "bleu_interval", "chrf", "length_ratio", "bleu_signature"
    }  # fmt: skip


def test_counts_of_texts_sum_to_the_corpus():
    counts = bleu_counts(ANSWERS, REFERENCES)
    assert bleu_of_counts(counts) == pytest.approx(corpus_bleu(ANSWERS, REFERENCES))


def test_chinese_is_cut_into_characters():
    assert corpus_bleu(["春花秋月何时"], ["春花秋月何时"], tokens="zh") == pytest.approx(100)
    with pytest.raises(ValueError, match="no answers"):
        TranslationReport.of([], [])
