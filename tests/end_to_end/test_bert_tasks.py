"""A BERT with each of its heads: trained, exported, asked, without and with torch."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")

from running import softquery
from tiny_bert import settings, write_base
from tiny_pairs import english as pairs
from tiny_pairs import write_folder
from tiny_questions import english as questions
from tiny_questions import write_questions
from tiny_tags import named, write_tagged
from tiny_texts import reviews, write_texts

from softquery import load
from softquery.bundle import read_bundle
from softquery.recipes import override, recipe
from softquery.running.run_options import RunOptions
from softquery.running.train import train
from softquery.runtime.torch_models import load_encoder, load_task_model

TASKS = ("classify", "match", "tag", "read")
LONG = {"training__max_epochs": 12, "data__tune_share": 0.1, "schedule__decay": "none"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Data of all four tasks, and a base whose pieces are theirs."""
    place = tmp_path_factory.mktemp("bert-tasks")
    write_texts(place / "classify", reviews(140), num_dev=20)
    write_folder(place / "match", pairs(120), num_dev=20)
    write_tagged(place / "tag", named(120))
    write_questions(place / "read", questions(40, unanswerable=True))
    texts = [text for text, _ in reviews(140)]
    texts += [f"{one} {other}" for one, other, _ in pairs(120)]
    texts += [" ".join(each[0] for each in sentence) for sentence in named(120)]
    for each in questions(40):
        texts += [each["context"], each["qas"][0]["question"]]
    write_base(place / "base", texts)
    return place


def go(folder: Path, task: str, name: str, *words: object, **changes: object) -> Path:
    """Train a head in a folder of its own."""
    output = folder / name
    answer = softquery("train", f"bert-{task}", "--data", folder / task, "--output", output,
                       *settings(**changes), *words)  # fmt: skip
    assert answer.code == 0, answer.err
    return output


@pytest.fixture(scope="module")
def trained(folder) -> dict[str, Path]:
    """One head of each, exported beside itself."""
    made = {}
    for task in TASKS:
        made[task] = go(folder, task, f"{task}-trained", "--init", folder / "base", **LONG)
        answer = softquery("export", made[task], "--output", folder / f"{task}-exported")
        assert answer.code == 0, answer.err
    return made


def exported(path: Path) -> Path:
    return path.with_name(path.name.replace("trained", "exported"))


def metric(path: Path, name: str) -> float:
    return json.loads((path / "metrics.json").read_text())["dev"][name]


def test_every_head_learns(trained):
    assert metric(trained["classify"], "accuracy") > 0.8
    assert metric(trained["tag"], "f1") > 0.6
    assert metric(trained["match"], "accuracy") >= 0.5
    assert metric(trained["read"], "f1") > 0.3


ASKED = {
    "classify": ["classify", "It is a dull film!"],
    "match": ["match", "A man eats.", "Somebody eats."],
    "tag": ["tag", "Ada Lovelace lived in London."],
    "read": ["read", "Who slept?", "--context", "In 1920, Ada slept in Rome."],
}


@pytest.mark.parametrize("task", TASKS)
def test_graphs_answer_what_torch_answers(task, trained):
    answers = []
    for model, backend in ((trained[task], "torch"), (exported(trained[task]), "onnx")):
        answer = softquery(*ASKED[task], "--model", model, "--backend", backend, "--json")
        assert answer.code == 0, answer.err
        answers.append(json.loads(answer.out))
    one, other = answers
    assert one.keys() == other.keys()
    for key, value in one.items():
        if key == "probabilities":
            assert other[key] == pytest.approx(value, abs=1e-4)
        else:
            assert other[key] == (pytest.approx(value, abs=1e-4) if key == "score" else value)


