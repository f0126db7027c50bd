"""`softquery train translate` and `couplet`, `softquery generate`, and `evaluate` of generators."""

import json
import shutil

import pytest

pytest.importorskip("lightning_fabric", reason="training needs the extra [train]")
pytest.importorskip("sacrebleu", reason="BLEU needs sacrebleu ([train])")

from reading import assert_equal, config, metrics, weights
from running import DIES_AFTER_A_PART, DIES_AFTER_AN_EPOCH, finish, softquery, start_warm
from tiny_generation import couplets, german, settings, write_aligned, write_folder, write_rows

import softquery as sq
from softquery.bundle import read_bundle
from softquery.cli.evaluate import write_mistakes
from softquery.decoding import Greedy, Sampling
from softquery.errors import ConfigError, InputError
from softquery.measure import CoupletReport
from softquery.runtime import GenerateRequest
from softquery.runtime.kinds import KINDS

LEARNT = {"training__max_epochs": 14, "optim__lr": 0.01, "schedule__warmup_steps": 20,
          "model__dropout": 0, "data__tune_share": 0.1}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("writing")
    write_folder(folder / "data", german(320))
    write_aligned(folder / "aligned", german(120))
    write_folder(folder / "couplets", couplets(240), num_dev=40)
    return folder


def train(recipe, place, output, *words, data="data", **changes):
    return softquery("train", recipe, "--data", place / data, "--output", place / output,
                     *settings(recipe, **changes), *words)  # fmt: skip


@pytest.fixture(scope="module")
def translator(place):
    answer = train("translate", place, "translator", **LEARNT)
    assert answer.code == 0, answer.err
    return place / "translator", answer


@pytest.fixture(scope="module")
def poet(place):
    answer = train("couplet", place, "poet", data="couplets", **{**LEARNT,
                   "training__max_epochs": 4})  # fmt: skip
    assert answer.code == 0, answer.err
    return place / "poet"


def test_translation_is_learnt(translator):
    folder, answer = translator
    dev = metrics(folder)["dev"]
    assert dev["bleu"] > 80
    assert dev["bleu_greedy"] > 80
    assert dev["perplexity"] < 2
    assert dev["n"] == 20
    assert "tok:13a" in dev["bleu_signature"]
    assert f"sacrebleu: {dev['bleu_signature']}" in answer.err
    assert read_bundle(folder).config.kind == "generator"
    assert config(folder)["task"] == {"name": "generate", "bleu": "13a", "form": "free"}
    assert (
        "BLEU" in (folder / "README.md").read_text() or "bleu" in (folder / "README.md").read_text()
    )


def test_it_answers_in_python(translator):
    model = sq.load(translator[0])
    (answer,) = model.predict(["drei Hunde schlafen."])
    assert answer.text == "three dogs sleep."
    assert answer.score <= 0
    many = ["drei Hunde schlafen.", "acht Bäume fallen!"]
    alone = [model.predict([text])[0] for text in many]
    assert [each.text for each in model.predict(many)] == [each.text for each in alone]
    best = model.generate(many, GenerateRequest(strategy=Greedy()))
    assert [each[0].text for each in best] == ["three dogs sleep.", "eight trees fall!"]
    one, other = (
        model.generate(many, GenerateRequest(strategy=Sampling(seed=3, temperature=2.0)))
        for _ in range(2)
    )
    assert one == other


def test_what_is_asked_is_kept_to(translator):
    model = sq.load(translator[0])
    text = "drei Hunde fallen."
    assert "dogs" not in model.predict([text], GenerateRequest(ban=("dogs",)))[0].text
    assert "trees" in model.predict([text], GenerateRequest(require=("trees",)))[0].text
    assert model.predict([text], GenerateRequest(prefix="four"))[0].text.startswith("four")
    assert len(model.predict([text], GenerateRequest(max_length=2))[0].tokens) <= 2
    assert model.predict([text], GenerateRequest(max_length=2, min_length=2))[0].is_cut
    with pytest.raises(InputError, match="the prefix holds token '▁dogs', which is banned"):
        model.predict([text], GenerateRequest(prefix="dogs", ban=("dogs",)))
    with pytest.raises(InputError, match="vocabulary does not hold 'zzz☃'"):
        model.predict([text], GenerateRequest(ban=("zzz☃",)))
    with pytest.raises(InputError, match="only what is one token can be required"):
        model.predict([text], GenerateRequest(require=("dogs trees",)))
    with pytest.raises(ConfigError, match="rules of couplets are for models of couplets"):
        model.predict([text], GenerateRequest(rules=("form",)))
    with pytest.raises(InputError, match="the texts, row 2: is empty"):
        model.predict([text, " "])


