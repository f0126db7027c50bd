"""The scripts that teach sentence encoders, on a few texts and made-up vectors."""

import dataclasses
import json
import sys

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from students import as_bundle, chinese, learn
from students.lessons import Lessons, pieces_of, write_lessons
from students.scores import scores
from students.teach import SCALE, join, pack
from students.vocabulary import in_pieces, kept_pieces

import softquery as sq
from small_sentence_encoders import random_sentences
from softquery.text import BERT_RESERVED, TextConfig, pipeline_from_pieces

WIDTH = 16
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PIECES = [*BERT_RESERVED, *LETTERS, *(f"##{letter}" for letter in LETTERS), "wa", "wb", "##cd"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Lessons with targets: a sum of random vectors of a text's letters."""
    place = tmp_path_factory.mktemp("lessons")
    tokenizer = place / "tokenizer.json"
    pipeline_from_pieces(PIECES, TextConfig(unit="bert")).tokenizer.save(str(tokenizer))
    texts = random_sentences(300)
    parts = {"texts": texts[:200], "made": texts[200:240], "judged": texts[240:]}
    pairs = [[n, n + 1, float(n % 3)] for n in range(0, 58)]
    judged = {"pairs": {"graded": pairs}, "intents": {}}
    owners = [n % 200 for n in range(40)]
    write_lessons(place, parts, owners=owners, tokenizer=tokenizer, judged=judged, processes=1)
    random = np.random.default_rng(0)
    letters = {letter: random.normal(size=WIDTH) for letter in LETTERS}
    known = json.loads((place / "pieces.json").read_text())
    every = [*parts["texts"], *parts["made"], *known, *parts["judged"]]
    blank = np.ones(WIDTH)
    sums = [sum((letters[c] for c in text if c in letters), blank) for text in every]
    vectors = np.array(sums, np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.save(place / "targets.npy", vectors.astype(np.float16))
    return place


def test_lessons_hold_what_the_tokenizer_cuts(folder):
    lessons = Lessons.read(folder, "cpu")
    tokens = lessons.batch(lessons.rows("judged")[:1], 4)
    assert lessons.first == {"texts": 0, "asked": 200, "made": 200, "pieces": 240,
                             "judged": 240 + len(PIECES), "end": 300 + len(PIECES)}  # fmt: skip
    assert tokens.ids.shape == (1, 4)
    assert int(lessons.lengths(lessons.rows("texts")).sum()) == int(lessons.starts[200])


def test_pieces_that_are_left_out_fall_into_kept_ones(folder):
    lessons = Lessons.read(folder, "cpu")
    kept = kept_pieces(lessons, 10, least=10**9)  # no more than marks and characters
    assert "wa" not in kept
    cut = in_pieces(lessons, kept)

    def texts(given, pieces):  # what is only judged may hold characters that no text has
        end = int(given.starts[given.first["made"]])
        return "".join(pieces[n].removeprefix("##") for n in given.ids[:end].tolist())

    assert texts(cut, kept) == texts(lessons, lessons.pieces)
    assert int(cut.starts[-1]) == len(cut.ids) > len(lessons.ids)


@pytest.mark.parametrize("near", [0, 3])
def test_a_student_learns_and_becomes_a_bundle(folder, tmp_path, monkeypatch, near):
    run = {"name": "one", "targets": str(folder / "targets.npy"), "steps": 80, "rate": 0.02,
           "batch": 32, "compiled": False, "near": near, "closeness_weight": float(near),
           "twins": near > 0,
           "prefixes": [4], "every": 0.0,
           "model": {"body": "convolution", "embedding_size": WIDTH, "hidden_size": WIDTH,
                     "num_layers": 1}, "save": str(tmp_path / "student")}  # fmt: skip
    (tmp_path / "runs.json").write_text(json.dumps([run]))
    results = tmp_path / "results.jsonl"
    given = ["learn", "--lessons", folder, "--runs", tmp_path / "runs.json", "--results", results]
    monkeypatch.setattr(sys, "argv", list(map(str, given)))
    learn.main()
    row = json.loads(results.read_text())
    assert row["cosine"] > 0.8
    assert row["cosine_learnt"] > 0.8
    assert (row["steps_done"], row["texts"]) == (80, 240)
    output = tmp_path / "bundle"
    monkeypatch.setattr(sys, "argv", ["as_bundle", run["save"], "--output", str(output)])
    as_bundle.main()
    encoder = sq.load(output)
    assert encoder.prefixes == (4,)
    lessons = Lessons.read(folder, "cpu")
    wanted = np.load(folder / "targets.npy")[lessons.rows("judged").numpy()].astype(np.float32)
    found = encoder.encode(random_sentences(300)[240:])
    assert float((found * wanted).sum(axis=1).mean()) == pytest.approx(row["cosine"], abs=0.01)


def test_a_student_goes_on_from_another_in_a_space_of_its_own(folder, tmp_path, monkeypatch):
    run = {"name": "one", "targets": str(folder / "targets.npy"), "steps": 40, "rate": 0.02,
           "batch": 32, "compiled": False, "prefixes": [4], "every": 1e9,
           "model": {"body": "static", "embedding_size": WIDTH, "output_size": 8,
                     "pools": ["mean"]},
           "save": str(tmp_path / "first")}  # fmt: skip
    further = {**run, "start": run["save"], "model": {}, "cosine_weight": 0.0,
               "save": str(tmp_path / "second")}  # fmt: skip
    (tmp_path / "runs.json").write_text(json.dumps([run, further]))
    given = ["learn", "--lessons", folder, "--runs", tmp_path / "runs.json",
             "--results", tmp_path / "results.jsonl"]  # fmt: skip
    monkeypatch.setattr(sys, "argv", list(map(str, given)))
    learn.main()
    first, second = (json.loads((tmp_path / f"{name}.json").read_text()) for name in
                     ("first", "second"))  # fmt: skip
    assert (first["pieces"], first["config"]) == (second["pieces"], second["config"])
    assert second["config"]["output_size"] == 8  # targets are WIDTH wide
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert "cosine" in rows[0]
    assert "cosine" not in rows[1]


def test_a_student_learns_a_share_of_the_questions_made_by_rule(folder, tmp_path):
    texts = random_sentences(300)
    parts = {"texts": texts[:150], "asked": texts[150:200], "judged": texts[240:]}
    judged = {"pairs": {"graded": [[0, 1, 1.0], [0, 2, 3.0], [1, 3, 2.0]]}, "intents": {}}
    tokenizer = folder / "tokenizer.json"
    write_lessons(tmp_path, parts, owners=[], tokenizer=tokenizer, judged=judged, processes=1)
    lessons = Lessons.read(tmp_path, "cpu")
    targets = torch.ones(lessons.first["end"], 4)
    for asked, count in ((0.0, 150), (0.5, 175), (1.0, 200)):
        run = learn.Run(name="", targets="", asked=asked, compiled=False, prefixes=(),
                        model={"body": "static", "embedding_size": 4})  # fmt: skip
        assert len(learn.Teaching(lessons, run, targets).rows) == count


def test_a_twin_stands_beside_what_it_was_made_of(folder):
    lessons = Lessons.read(folder, "cpu")
    targets = torch.from_numpy(np.load(folder / "targets.npy"))
    run = learn.Run(name="", targets="", near=2, twins=True, compiled=False, prefixes=(),
                    model={"body": "static", "embedding_size": 4})  # fmt: skip
    teaching = learn.Teaching(lessons, run, targets)
    place = {row: number for number, row in enumerate(teaching.rows.tolist())}
    assert int(teaching.near[place[203], 0]) == 3
    assert int(teaching.near[place[3], 0]) == 203
    plain = learn.Teaching(lessons, dataclasses.replace(run, twins=False), targets)
    assert torch.equal(plain.near[place[150]], teaching.near[place[150]])


def test_texts_that_a_student_confuses_stand_beside_each(folder, tmp_path):
    lessons = Lessons.read(folder, "cpu")
    targets = torch.from_numpy(np.load(folder / "targets.npy"))
    first = learn.Run(name="first", targets="t", steps=3, batch=32, compiled=False, prefixes=(),
                      model={"body": "static", "embedding_size": 4},
                      save=str(tmp_path / "first"))  # fmt: skip
    before = learn.Teaching(lessons, first, targets)
    before.save({**dataclasses.asdict(first), **learn.taught(before)})
    second = dataclasses.replace(first, near=2, confused=3, confused_by=first.save, save="")
    teaching = learn.Teaching(lessons, second, targets)
    assert teaching.near.shape == (len(teaching.rows), 5)
    saved = learn.Teaching(lessons, dataclasses.replace(first, start=first.save, model={}), targets)
    seen = saved.vectors(teaching.rows)
    wanted = teaching.rows[learn.nearest_texts(seen, 3)]
    assert torch.equal(teaching.near[:, 2:], wanted)
    by_teacher = learn.Teaching(lessons, dataclasses.replace(first, near=2), targets).near
    assert torch.equal(teaching.near[:, :2], by_teacher)
    rows, _ = next(teaching.batches())
    assert len(rows) <= second.batch


def test_chinese_sub_words_of_several_characters_become_a_bundle(tmp_path, monkeypatch):
    texts = [f"{who}怎么{what}" for who in ("我", "你们", "客户") for what in ("退货", "付款")]
    (tmp_path / "texts.txt").write_text("\n".join([*texts, "怎么付錢", "how to pay"]), "utf-8")
    (tmp_path / "made.tsv").write_text("".join(f"{text}呢\t{n}\n" for n, text in enumerate(texts)))
    made, owners = chinese.read_made(tmp_path / "made.tsv")
    assert (made[0], owners) == ("我怎么退货呢", list(range(6)))
    assert chinese.read_texts(tmp_path / "texts.txt")[6] == "怎么付钱"
    given = ["chinese", "pieces", "--texts", tmp_path / "texts.txt", "--made",
             tmp_path / "made.tsv", "--output", tmp_path / "pieces.json", "--size", 60]  # fmt: skip
    monkeypatch.setattr(sys, "argv", list(map(str, given)))
    chinese.main()
    pieces = pieces_of(tmp_path / "pieces.json")
    assert "怎么" in pieces
    assert not any(len(each) > 1 and each[0] == "\u2581" and each[1] in "我怎" for each in pieces)
    place = tmp_path / "lessons"
    parts = {"texts": texts, "made": made, "judged": texts[:4]}
    judged = {"pairs": {"graded": [[0, 1, 1.0], [0, 2, 3.0], [1, 3, 2.0]]}, "intents": {}}
    write_lessons(place, parts, owners=owners, tokenizer=tmp_path / "pieces.json", judged=judged,
                  processes=1)  # fmt: skip
    lessons = Lessons.read(place, "cpu")
    assert not lessons.are_bert_pieces
    random = np.random.default_rng(0).normal(size=(lessons.first["end"], 4))
    np.save(place / "targets.npy", random.astype(np.float16))
    run = learn.Run(name="zh", targets="", model={"body": "static", "embedding_size": 4},
                    batch=4, steps=2, compiled=False, prefixes=(),
                    save=str(tmp_path / "zh"))  # fmt: skip
    teaching = learn.Teaching(lessons, run, torch.from_numpy(np.load(place / "targets.npy")))
    told = learn.taught(teaching)
    teaching.save({"seed": 1, "batch": 4, "prefixes": [], **told})
    monkeypatch.setattr(sys, "argv", ["as_bundle", run.save, "--output", str(tmp_path / "zh")])
    as_bundle.main()
    encoder = sq.load(tmp_path / "zh")
    wanted = teaching.vectors(lessons.rows("judged"))
    np.testing.assert_allclose(encoder.encode(texts[:4]), wanted, atol=1e-3)
    np.testing.assert_array_equal(*encoder.encode(["怎么付錢", "怎么付钱"]))


def test_nearest_texts_leave_the_text_itself_out(folder):
    targets = torch.from_numpy(np.load(folder / "targets.npy"))[50:90]
    near = learn.nearest_texts(targets, 2)
    vectors = torch.nn.functional.normalize(targets.float(), dim=-1)
    cosines = (vectors @ vectors.T).fill_diagonal_(-2)
    torch.testing.assert_close(near[:, 0], cosines.argmax(dim=1))


def test_joined_vectors_have_the_mean_of_both_cosines(folder, tmp_path):
    random = np.random.default_rng(1)
    given = [random.normal(size=(300 + len(PIECES), 3)).astype(np.float16) for _ in range(2)]
    for number, vectors in enumerate(given):
        np.save(tmp_path / f"{number}.npy", vectors)
    options = type("Options", (), {
        "lessons": folder, "size": 6, "output": tmp_path / "joined.npy",
        "vectors": [f"0.25={tmp_path}/0.npy", f"0.75={tmp_path}/1.npy"],
    })  # fmt: skip
    join(options)
    cosines = []
    for vectors in (*given, np.load(tmp_path / "joined.npy")):
        unit = vectors / np.linalg.norm(vectors.astype(np.float32), axis=1, keepdims=True)
        cosines.append(unit @ unit.T)
    np.testing.assert_allclose(0.25 * cosines[0] + 0.75 * cosines[1], cosines[2], atol=5e-3)


def test_packed_weights_are_near_the_given_ones(tmp_path):
    random = np.random.default_rng(2)
    weights = {"wide": random.normal(size=(300, 200)).astype(np.float32),
               "thin": random.normal(size=7).astype(np.float32)}  # fmt: skip
    save_file(weights, tmp_path / "model.safetensors")
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    output = tmp_path / "packed"
    pack(type("Options", (), {"teacher": tmp_path, "output": output, "parts": 2}))
    from safetensors.numpy import load_file

    found = {}
    for path in sorted(output.glob("*.safetensors")):
        found |= load_file(path)
    assert found["wide"].dtype == np.int8
    again = found["wide"] * found["wide" + SCALE][:, None]
    assert np.abs(again - weights["wide"]).max() <= 0.5 * found["wide" + SCALE].max() * 1.001
    np.testing.assert_allclose(found["thin"], weights["thin"], atol=2e-3)


def test_scores_of_perfect_vectors():
    vectors = torch.eye(4)[[0, 0, 1, 2, 1, 3]]
    judged = {"pairs": {"same": [[0, 1, 1.0], [2, 3, 0.0], [2, 4, 1.0], [0, 5, 0.0]]},
              "intents": {"asked": {"train": [[0, "a"], [2, "b"]],
                                    "test": [[1, "a"], [4, "a"]]}}}  # fmt: skip
    found = scores(vectors, judged, by="auc")
    assert (found["same"], found["asked"], found["mean"]) == (100.0, 50.0, 75.0)