@pytest.mark.parametrize("task", TASKS)
def test_evaluation_says_what_training_said(task, trained):
    ending = {"tag": "txt", "read": "json"}.get(task, "tsv")
    data = trained[task].parent / task / f"dev.{ending}"
    answer = softquery("evaluate", exported(trained[task]), "--data", data, "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    name = {"tag": "f1", "read": "f1"}.get(task, "accuracy")
    assert found[name] == pytest.approx(metric(trained[task], name), abs=1e-6)


def test_company_changes_no_answer(trained):
    model = load(exported(trained["match"]))
    some = [("a man eats", "somebody eats"), ("a", "b " * 40), ("a man sleeps at home", "a")]
    together = model.probabilities(some)
    alone = np.concatenate([model.probabilities([pair]) for pair in some])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    ranked = model.rank("a man eats", [second for _, second in some])
    wanted = model.probabilities([("a man eats", second) for _, second in some])[:, 1]
    assert {each["corpus_id"]: each["score"] for each in ranked} == pytest.approx(
        dict(enumerate(wanted.tolist())), abs=1e-6
    )


def test_a_server_compares_and_gives_no_vectors(trained):
    pytest.importorskip("fastapi", reason="the server needs the extra [serve]")
    from softquery.serve.catalogue import open_model
    from softquery.serve.handlers import MatchRequest

    served = open_model("pairs", str(exported(trained["match"])))
    assert list(served.handlers) == ["match"]
    handler = served.handlers["match"]
    (split,) = handler.split(MatchRequest(["a man eats"], ["a", "somebody eats"]))
    found = handler.compute(split.items)
    wanted = load(exported(trained["match"])).probabilities(
        [("a man eats", "a"), ("a man eats", "somebody eats")]
    )
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_texts_of_invisible_characters(trained):
    assert load(exported(trained["classify"])).predict(["\u200b"])[0].score > 0
    assert load(exported(trained["match"])).predict([("\u200b", "a")])[0].score > 0
    reader = load(exported(trained["read"]))
    nothing, something = reader.best([("Who?", "\u200b"), ("\u200b", "Ada slept.")])
    assert (nothing.text, nothing.score) == (None, 0.0)
    assert something.text in "Ada slept."


def test_every_answer_lies_on_one_page_whole(trained):
    config = read_bundle(trained["read"]).config
    assert config.text["max_tokens"] == 128 - 64 - 3
    assert config.task["step"] == config.text["max_tokens"] - config.task["max_words"]


class Interrupting:
    """Ends a run after its first epoch."""

    def begin(self, total_steps, done): ...

    def step(self, done, facts): ...

    def epoch(self, number, facts, improved):
        if number == 1:
            raise KeyboardInterrupt


DROPPED = {"model__encoder__dropout": 0.1, "optim__lr": 0.01}
PARTS = {
    "tag": {"optim__layer_decay": 0.8},
    "read": {"reading__consistency": 1, "data__tune_share": 0.1, **DROPPED},
}


@pytest.mark.parametrize("task", PARTS)
def test_an_interrupted_run_goes_on_to_the_same_weights(task, folder):
    changes = {"training__max_epochs": 3, **PARTS[task]}
    whole = go(folder, task, f"{task}-whole", "--init", folder / "base", **changes)
    words = settings(**changes)[1::2]
    run = override(recipe(f"bert-{task}"), words)
    output, chosen = folder / f"{task}-halved", frozenset(word.partition("=")[0] for word in words)
    with pytest.raises(KeyboardInterrupt):
        train(run, RunOptions(data=folder / task, output=output, observer=Interrupting(),
                       say=lambda line: None, init=folder / "base", chosen=chosen))  # fmt: skip
    halved = go(folder, task, output.name, "--init", folder / "base", "--resume", **changes)
    facts = json.loads((whole / "metrics.json").read_text())["training"]
    assert facts["best_epoch"] > 1  # or what was kept comes from before the interruption
    ours, theirs = weights(halved), weights(whole)
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())


