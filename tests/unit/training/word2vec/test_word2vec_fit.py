"""The loop of word2vec: it learns, it goes on where it was, and it says when it cannot."""

import numpy as np
import pytest
import torch

pytest.importorskip("numba", reason="the CPU engine needs the extra [train]")

from softquery.errors import BundleError, ConfigError
from softquery.files import write_corpus_file
from softquery.models import Word2VecConfig
from softquery.running.callbacks import Callback, watched_by
from softquery.text import TextConfig
from softquery.training.run_records import NAME
from softquery.training.word2vec import WordTraining, fit
from softquery.training.word2vec.fit import WordFit
from softquery.training.word2vec.numba_engine import NumbaEngine
from softquery.training.word2vec.torch_engine import TorchEngine
from softquery.training.word2vec.word2vec_engine import Subject

ENGINES = {"numba": NumbaEngine, "torch": TorchEngine}
engines = pytest.mark.parametrize("engine", ENGINES)


class Watch:
    """Keeps what it is told, and interrupts after some steps."""

    def __init__(self, stop_after=None):
        self.stop_after, self.steps, self.epochs, self.begun = stop_after, [], [], None

    def begin(self, total_steps, done):
        self.begun = (total_steps, done)

    def step(self, done, facts):
        self.steps.append((done, facts))
        if len(self.steps) == self.stop_after:
            raise KeyboardInterrupt

    def epoch(self, number, facts, improved):
        self.epochs.append(facts)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Two topics whose words never meet."""
    draw = np.random.default_rng(1)
    topics = (["red", "green", "blue", "pink"], ["one", "two", "three", "four"])
    lines = [" ".join(draw.choice(topics[n % 2], 12)) for n in range(400)]
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "a.txt").write_text("\n".join(lines))
    return write_corpus_file([folder / "a.txt"], TextConfig(), folder, min_count=1)


@pytest.fixture(autouse=True)
def _short_stretches(monkeypatch):
    monkeypatch.setattr(fit, "STRETCH", 500)
    monkeypatch.setattr(fit, "ROUND", 3)


def make(engine, corpus, folder, *, config=None, **training):
    settings = WordTraining(
        **{"threads": 1, "epochs": 2, "subsample": 0, "batch_size": 32, "lr": 0.1, **training}
    )
    model = Word2VecConfig(vocab_size=len(corpus.words), **(config or {"embedding_size": 8}))
    subject = Subject.of(corpus.words, corpus.counts, model, settings, 1000)
    made = ENGINES[engine](subject, "cpu") if engine == "torch" else ENGINES[engine](subject)
    return made, WordFit(made, corpus, settings, folder)


def cosines(vectors):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit @ unit.T


@engines
@pytest.mark.parametrize("architecture", ["skipgram", "cbow"])
@pytest.mark.parametrize("objective", ["negative", "nce", "hierarchical"])
def test_words_that_meet_grow_alike(engine, architecture, objective, corpus, tmp_path):
    config = {"embedding_size": 8, "architecture": architecture, "objective": objective}
    made, run = make(engine, corpus, tmp_path, config=config, epochs=6)
    watch = Watch()
    progress = run.run(watch, resume=False)
    assert progress.words == 6 * corpus.num_tokens
    assert watch.begun == (6 * corpus.num_tokens, 0)
    assert len(watch.epochs) == 6
    assert watch.epochs[-1]["loss"] < watch.epochs[0]["loss"]
    colours = np.array([word in ("red", "green", "blue", "pink") for word in corpus.words])
    alike = cosines(made.state()["input"])
    same = colours[:, None] == colours
    assert alike[same].mean() > alike[~same].mean() + 0.5


@engines
@pytest.mark.parametrize("num_buckets", [0, 40])
def test_ngrams_are_learnt_too(engine, num_buckets, corpus, tmp_path):
    config = {"embedding_size": 6, "num_buckets": num_buckets}
    made, run = make(engine, corpus, tmp_path, config=config)
    before = made.state()["input"]
    run.run(Watch(), resume=False)
    after = made.state()["input"]
    assert len(after) >= len(corpus.words) + bool(num_buckets)
    assert (np.abs(after - before).max(axis=1) > 0).all()  # every row has moved


@engines
def test_the_rate_falls_and_rounds_are_logged(engine, corpus, tmp_path):
    _, run = make(engine, corpus, tmp_path, lr=0.1, final_lr=0.02)
    watch = Watch()
    progress = run.run(watch, resume=False)
    rates = [facts["lr"] for _, facts in watch.steps]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == pytest.approx(0.02)
    assert [row["step"] for row in progress.rows] == [done for done, _ in watch.steps]
    lines = (tmp_path / "training" / "log.csv").read_text().splitlines()
    assert lines[0] == "step,epoch,loss,lr,examples_per_second"
    assert len(lines) == 1 + len(watch.steps)


def test_a_callback_ends_a_run_early_and_it_stays_ended(corpus, tmp_path):
    class Enough(Callback):
        def on_step(self, event):
            return event.share >= 0.2

    made, run = make("numba", corpus, tmp_path)
    tmp_path.mkdir(exist_ok=True)
    progress = run.run(watched_by(Enough()), resume=False)
    assert (progress.stopped, progress.epoch) == (True, 1)
    assert 0.2 <= progress.words / (2 * run.num_words) < 0.5
    run.save()
    again, resumed = make("numba", corpus, tmp_path)
    resumed.run(watched_by(), resume=True)
    assert np.array_equal(again.state()["input"], made.state()["input"])


@engines
@pytest.mark.parametrize("stop_after", [1, 4, 6])
def test_an_interrupted_run_goes_on_to_the_same_bits(engine, stop_after, corpus, tmp_path):
    whole, run = make(engine, corpus, tmp_path / "whole")
    run.run(Watch(), resume=False)
    _, run = make(engine, corpus, tmp_path / "part")
    with pytest.raises(KeyboardInterrupt):
        run.run(Watch(stop_after), resume=False)
    (tmp_path / "part").mkdir(exist_ok=True)
    run.save()
    resumed, run = make(engine, corpus, tmp_path / "part")
    watch = Watch()
    run.run(watch, resume=True)
    assert watch.begun[1] > 0
    for name, table in whole.state().items():
        np.testing.assert_array_equal(resumed.state()[name], table, err_msg=name)


@engines
def test_seeds_decide(engine, corpus, tmp_path):
    states = []
    for number, seed in enumerate((1, 1, 2)):
        made, run = make(engine, corpus, tmp_path / str(number), seed=seed)
        run.run(Watch(), resume=False)
        states.append(made.state()["input"])
    assert np.array_equal(states[0], states[1])
    assert not np.array_equal(states[0], states[2])


def test_threads_share_the_work(corpus, tmp_path):
    made, run = make("numba", corpus, tmp_path, threads=3, epochs=6)
    assert made.name == "numba, 3 threads"
    progress = run.run(Watch(), resume=False)
    assert progress.words == 6 * corpus.num_tokens
    colours = np.array([word in ("red", "green", "blue", "pink") for word in corpus.words])
    alike = cosines(made.state()["input"])
    same = colours[:, None] == colours
    assert alike[same].mean() > alike[~same].mean() + 0.5


@engines
def test_state_and_restore_are_each_other(engine, corpus, tmp_path):
    made, run = make(engine, corpus, tmp_path, config={"embedding_size": 5, "objective": "nce"})
    run.run(Watch(), resume=False)
    state = made.state()
    other, _ = make(engine, corpus, tmp_path, config={"embedding_size": 5, "objective": "nce"})
    assert set(state) == {"input", "output", "bias"}
    other.restore(state)
    for name, table in other.state().items():
        np.testing.assert_array_equal(table, state[name])


@engines
def test_a_run_that_diverges_says_so(engine, corpus, tmp_path):
    _, run = make(engine, corpus, tmp_path, lr=1e12, max_pull=1e15, epochs=3)
    with pytest.raises(ConfigError, match="the run diverged.*lower training.lr"):
        run.run(Watch(), resume=False)


def test_a_damaged_checkpoint_is_refused(corpus, tmp_path):
    _, run = make("numba", corpus, tmp_path)
    (tmp_path / NAME).write_bytes(b"rubbish")
    with pytest.raises(BundleError, match="not a readable checkpoint"):
        run.run(Watch(), resume=True)


def test_the_torch_engine_takes_a_gpu_where_there_is_one(corpus):
    settings = WordTraining()
    model = Word2VecConfig(vocab_size=len(corpus.words), embedding_size=4)
    made = TorchEngine(Subject.of(corpus.words, corpus.counts, model, settings, 10))
    assert made.device.type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"window": 0}, "window must be at least 1, got 0"),
        ({"window": 5000}, "window and num_negatives must be at most 1,000"),
        ({"num_negatives": 0}, "num_negatives must be at least 1, got 0"),
        ({"lr": 0.01, "final_lr": 0.02}, "expected 0 <= final_lr <= lr, got final_lr 0.02"),
        ({"subsample": -1}, "subsample must not be negative, got -1"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
        ({"engine": "cuda"}, "engine must be auto, numba or torch, got 'cuda'"),
        ({"seed": -1}, "seed must be from 0 to"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"max_pull": 0}, "max_pull must be positive, got 0"),
    ],
)
def test_settings_that_make_no_sense(setting, message):
    with pytest.raises(ValueError, match=message):
        WordTraining(**setting)