def test_words_of_several_tokens_are_banned_as_a_whole(translator):
    model = sq.load(translator[0])
    answer = model.predict(["drei Hunde fallen."], GenerateRequest(ban=("three dogs",)))[0]
    assert "three dogs" not in answer.text


def test_the_verb_prints_streams_and_explains(translator, tmp_path):
    words = ("generate", "drei Hunde schlafen.", "--model", translator[0])
    assert softquery(*words).out == "three dogs sleep.\n"
    assert softquery(*words, "--beam", 1, "--stream").out == "three dogs sleep.\n"
    told = json.loads(softquery(*words, "--json").out)
    assert set(told) == {"source", "text", "score"}
    ranked = json.loads(softquery(*words, "--n-best", 3, "--json").out)["candidates"]
    assert len(ranked) == 3
    assert [each["score"] for each in ranked] == sorted((r["score"] for r in ranked), reverse=True)
    assert softquery(*words, "--n-best", 2).out.count("three dogs sleep") >= 1
    drawn = softquery(*words, "--sample", "--top-k", 2, "--top-p", 0.9, "--seed", 1)
    assert drawn.code == 0
    answer = softquery(*words, "--explain", tmp_path / "why.json")
    assert answer.code == 0, answer.err
    why = json.loads((tmp_path / "why.json").read_text())
    assert why["source_tokens"][0] == "<bos>"
    assert len(why["weights"]) == 2  # layers
    assert len(why["weights"][0]) == 2  # heads
    assert softquery(*words, "--explain", tmp_path / "why.html").code == 0


def test_a_file_is_answered_and_gone_on_with(translator, place, tmp_path):
    rows = german(150, seed=5)
    source = write_rows(tmp_path / "in.tsv", rows)
    words = ("generate", "--input", source, "--model", translator[0], "--beam", 1)
    whole = softquery(*words, "--output", tmp_path / "whole.jsonl", "--json")
    assert whole.code == 0, whole.err
    assert json.loads(whole.out)["num_rows"] == 150
    lines = (tmp_path / "whole.jsonl").read_bytes()
    first = json.loads(lines.splitlines()[0])
    assert first["source"] == rows[0][0]
    again = (*words, "--output", tmp_path / "again.jsonl")
    assert finish(start_warm(*again, code=DIES_AFTER_A_PART)).code == 9
    resumed = softquery(*again)
    assert resumed.code == 0, resumed.err
    assert "(64 of them before)" in resumed.err
    assert (tmp_path / "again.jsonl").read_bytes() == lines
    other = (*words[:-1], 2, "--output", tmp_path / "other.jsonl")
    shutil.copy(tmp_path / "whole.jsonl", tmp_path / "other.jsonl.partial")
    assert softquery(*other).code == 2


def test_evaluate_measures_generators(translator, place, tmp_path):
    data = place / "data" / "dev.tsv"
    answer = softquery("evaluate", translator[0], "--data", data, "--json", "--slice", "length",
                       "--errors", tmp_path / "mistakes.jsonl")  # fmt: skip
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    dev = metrics(translator[0])["dev"]
    assert found["bleu"] == pytest.approx(dev["bleu"])
    assert found["perplexity"] == pytest.approx(dev["perplexity"], rel=1e-4)
    assert sum(part["n"] for part in found["slices"]["length"]) == 20
    table = softquery("evaluate", translator[0], "--data", data)
    assert "sacrebleu: nrefs:1" in table.err
    assert softquery("evaluate", translator[0], "--data", data, "--order").code == 2


def test_a_table_without_mistakes_has_the_columns_of_its_kind(tmp_path):
    names = ["source", "target", "text", "log_likelihood", "row"]
    write_mistakes(tmp_path / "none.tsv", [], KINDS["generator"].labelled.mistakes)
    assert (tmp_path / "none.tsv").read_text() == "\t".join(names) + "\n"
    one = dict(zip(names, ["ein Hund", "a dog", "a cat", -1.5, 7], strict=True))
    write_mistakes(tmp_path / "one.csv", [one], KINDS["generator"].labelled.mistakes)
    assert (tmp_path / "one.csv").read_text().splitlines()[0] == ",".join(names)