def test_two_passes_that_must_agree(folder, trained):
    """Where nothing is dropped they do, and nothing changes; else it counts how much they must."""

    def made(consistency: int, **changes: object) -> dict[str, torch.Tensor]:
        path = go(folder, "read", f"agreeing-{consistency}-{len(changes)}", "--init",
                  folder / "base", training__max_steps=3, reading__consistency=consistency,
                  **changes)  # fmt: skip
        assert read_bundle(path).config.task == read_bundle(trained["read"]).config.task
        found = weights(path)
        del found["output.bias"]  # what is added to all places alike follows rounding alone
        return found

    torch.testing.assert_close(made(1), made(0), rtol=0, atol=1e-4)
    with pytest.raises(AssertionError, match="not close"):
        torch.testing.assert_close(made(1, **DROPPED), made(3, **DROPPED), rtol=0, atol=1e-4)


def test_a_document_of_a_hundred_thousand_words_is_cut_read_in_parts_or_in_pages(trained):
    words = ["film"] * 100_000
    text = " ".join(words)
    answer = softquery("classify", text, "--model", exported(trained["classify"]), "--json")
    assert answer.code == 0, answer.err
    assert "cut" in answer.err
    tagged = load(exported(trained["tag"])).predict([words])[0]
    assert len(tagged.tags) == 100_000
    reader = load(exported(trained["read"]))
    place = text[:50_000].rfind(" ")
    (found,) = reader.predict([("Who slept?", f"{text[:place]} Ada slept. {text[place:]}")])
    assert found.text is None or found.text in text + " Ada slept."


def test_limits_are_told_in_pieces(trained):
    text = "film " * 400
    told = softquery("tag", text, "--model", exported(trained["tag"]))
    assert re.search(r"1 sentence longer than \d+ pieces, read in parts", told.err), told.err
    told = softquery("read", "Who?", "--context", text, "--model", exported(trained["read"]))
    assert re.search(r"1 context longer than \d+ pieces, read in windows", told.err), told.err


@pytest.mark.parametrize("odd", ["\u200b", "\u00ad", "\x07", "x" * 300, "\U0001f600"])
def test_a_word_without_pieces_still_has_a_tag(odd, trained):
    tagger = load(exported(trained["tag"]))
    (found,) = tagger.predict([["Ada", odd, "slept"]])
    assert len(found.tags) == 3
    (alone,) = tagger.predict([[odd]])
    assert len(alone.tags) == 1
    assert tagger.predict([[]])[0].tags == ()


def test_weights_of_a_text_sum_to_one(trained):
    for backend in ("onnx", "torch"):
        model = exported(trained["classify"]) if backend == "onnx" else trained["classify"]
        found = load(model, backend=backend).explain("It is a dull film!")
        assert sum(found.word_weights[0]) == pytest.approx(1, abs=1e-4)
        assert len(found.word_weights[0]) == len(found.sentences[0])


def test_what_cannot_be_shown_is_told(trained):
    answer = softquery("explain", "a", "b", "--model", trained["match"], "--output", "why.json")
    assert answer.code == 2
    assert "aligns no words" in answer.err
    with pytest.raises(Exception, match="compares no words, so it shows none"):
        load(exported(trained["read"])).explain("Who?", "Ada slept.")


def weights(path: Path) -> dict[str, torch.Tensor]:
    return load_task_model(read_bundle(path)).state_dict()


def test_layers_that_do_not_learn_stay_as_they_were(folder):
    base = load_encoder(read_bundle(folder / "base")).state_dict()
    for tuned in (0, 1):
        made = weights(go(folder, "match", f"frozen-{tuned}", "--init", folder / "base",
                          bert__tuned_layers=tuned, training__max_steps=3))  # fmt: skip
        same = {
            name
            for name, value in base.items()
            if f"encoder.{name}" in made and torch.equal(made[f"encoder.{name}"], value)
        }
        learnt = {name for name in base if name.startswith(("blocks.", "embedding."))} - same
        assert {name.split(".")[1] for name in learnt} == ({"1"} if tuned else set())


