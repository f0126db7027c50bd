"""Pairs as a matcher gets them: each once, with its label; held back by first text; sharded."""

import math

import numpy as np
import pytest
import torch

from softquery.data import NO_LABEL, Pairs, Sentences
from softquery.errors import ConfigError, InputError
from softquery.recipes import override
from softquery.recipes.students import pair_recipes, pair_student
from softquery.running.distilling.distill_pairs import measure_pairs, taught_run
from softquery.running.distilling.open_teacher import LogitFile, checked_logits
from softquery.running.distilling.pair_lessons import prepare_pairs, read_pairs
from softquery.running.distilling.teacher import one_by_one, read_shards, write_shards
from softquery.tasks import PairClassification, PairDistillation, PairGrading

SAME = PairClassification(labels=("no", "yes"))
GRADE = PairGrading(low=0, high=1)


def written(path, *lines):
    path.write_text("\n".join(["sentence1\tsentence2\tlabel", *lines]) + "\n", encoding="utf-8")
    return path


def many(path, count=40):
    return written(path, *(f"one {n // 2}\tother {n}\t{['', 'yes'][n % 4 == 0]}"
                           for n in range(count)))  # fmt: skip


def test_every_pair_counts_once_with_the_first_label_that_it_has(tmp_path):
    first = written(tmp_path / "a.tsv", "a\tb\t", "a\tc\tyes", "b\ta\t", "a  b\tc\tno")
    second = written(tmp_path / "b.tsv", "a\tb\tno", "a\tb\tyes", " a b \tc\tyes", "a\tc\t")
    said = []
    given = read_pairs([first, second], SAME, None, said.append)
    assert given.pairs(slice(0, 9)) == [("a", "b"), ("a", "c"), ("b", "a"), ("a b", "c")]
    assert given.texts == ["a", "b", "c", "a b"]
    assert given.gold.tolist() == [0, 1, NO_LABEL, 0]
    assert given.places.tolist() == [0, 1, 2, 3]
    assert given.num_read == 8
    assert [tuple(file) for file in given.files] == [("a.tsv", 4, 2), ("b.tsv", 4, 3)]
    assert said == ["4 different pairs of 8 rows, 3 of them with a label"]


def test_grades_are_shares_of_the_scale(tmp_path):
    path = written(tmp_path / "a.tsv", "a\tb\t1", "a\tc\t", "b\ta\t0.5", "c\td\t")
    given = read_pairs([path], GRADE, None, print)
    np.testing.assert_array_equal(given.gold, [1, math.nan, 0.5, math.nan])
    assert given.is_gold.tolist() == [True, False, True, False]


def test_long_texts_are_cut_and_counted(tmp_path):
    path = written(tmp_path / "a.tsv", *(f"{n} {'x ' * 3000}\t{n}\t" for n in range(4)))
    said = []
    given = read_pairs([path], SAME, None, said.append)
    assert max(map(len, given.texts)) < 2001
    assert "4 texts were cut at 2,000 characters" in said


def test_a_first_text_is_learnt_or_held_back_and_the_most_is_kept_to(tmp_path):
    given = read_pairs([many(tmp_path / "a.tsv", 400)], SAME, None, print)
    run = taught_run(pair_student("esim"), SAME)
    for settings, at_most in (([], 6), (["data.tune_share=0.5"], 220),
                              (["data.tune_share=0.5", "distill.most_tuned=20"], 22)):  # fmt: skip
        lessons = prepare_pairs(override(run, settings), given, None, lambda line: None)
        assert 2 <= len(lessons.held_back) <= at_most
        assert not set(given.first[lessons.kept]) & set(given.first[lessons.held_back])
        assert sorted([*lessons.kept, *lessons.held_back]) == list(range(400))


