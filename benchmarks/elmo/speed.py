"""Pretraining speed of ELMo on one GPU, the share of its parts, and how often its clips would bind.

    python benchmarks elmo speed --text train-00.txt.xz --output speed.json
    python benchmarks elmo speed --text valid.txt.xz --bundle my-elmo

A step is everything that training does: windows of real text (or of a Zipfian stand-in), the
characters of each distinct word once, both directions of LSTMs, the sampled softmax, the backward
pass, clipping of the gradient and the optimiser. Tokens are words of the text; each is read by both
directions and counts once. Parts are timed alone, forward and backward, on the same batches, so
that their sum need not be the step. With a trained bundle: how often cell and projection exceed
the clips when they run without them, and what the clips cost in perplexity.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from softquery.bundle import read_bundle
from softquery.data import StreamBatch, Streams, is_corpus, read_corpus, write_corpus
from softquery.files import read_texts
from softquery.models import Elmo, SoftmaxConfig
from softquery.models.elmo import presets
from softquery.nn import ProjectedLstm, beside
from softquery.recipes.elmo import elmo
from softquery.running.pretrain_elmo import TYPES_MULTIPLE, StreamBatches, StreamMemory
from softquery.runtime.embed.evaluate import text_likelihood
from softquery.runtime.torch_models import load_embedder
from softquery.tasks import LanguageModel
from softquery.text import TextConfig, TextPipeline, spell_vocabulary
from softquery.training.loop import launch
from softquery.training.optim import build_optimizer
from softquery.training.plan import remembering
from softquery.training.steps import BatchGraphedStep, EagerStep

LIMIT = 3.0
"""Both clips of the published model."""


def main() -> None:
    options = parsed()
    fabric = launch(devices=1, precision=options.precision, seed=1)
    report: dict[str, object] = {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "torch": torch.__version__,
        "precision": options.precision,
        "vocabulary": options.vocabulary,
        "samples": options.samples,
        "unroll": options.unroll,
    }
    if options.bundle is not None:
        report["clips"] = clips(options, fabric.device)
    else:
        text = resident(stand_in(options) if options.text is None else real(options), fabric.device)
        report["rows"] = [
            measured(fabric, text, size, way, streams, options)
            for size in options.sizes
            for way in options.ways
            for streams in options.streams
        ]
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--text", type=Path, help="raw text or a numbered corpus; without it, a stand-in"
    )
    parser.add_argument("--bundle", type=Path, help="a trained biLM, for its clips")
    parser.add_argument("--sizes", nargs="+", default=["original"], choices=list(presets()))
    parser.add_argument("--ways", nargs="+", default=["fast"], choices=["fast", "exact"])
    parser.add_argument("--streams", type=int, nargs="+", default=[256, 512, 1024])
    parser.add_argument("--unroll", type=int, default=20)
    parser.add_argument("--vocabulary", type=int, default=200_000)
    parser.add_argument("--samples", type=int, default=8192)
    parser.add_argument("--steps", type=int, default=20, help="steps a pass")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--precision", default="bf16-mixed")
    parser.add_argument("--words", type=int, default=3_000_000, help="of the stand-in")
    parser.add_argument("--tiny", action="store_true", help="sizes for a test on a CPU")
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


def real(options: argparse.Namespace) -> Streams:
    """A file's words as streams, or those of a numbered corpus."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = options.text
        if not is_corpus(corpus):
            corpus = Path(folder) / "corpus"
            config = TextConfig(unicode_form="NFC", lowercase=False, boundaries=True)
            texts = lambda: read_texts([options.text])  # noqa: E731
            write_corpus(corpus, train=texts, valid=lambda: ["a"], config=config)
        opened = read_corpus(corpus)
        vocabulary = opened.known(size=options.vocabulary, min_count=1)
        streams = opened.streams("train", vocab_size=vocabulary, num_streams=1)
        return replace(  # off the disk, which goes now
            streams, forwards=streams.forwards.clone(), backwards=streams.backwards.clone()
        )


def stand_in(options: argparse.Namespace) -> Streams:
    """Words by Zipf's law in lines of 25, about as many distinct ones as in real text."""
    draw = torch.Generator().manual_seed(1)
    num_types = 3 * options.vocabulary
    shares = 1 / (torch.arange(1, num_types - 3) + 2.7)
    chosen = torch.searchsorted(
        shares.cumsum(0) / shares.sum(), torch.rand(options.words, generator=draw)
    )
    lines = 4 + chosen.clamp(max=num_types - 5).view(-1, 25).int()
    begin, end = torch.full((len(lines), 1), 2).int(), torch.full((len(lines), 1), 3).int()
    characters = torch.from_numpy(spell_vocabulary([f"w{n:x}" for n in range(num_types)]))
    return Streams(
        torch.cat([begin, lines, end], dim=1).flatten(),
        torch.cat([end, lines.flip(1), begin], dim=1).flatten(),
        characters,
        options.vocabulary,
        1,
    )