def test_random_weights_have_the_sizes_and_the_pieces_of_the_base(folder):
    path = go(folder, "match", "random", "--init", folder / "base", bert__weights="random",
              training__max_steps=1, model__encoder__num_layers=1)  # fmt: skip
    base, made = read_bundle(folder / "base"), read_bundle(path)
    assert made.tokenizer_path.read_text() == base.tokenizer_path.read_text()
    assert made.config.model["config"]["encoder"]["num_layers"] == 2
    theirs = load_encoder(base).embedding.words.weight
    assert not torch.allclose(weights(path)["encoder.embedding.words.weight"], theirs, atol=0.01)


def test_a_window_is_the_runs_own_and_then_the_bundles(folder):
    path = go(folder, "classify", "near", "--init", folder / "base", training__max_steps=1,
              model__encoder__window=2)  # fmt: skip
    assert read_bundle(path).config.model["config"]["encoder"]["window"] == 2
    answer = softquery("export", path, "--output", folder / "near-exported")
    assert answer.code == 0, answer.err
    text = "a man eats a fish at home by the sea with a child"
    ours, theirs = (load(each, backend=backend).predict([text])[0].probabilities
                    for each, backend in ((folder / "near-exported", "onnx"), (path, "torch"))
                    )  # fmt: skip
    assert ours == pytest.approx(theirs, abs=1e-4)
    later = go(folder, "classify", "near-later", "--init", path, training__max_steps=1)
    assert read_bundle(later).config.model["config"]["encoder"]["window"] == 2


def test_a_head_can_be_gone_on_with(folder, trained):
    answer = softquery("train", "bert-classify", "--data", folder / "classify", "--output",
                       folder / "further", "--init", trained["classify"],
                       *settings(training__max_steps=1))  # fmt: skip
    assert answer.code == 0, answer.err
    assert "new:" not in answer.err


def test_lower_layers_learn_more_slowly(folder):
    base = load_encoder(read_bundle(folder / "base")).state_dict()
    made = weights(go(folder, "classify", "by-layer", "--init", folder / "base",
                      optim__layer_decay=0.1, training__max_steps=3))  # fmt: skip

    def moved(name):
        return float((made[f"encoder.{name}"] - base[name]).abs().mean())

    rates = [moved(f"blocks.{layer}.feed_forward.widen.weight") for layer in (0, 1)]
    assert rates[0] < 0.2 * rates[1]


def test_a_chain_of_tags_is_exported_along(folder):
    path = go(folder, "tag", "chained", "--init", folder / "base", "--set", "model.decoder=crf",
              training__max_steps=20)  # fmt: skip
    answer = softquery("export", path, "--output", folder / "chained-exported")
    assert answer.code == 0, answer.err
    sentences = [["Ada", "slept", "in", "Rome"], ["Nobody"]]
    one, other = load(path, backend="torch"), load(folder / "chained-exported")
    assert one.predict(sentences) == other.predict(sentences)


def test_int8_is_kept_behind_its_gate(folder, trained):
    answer = softquery("export", trained["tag"], "--output", folder / "small", "--int8", "--gate",
                       100, "--data", folder / "tag" / "dev.txt", "--json")  # fmt: skip
    assert answer.code == 0, answer.err
    report = json.loads(answer.out)
    assert (report["precision"], report["gate"]["metric"]) == ("int8", "f1")


def test_vectors_of_pieces(folder):
    answer = softquery("export", folder / "base", "--output", folder / "base-exported")
    assert answer.code == 0, answer.err
    for name, backend in (("base", "torch"), ("base-exported", "onnx")):
        model = load(folder / name, backend=backend)
        found = model.embed(["It is a dull film!", "film"])
        assert [each.shape[0] for each in found] == [3, 3]
        assert [each.shape[1] for each in found] == list(map(len, model.tokens(
            ["It is a dull film!", "film"])))  # fmt: skip
        (alone,) = model.embed(["film"], layers="top")
        np.testing.assert_allclose(alone[0], found[1][-1], atol=1e-5)