@pytest.mark.parametrize("recipe", ["translate-rnn", "translate-bahdanau", "translate-luong"])
def test_recurrent_models_translate(place, recipe, tmp_path):
    answer = train(recipe, place, recipe, **{**LEARNT, "training__max_epochs": 2})
    assert answer.code == 0, answer.err
    model = sq.load(place / recipe)
    assert len(model.predict(["drei Hunde fallen."])) == 1
    told = softquery("generate", "drei Hunde", "--model", place / recipe,
                     "--explain", tmp_path / "why.svg")  # fmt: skip
    if recipe == "translate-rnn":
        assert told.code == 2
        assert "this model looks at nothing" in told.err
    else:
        assert told.code == 0, told.err


def test_line_aligned_files_and_bleu_steer(place):
    answer = train("translate-multi30k", place, "aligned-model", data="aligned",
                   **{**LEARNT, "training__max_epochs": 2})  # fmt: skip
    assert answer.code == 0, answer.err
    assert "reading train.de and train.en" in answer.err
    assert "bleu" in metrics(place / "aligned-model")["tune"]


def test_couplets_keep_their_form(poet, place):
    dev = metrics(poet)["dev"]
    assert dev["same_length"] == dev["same_signs"] == dev["repeats_rightly"] == 1.0
    assert dev["without_rules"]["n"] == 40
    assert 0 <= dev["ranked_first"] <= 1
    model = sq.load(poet)
    uppers = [upper for upper, _ in couplets(30, seed=9)]
    request = GenerateRequest(rules=("form", "repeats", "tones"))
    lowers = [each.text for each in model.predict(uppers, request)]
    assert CoupletReport.of(uppers, lowers).all_rules == 1.0
    (odd,) = model.predict(["春龘！花花"])
    assert len(odd.text) == 5
    assert odd.text[2] == "！"
    assert odd.text[3] == odd.text[4]


def test_the_verb_ranks_lower_lines(poet):
    words = ("generate", "春花，山日", "--model", poet)
    answer = softquery(*words, "--n-best", 3, "--rules", "all", "--json")
    assert answer.code == 0, answer.err
    for each in json.loads(answer.out)["candidates"]:
        assert len(each["text"]) == 5
        assert each["text"][2] == "，"
    assert softquery(*words, "--rules", "none").code == 0
    assert "unknown rule 'rhyme'" in softquery(*words, "--rules", "rhyme").err
    refused = softquery(*words, "--prefix", "春")
    assert (refused.code, refused.out) == (2, "")
    assert "the prefix '春' breaks the rules at its token '春'" in refused.err


def test_a_run_is_resumed_to_the_same_weights(place):
    common = {**LEARNT, "training__max_epochs": 3, "training__average_decay": 0.9}
    assert train("translate", place, "whole", **common).code == 0
    words = ("train", "translate", "--data", place / "data", "--output", place / "parts",
             *settings("translate", **common))  # fmt: skip
    assert finish(start_warm(*words, code=DIES_AFTER_AN_EPOCH)).code == 9
    resumed = softquery(*words, "--resume")
    assert resumed.code == 0, resumed.err
    assert_equal(weights(place / "parts"), weights(place / "whole"), atol=1e-6)


def test_a_run_starts_from_another(poet, place):
    answer = train("couplet", place, "tuned", "--init", poet, data="couplets",
                   **{**LEARNT, "training__max_epochs": 1})  # fmt: skip
    assert answer.code == 0, answer.err
    ours = len(weights(poet))
    assert f"started from {ours} of {ours} weights" in answer.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("text.boundaries=false", "text.boundaries must be true"),
        ("model.positions=learned", ""),
        ("writing.languages=de", "languages must be two endings, or none"),
        ("writing.vocabularies=separate", "model.tie=all needs one vocabulary"),
        ("task.bleu=none", ""),
        ("task.smoothing=2", r"smoothing must be in [0, 1)"),
    ],
)
def test_settings_that_cannot_be_are_refused_at_once(place, change, message, tmp_path):
    words = ("--set", change, "--set", "training.max_steps=1", "--set", "model.max_length=20")
    answer = softquery("train", "translate", "--data", place / "data", "--output",
                       tmp_path / "model", *settings("translate"), *words)  # fmt: skip
    if change == "model.positions=learned":
        message = "text.max_tokens (128) must not exceed the positions that are learned"
    if not message:
        assert answer.code == 0, answer.err
        assert "bleu" not in metrics(tmp_path / "model")["dev"]
        return
    assert answer.code == 2
    assert message in answer.err