def resident(streams: Streams, device: torch.device) -> Streams:
    return replace(
        streams,
        forwards=streams.forwards.to(device),
        backwards=streams.backwards.to(device),
        characters=streams.characters.to(device),
    )


def build(size: str, way: str, vocab_size: int, options: argparse.Namespace) -> Elmo:
    config = replace(
        presets()[size],
        way=way,
        vocab_size=vocab_size,
        softmax=SoftmaxConfig(kind="sampled", num_samples=options.samples),
    )
    if options.tiny:
        reads = replace(config.characters, filters=(2, 2, 2, 2, 2, 2, 2))
        config = replace(config, hidden_size=16, projection_size=8, characters=reads)
    return Elmo(config)


def measured(fabric, text: Streams, size: str, way: str, streams: int, options) -> dict:
    """One row: the whole step, and its parts."""
    if fabric.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    on_gpu = fabric.device.type == "cuda"
    multiple = TYPES_MULTIPLE[fabric.device.type]
    train = replace(text, num_streams=streams).cropped(widest=7, multiple=multiple)
    model = build(size, way, text.vocab_size, options).to(fabric.device)
    memory = StreamMemory(model.initial_state(streams), rounds=1)
    plan = StreamBatches(train=train, tune=train, memory=memory, unroll=options.unroll, rounds=1)
    slots = list(plan.slots(0)[: options.steps])
    if len(slots) < options.steps:
        raise SystemExit(f"the text has {len(slots)} steps for {streams} streams; lower --steps")
    optimizer = build_optimizer(elmo().optim, model.parameters(), fabric.device)
    wrapped, optimizer = fabric.setup(model, optimizer)
    loss = LanguageModel().loss
    kind = BatchGraphedStep if on_gpu and way == "fast" else EagerStep
    step = kind(
        fabric, wrapped, optimizer,
        make_batch=plan.make_batch, loss=remembering(loss, memory), clip_norm=10.0,
    )  # fmt: skip
    for _ in range(2):  # each shape is met, then recorded
        timed(lambda: [step(slot) for slot in slots], 1)
    seconds = timed(lambda: [step(slot) for slot in slots], options.passes) / len(slots)
    parts = timed_parts(fabric, plan, model, optimizer, slots, options)
    types = [len(plan.make_batch(slot.rows.to(fabric.device), slot.length).characters)
             for slot in slots]  # fmt: skip
    row = {
        "size": size,
        "way": way,
        "streams": streams,
        "tokens_per_second": streams * options.unroll / seconds,
        "milliseconds": 1000 * seconds,
        "distinct_types": statistics.mean(types),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "peak_gigabytes": torch.cuda.max_memory_allocated() / 1e9 if fabric.device.type == "cuda"
        else 0.0,
        "parts_milliseconds": {name: 1000 * value for name, value in parts.items()},
        "parts_share": {name: value / sum(parts.values()) for name, value in parts.items()},
        "after_training": shares_beyond(model, plan, slots[:3]),
    }  # fmt: skip
    print(json.dumps(rounded(row)), flush=True)
    return row


def timed_parts(fabric, plan, model: Elmo, optimizer, slots, options) -> dict[str, float]:
    """Seconds of each part alone on the same batches, forward and backward."""
    batches = [plan.make_batch(slot.rows.to(fabric.device), slot.length) for slot in slots]
    half = torch.autocast(fabric.device.type, torch.bfloat16, options.precision == "bf16-mixed")
    size = model.config.projection_size

    def alone(count: int, work: Callable[[Tensor], Tensor]) -> None:
        inputs = torch.randn(count, size, device=fabric.device, requires_grad=True)
        with half:
            total = work(inputs).float().sum()
        total.backward()

    def characters(batch: StreamBatch) -> None:
        with half:
            total = model.read_types(batch).float().sum()
        total.backward()

    def both_ways(vectors: Tensor, batch: StreamBatch) -> Tensor:
        with beside(vectors) as joined:
            words = F.embedding(batch.backwards, vectors)
            back, _ = model.backwards(words, None, batch.state.backwards)
        ahead, _ = model.forwards(F.embedding(batch.forwards, vectors), None, batch.state.forwards)
        joined()
        return ahead[-1] + back[-1]

    def lstms(batch: StreamBatch) -> None:
        alone(len(batch.characters), lambda vectors: both_ways(vectors, batch))

    def softmax(batch: StreamBatch) -> None:
        targets = torch.cat([batch.forward_targets, batch.backward_targets]).flatten()
        alone(len(targets), lambda states: model.softmax(states, targets))

    def update(batch: StreamBatch) -> None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()

    kept = {name: value.clone() for name, value in model.state_dict().items()}
    record = fabric.device.type == "cuda" and model.config.way == "fast"
    found = {"windows": timed(lambda: [
        plan.make_batch(slot.rows.to(fabric.device), slot.length) for slot in slots
    ], options.passes) / len(slots)}  # fmt: skip
    for name, work in {"characters": characters, "lstms": lstms, "softmax": softmax}.items():
        found[name] = timed(repeated(work, batches[:4], model, record), options.passes) / 4
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    found["clipping and optimiser"] = timed(
        repeated(update, batches[:4], None, record), options.passes
    ) / 4  # fmt: skip
    model.load_state_dict(kept)  # the optimiser was fed gradients of nothing
    return found


