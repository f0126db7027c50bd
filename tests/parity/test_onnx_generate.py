"""Every generator that can be configured writes the same on ONNX Runtime as in torch."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "contract"))

pytest.importorskip("onnx", reason="export needs the extra [train]")

from generator_cases import CASES, GeneratorCase

from softquery.bundle import BundleConfig, read_bundle, write_bundle
from softquery.decoding import Beam, Greedy, Ranking, Sampling
from softquery.errors import BundleError
from softquery.export import export_generator
from softquery.runtime import GenerateRequest, load_generator
from softquery.runtime.torch_models import config_of
from softquery.text import TextConfig, build_pipeline

WORDS = [f"w{number}" for number in range(8)]
TEXTS = ["w1 w2", "w7", "w3 w3 w4 w5 w0 w1 w2", "w6 unknown w5"]


def make_generator(folder: Path, case: GeneratorCase) -> Path:
    """A bundle with random weights, large enough to matter."""
    model = case.build(seed=3)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            parameter.data.mul_(2.0)
    pipeline = build_pipeline([" ".join(WORDS)], TextConfig(boundaries=True, max_tokens=24))
    return write_bundle(
        folder,
        config=BundleConfig(
            kind="generator",
            model={"name": case.name, "config": config_of(model)},
            task={"name": "generate", "bleu": "13a", "form": "free"},
            text=pipeline.config.to_dict(),
            library_version="0.1.0",
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={name: value.numpy() for name, value in model.state_dict().items()},
        metrics={},
        card="# tiny\n",
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("writers")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_both_write_the_same(case, folder):
    made = make_generator(folder / str(CASES.index(case)), case)
    report = export_generator(read_bundle(made), made.with_name(f"{made.name}-onnx"))
    assert report.difference < 1e-4  # a plain network magnifies what is rounded
    theirs = load_generator(made, backend="torch", device="cpu")
    ours = load_generator(report.bundle, backend="onnx")
    assert ours.backend.name == "onnx"
    for strategy in (
        Greedy(),
        Beam(size=3, num_best=2),
        Sampling(seed=1, num_samples=2),
        Beam(size=2, ranking=Ranking(coverage=0.1))
        if case.settings.get("context", "attention") == "attention"
        else Beam(size=2),
    ):
        request = GenerateRequest(strategy=strategy, max_length=12)
        if strategy.ranking.coverage and case.name == "transformer":
            continue  # many heads have no one coverage to compare
        one, other = theirs.generate(TEXTS, request), ours.generate(TEXTS, request)
        assert [[each.tokens for each in some] for some in one] == [
            [each.tokens for each in some] for some in other
        ]
        np.testing.assert_allclose(
            [each.log_probability for some in one for each in some],
            [each.log_probability for some in other for each in some],
            rtol=1e-4,
            atol=1e-4,
        )


def test_few_learned_positions_are_enough_to_compare(folder):
    case = GeneratorCase(name="transformer", settings={"positions": "learned", "max_length": 26})
    made = make_generator(folder / "short", case)
    report = export_generator(read_bundle(made), folder / "short-onnx")
    assert report.difference < 1e-4


@pytest.mark.parametrize("name", ["seq2seq", "transformer"])
def test_both_look_at_the_same(name, folder):
    case = GeneratorCase(name=name, settings={})
    made = make_generator(folder / f"looks-{name}", case)
    exported = export_generator(read_bundle(made), folder / f"looks-{name}-onnx").bundle
    request = GenerateRequest(strategy=Greedy(), max_length=8)
    why = [load_generator(each, backend=how).explain(TEXTS[2], request)
           for each, how in ((made, "torch"), (exported, "onnx"))]  # fmt: skip
    assert why[0].tokens == why[1].tokens
    np.testing.assert_allclose(why[0].weights, why[1].weights, atol=1e-5)


def test_a_batch_is_as_each_alone(folder):
    made = make_generator(folder / "alone", GeneratorCase(name="transformer", settings={}))
    exported = export_generator(read_bundle(made), folder / "alone-onnx").bundle
    model = load_generator(exported, backend="onnx", threads=2)
    texts = [" ".join(WORDS[: 1 + number % 8]) for number in range(40)]
    request = GenerateRequest(strategy=Beam(size=2), max_length=9)
    together = model.generate(texts, request)
    assert [each[0].text for each in together] == [
        model.generate([text], request)[0][0].text for text in texts
    ]


def test_graphs_that_do_not_fit_are_refused(folder):
    made = make_generator(folder / "damaged", GeneratorCase(name="transformer", settings={}))
    exported = export_generator(read_bundle(made), folder / "damaged-onnx").bundle
    (exported / "onnx" / "step.onnx").write_bytes(b"junk")
    with pytest.raises(BundleError, match="step.onnx: cannot be run"):
        load_generator(exported, backend="onnx")