def test_logits_and_labels_stay_with_their_pairs(tmp_path):
    given = read_pairs([many(tmp_path / "a.tsv")], SAME, None, print)
    logits = np.stack([np.arange(40), np.zeros(40)], axis=1).astype(np.float32)
    run = override(taught_run(pair_student("esim"), SAME), ["vocabulary.min_count=1"])
    lessons = prepare_pairs(run, given, None, lambda line: None).taught(logits)
    words = lessons.prepared.pipeline.vocabulary()
    for pairs in (lessons.train, lessons.tune):
        batch = pairs.batch(torch.arange(len(pairs)), 8)
        for row in range(len(pairs)):
            number = int(batch.taught[row, 0])
            assert words[int(batch.second.ids[row, 1])] == str(number)
            assert words[int(batch.first.ids[row, 1])] == str(number // 2)
            assert int(batch.label[row]) == (1 if number % 4 == 0 else NO_LABEL)


def test_shards_are_written_once_and_the_rest_later(tmp_path, monkeypatch):
    monkeypatch.setattr("softquery.running.distilling.teacher.SHARD", 4)
    asked, said = [], []

    def compute(part):
        asked.append(part.start)
        if part.start == 8 and len(asked) < 4:
            raise KeyboardInterrupt
        return np.arange(10, dtype=np.float32)[part, None]

    with pytest.raises(KeyboardInterrupt):
        write_shards(one_by_one(compute), 10, tmp_path, said.append, noun="pairs")
    write_shards(one_by_one(compute), 10, tmp_path, said.append, noun="pairs")
    assert asked == [0, 4, 8, 8]
    assert said[0] == "2 of 3 shards of the teacher are there"
    assert said[1].startswith("teacher: 10 of 10 pairs (")
    whole = np.concatenate([shard for _, shard in read_shards(tmp_path, 10)])
    assert whole[:, 0].tolist() == list(range(10))


def test_a_file_has_a_row_for_each_row_that_was_read(tmp_path):
    path = written(tmp_path / "a.tsv", "a\tb\t", "a\tb\t", "a\tc\t", "b\ta\t", "c\td\t")
    given = read_pairs([path], SAME, None, print)
    np.save(tmp_path / "l.npy", np.arange(10, dtype=np.float64).reshape(5, 2))
    teacher = LogitFile(tmp_path / "l.npy", ["no", "yes"])
    assert checked_logits(teacher, given, slice(1, 4)).tolist() == [[4, 5], [6, 7], [8, 9]]
    np.save(tmp_path / "l.npy", np.zeros((5, 1), np.float32))
    assert LogitFile(tmp_path / "l.npy").task == GRADE
    broken = np.zeros((5, 1), np.float32)
    broken[3] = np.inf
    np.save(tmp_path / "l.npy", broken)
    with pytest.raises(InputError, match="its logits of pair 4 are not finite"):
        checked_logits(LogitFile(tmp_path / "l.npy"), given, slice(0, 4))


def test_a_student_keeps_what_its_task_says_but_the_labels():
    run = taught_run(pair_student("match-en"), PairClassification(labels=("no", "yes")))
    assert run.task.labels == ("no", "yes")
    assert (run.task.symmetric, run.task.consistency) == (True, 1.0)
    assert taught_run(pair_student("nli-en"), GRADE).task == GRADE
    with pytest.raises(ConfigError, match="siamese-search cannot learn 3 labels: contrast"):
        taught_run(pair_student("siamese-search"), PairClassification(labels=("a", "b", "c")))


@pytest.mark.parametrize("name", pair_recipes())
def test_every_recipe_for_matching_is_a_student(name):
    run = override(pair_student(name), ["distill.gold_weight=0.5"])
    assert run.to_dict()["distill"] == {"gold_weight": 0.5, "most_tuned": 10_000}
    assert run.data.tune is None


class Fixed(torch.nn.Module):
    """Answers with given logits, in the order of the pairs' first token."""

    def __init__(self, logits):
        super().__init__()
        self.logits = torch.nn.Parameter(logits)

    def forward(self, batch):
        from softquery.models import PairOutput

        return PairOutput(self.logits[batch.first.ids[:, 0]])


def test_agreement_with_the_teacher_and_with_labels():
    found = torch.tensor([[3.0, 1.0], [0.0, 2.0], [5.0, 4.0], [1.0, 1.5]])
    wanted = torch.tensor([[9.0, 1.0], [0.0, 8.0], [4.0, 5.0], [2.0, 4.0]])
    one = Sentences.pack([[0], [1], [2], [3]])
    pairs = Pairs(one, one, torch.tensor([0, NO_LABEL, 1, 1]), taught=wanted)
    measured = measure_pairs(PairDistillation(task=SAME), Fixed(found), pairs)
    mine, theirs = (np.asarray(each[:, 1] - each[:, 0]) for each in (found, wanted))
    assert measured["correlation"] == pytest.approx(np.corrcoef(mine, theirs)[0, 1])
    assert measured["agreement"] == 0.75
    assert measured["gold_accuracy"] == pytest.approx(2 / 3)
    assert measured["squared_error"] == pytest.approx(np.mean((mine - theirs) ** 2) / 4)
    alike = measure_pairs(PairDistillation(task=SAME), Fixed(torch.zeros(4, 2)), pairs)
    assert alike["correlation"] == 0