def repeated(work, batches, model: Elmo | None, record: bool) -> Callable[[], object]:
    """The work on all batches, recorded as the step is, so that Python's launches do not count."""
    if not record:
        return lambda: [work(batch) for batch in batches]
    graphs = []
    for batch in batches:
        for attempt in range(2):  # kernels warm up before they are recorded
            if model is not None:
                model.zero_grad(set_to_none=True)
            if not attempt:
                work(batch)
                continue
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                work(batch)
            graphs.append(graph)
    return lambda: [graph.replay() for graph in graphs]


def timed(work: Callable[[], object], passes: int) -> float:
    """Median seconds of a pass, after one to warm up."""
    work()
    seconds = []
    for _ in range(passes):
        synchronize()
        start = time.perf_counter()
        work()
        synchronize()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


@torch.no_grad()
def shares_beyond(model: Elmo, plan: StreamBatches, slots) -> dict[str, float]:
    """Share of cell values and outputs beyond the published clips, run without them."""
    counts = {"cell": 0, "projection": 0}
    totals = {"cell": 0, "projection": 0}
    device = next(model.parameters()).device
    model.eval()
    for slot in slots:
        batch = plan.make_batch(slot.rows.to(device), slot.length)
        vectors = model.read_tokens(batch.characters)
        for stack, places, state in (
            (model.forwards, batch.forwards, batch.state.forwards),
            (model.backwards, batch.backwards, batch.state.backwards),
        ):
            inputs = vectors[places]
            for number, layer in enumerate(stack.layers):
                start = (state.hidden[number], state.cell[number])
                above, cells = unclipped(layer, inputs, *start)
                for name, values in (("cell", cells), ("projection", above)):
                    counts[name] += int((values.abs() > LIMIT).sum())
                    totals[name] += values.numel()
                inputs = above + inputs if number and stack.residual else above
    model.train()
    return {f"{name}_beyond_{LIMIT:g}": counts[name] / totals[name] for name in counts}


def unclipped(layer: ProjectedLstm, inputs: Tensor, hidden: Tensor, cell: Tensor):
    """Outputs and cells at every step, without clips."""
    clips, layer.cell_clip, layer.projection_clip = (
        (layer.cell_clip, layer.projection_clip), 0.0, 0.0,
    )  # fmt: skip
    gates = F.linear(inputs, layer.input_weight, layer.bias)
    outputs, cells = [], []
    for place in range(inputs.shape[1]):
        hidden, cell = layer.step(gates[:, place], hidden, cell)
        outputs.append(hidden)
        cells.append(cell)
    layer.cell_clip, layer.projection_clip = clips
    return torch.stack(outputs, dim=1), torch.stack(cells, dim=1)


def clips(options: argparse.Namespace, device: torch.device) -> dict[str, object]:
    """What the clips would do to a trained model, on some text."""
    bundle = read_bundle(options.bundle)
    model = load_embedder(bundle).to(device)
    pipeline = TextPipeline.load(bundle.path, TextConfig.from_dict(bundle.config.text))
    text = resident(known_words(options.text, pipeline), device)
    plan = StreamBatches(
        train=replace(text, num_streams=options.streams[0]),
        tune=text,
        memory=StreamMemory(model.initial_state(options.streams[0]), rounds=1),
        unroll=options.unroll,
        rounds=1,
    )
    slots = list(plan.slots(0)[: options.steps])
    report: dict[str, object] = dict(shares_beyond(model, plan, slots))
    if model.softmax is not None:
        for way in ("fast", "exact"):
            for layer in (*model.forwards.layers, *model.backwards.layers):
                layer.way, layer.cell_clip, layer.projection_clip = way, LIMIT, LIMIT
            report[way] = text_likelihood(model, plan.train).report()
    print(json.dumps(report), flush=True)
    return report


def known_words(path: Path, pipeline: TextPipeline) -> Streams:
    """A file's words, those of the bundle's vocabulary first."""
    with tempfile.TemporaryDirectory() as folder:
        corpus, known = Path(folder) / "corpus", pipeline.vocabulary()
        texts = lambda: read_texts([path])  # noqa: E731
        write_corpus(corpus, train=texts, valid=lambda: ["a"], config=pipeline.config, known=known)
        streams = read_corpus(corpus).streams("train", vocab_size=len(known), num_streams=1)
        return replace(
            streams, forwards=streams.forwards.clone(), backwards=streams.backwards.clone()
        )


def rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    return round(value, 4) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