def test_an_exported_bundle_writes_the_same(translator, poet, place):
    for bundle, text in ((translator[0], "acht Bäume warten!"), (poet, "春花，山日")):
        target = place / f"{bundle.name}-onnx"
        answer = softquery("export", bundle, "--output", target, "--json")
        assert answer.code == 0, answer.err
        assert json.loads(answer.out)["difference"] < 1e-4
        assert sq.load(target).backend.name == "onnx"
        told = [
            softquery("generate", text, "--model", each, "--n-best", 2, "--json").out
            for each in (bundle, target)
        ]
        one, other = ([each["text"] for each in json.loads(out)["candidates"]] for out in told)
        assert one == other


def test_int8_is_smaller_and_passes_its_gate(place):
    wide = {"model__hidden_size": 64, "model__inner_size": 64, "training__max_epochs": 6}
    answer = train("translate", place, "wide", **{**LEARNT, **wide, "optim__lr": 0.005})
    assert answer.code == 0, answer.err
    words = ("export", place / "wide", "--int8")
    refused = softquery(*words, "--output", place / "small")
    assert (refused.code, refused.out) == (2, "")
    assert "int8 needs rows with source and target for its gate; name --data" in refused.err
    data = place / "data" / "dev.tsv"
    answer = softquery(*words, "--output", place / "small", "--data", data, "--gate", 3, "--json")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert (told["precision"], told["gate"]["metric"]) == ("int8", "bleu")
    plain = json.loads(softquery("export", place / "wide", "--json").out)
    assert told["size_bytes"] < 0.6 * plain["size_bytes"]
    found = json.loads(softquery("evaluate", place / "small", "--data", data, "--json").out)
    assert found["bleu"] == pytest.approx(told["gate"]["int8"])
    assert sq.load(place / "small").backend.name == "onnx"
    on = train("translate", place, "on", "--init", place / "small", training__max_epochs=1)
    assert on.code == 0, on.err
    assert {values.dtype.name for values in weights(place / "on").values()} == {"float32"}


def test_each_side_may_have_a_vocabulary_of_its_own(place):
    apart = {"writing__vocabularies": "separate", "model__tie": "output", **LEARNT}
    answer = train("translate", place, "apart", **apart)
    assert answer.code == 0, answer.err
    folder = place / "apart"
    assert "vocabulary of the source:" in answer.err
    assert metrics(folder)["dev"]["bleu"] > 80
    model = sq.load(folder)
    assert "Hunde" in "".join(model.source_pipeline.vocabulary())
    assert "Hunde" not in "".join(model.pipeline.vocabulary())
    sizes = config(folder)["model"]["config"]
    assert sizes["source_vocab_size"] == model.source_pipeline.vocab_size
    assert sizes["target_vocab_size"] == model.pipeline.vocab_size
    small, data = place / "apart-small", place / "data" / "dev.tsv"
    told = softquery("export", folder, "--int8", "--output", small, "--data", data, "--gate", 30)
    assert told.code == 0, told.err
    for bundle in (folder, small):
        said = softquery("generate", "drei Hunde schlafen.", "--model", bundle).out
        assert said.strip() == "three dogs sleep."
    on = train("translate", place, "apart-on", "--init", small, training__max_epochs=1)
    assert on.code == 0, on.err
    ours = len(weights(folder))
    assert f"started from {ours} of {ours} weights" in on.err
    assert (place / "apart-on" / "source_tokenizer.json").is_file()
    shutil.copytree(small, place / "lost")
    (place / "lost" / "source_tokenizer.json").unlink()
    refused = softquery("generate", "drei Hunde schlafen.", "--model", place / "lost")
    assert (refused.code, refused.out) == (2, "")
    assert f"but config.json says {sizes['source_vocab_size']} for the source" in refused.err
