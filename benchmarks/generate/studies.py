"""What generators can and cannot do: copying beyond the training lengths, gradients, speed.

    python benchmarks generate studies copy --jobs 4
    python benchmarks generate studies gradient
    python benchmarks generate studies speed
    python benchmarks generate studies decode --bundle BUNDLE --texts lines.txt --rows dev.tsv
    python benchmarks generate studies report

Rows go to `studies.jsonl`; what stands there is not measured again. `report` draws
docs/measured/copying.png and gradient.png, and prints the speeds.
"""

import argparse
import random
import string
import time
from pathlib import Path
from typing import Any

from benchmarks.shared.side_by_side import Planned, add_row, read_rows, train_all

HERE = Path(__file__).parent
FIGURES = HERE.parents[1] / "docs" / "measured"
RESULTS = HERE / "studies.jsonl"
LONGEST = 20
"""Symbols of the longest string that is trained on; twice as many are asked for."""
COPIERS = {
    "copy-transformer-sinusoidal": ("translate", ("model.positions=sinusoidal",)),
    "copy-transformer-learned": ("translate", ("model.positions=learned", "model.max_length=128")),
    "copy-rnn": ("translate-rnn", ()),
    "copy-bahdanau": ("translate-bahdanau", ()),
    "copy-luong": ("translate-luong", ()),
}
SHOWN = {
    "copy-luong": "LSTM, Luong's attention",
    "copy-bahdanau": "GRU, additive attention",
    "copy-rnn": "GRU, no attention",
    "copy-transformer-sinusoidal": "Transformer, sinusoidal",
    "copy-transformer-learned": "Transformer, learned",
}
"""What the figure calls them."""
COPYING = ("text.unit=words", "vocabulary.size=none", "model.dropout=0.1", "task.bleu=none",
           "training.max_epochs=12", "training.patience=12", "writing.batch_tokens=8192",
           "writing.beam=1")  # fmt: skip
TRANSFORMER_COPYING = ("model.num_encoder_layers=2", "model.num_decoder_layers=2",
                       "model.attention_dropout=0")  # fmt: skip


def copy(options: argparse.Namespace) -> None:
    data = write_strings(options.work / "strings", options.strings)
    runs = [
        Planned(name=name, recipe=recipe, data=data, seed=seed,
                settings=(*COPYING, *(TRANSFORMER_COPYING if recipe == "translate" else ()),
                          *settings))
        for seed in range(1, options.seeds + 1)
        for name, (recipe, settings) in COPIERS.items()
    ]  # fmt: skip
    trained = options.work / "copying.jsonl"
    train_all(runs, work=options.work, results=trained, jobs=options.jobs, more=options.set,
              seconds=options.seconds)  # fmt: skip
    done = {(row.get("name"), row.get("seed")) for row in read_rows(options.results)}
    for run in runs:
        if (run.name, run.seed) not in done and run.bundle(options.work).exists():
            row = {"study": "copy", "name": run.name, "seed": run.seed,
                   "right": copied(run.bundle(options.work))}  # fmt: skip
            add_row(options.results, row)
            print(run.name, run.seed, row["right"], flush=True)


def write_strings(folder: Path, count: int) -> Path:
    """Strings of letters, to be written as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    for split, number in (("train", count), ("dev", 500)):
        lines = [" ".join(draw.choices(string.ascii_lowercase, k=draw.randint(1, LONGEST)))
                 for _ in range(number)]  # fmt: skip
        text = "source\ttarget\n" + "".join(f"{line}\t{line}\n" for line in lines)
        (folder / f"{split}.tsv").write_text(text)
    return folder


def copied(bundle: Path) -> dict[int, float]:
    """The share of strings of each length that are copied without a fault."""
    import softquery as sq
    from softquery.decoding import Greedy
    from softquery.runtime import GenerateRequest

    writer, draw = sq.load(bundle), random.Random(2)
    found = {}
    for size in range(2, 2 * LONGEST + 1, 2):
        lines = [" ".join(draw.choices(string.ascii_lowercase, k=size)) for _ in range(100)]
        request = GenerateRequest(strategy=Greedy(), max_length=3 * LONGEST)
        answers = writer.generate(lines, request)
        right = [bool(each) and each[0].text == line
                 for each, line in zip(answers, lines, strict=True)]  # fmt: skip
        found[size] = sum(right) / len(right)
    return found


def gradient(options: argparse.Namespace) -> None:
    """How much the last state feels of an input so many places before, at the beginning."""
    import torch

    from softquery.attention import MultiHead
    from softquery.nn import EncoderBlock, FeedForward, RecurrentEncoder, sinusoids

    width, length = options.width, options.length
    done = {row.get("name") for row in read_rows(options.results) if row["study"] == "gradient"}
    for name in ("rnn", "gru", "lstm", "transformer"):
        if name in done:
            continue
        norms = torch.zeros(length)
        for seed in range(8):
            torch.manual_seed(seed)
            inputs = torch.randn(4, length, width, requires_grad=True)
            mask = torch.ones(4, length, dtype=torch.bool)
            if name == "transformer":
                block = EncoderBlock(MultiHead(width, 4), FeedForward(width, 4 * width), norm="pre")
                states, _ = block(inputs + sinusoids(length, width), mask)
            else:
                reader = RecurrentEncoder(width, width, num_layers=1, cell=name,
                                          direction="forwards", dropout=0.0)  # fmt: skip
                states = reader(inputs, mask).states
            states[:, -1].pow(2).sum().backward()
            norms += inputs.grad.norm(dim=-1).mean(dim=0).flip(0) / 8
        add_row(options.results, {"study": "gradient", "name": name, "norms": norms.tolist()})
        print(
            name, [f"{value:.2e}" for value in norms[:: max(1, length // 5)].tolist()], flush=True
        )


def speed(options: argparse.Namespace) -> None:
    """Training tokens/s of our Transformer and of transformers' Marian of the same shape."""
    import torch

    from softquery.data import budgeted
    from softquery.models import Seq2Seq, Seq2SeqConfig, Transformer, TransformerConfig
    from softquery.training.loop import launch
    from softquery.training.steps import EagerStep, GraphedStep

    rows = made_up(options.vocabulary, options.sentences)
    fabric = launch(devices=1, precision=options.precision, seed=1)
    words = {"source_vocab_size": options.vocabulary, "target_vocab_size": options.vocabulary}
    size, layers = options.width, options.layers
    shape = TransformerConfig(**words, hidden_size=size, num_heads=4, inner_size=4 * size,
                              num_encoder_layers=layers, num_decoder_layers=layers)  # fmt: skip
    rnn = Seq2SeqConfig(**words, embedding_size=size, hidden_size=2 * size)
    can_record = GraphedStep.serves(fabric, 1)
    contestants: list[tuple[str, Any, type]] = [
        ("transformer", lambda: Transformer(shape), EagerStep),
        ("bahdanau", lambda: Seq2Seq(rnn), EagerStep),
        ("marian (transformers)", lambda: marian(shape), EagerStep),
    ]
    if can_record:
        contestants += [(f"{name}, recorded", build, GraphedStep) for name, build, _ in contestants]
    slots = [
        slot
        for epoch in range(99)
        for slot in budgeted(rows.lengths(), num_tokens=options.tokens, seed=1, epoch=epoch)
    ]
    slots = slots[: options.warm + options.steps]  # fmt: skip
    resident = rows.to(fabric.device)
    figures = {}
    for _ in range(options.turns):
        for name, build, kind in contestants:
            try:
                pace = timed(build(), kind, fabric, resident, slots, options.warm)
            except (ImportError, RuntimeError) as error:
                print(f"{name}: {str(error).splitlines()[0][:90]}", flush=True)
                continue
            figures.setdefault(name, []).append(pace)
            print(f"{name:32s}{pace:12,.0f} target tokens/s", flush=True)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    add_row(options.results, {"study": "speed", "device": device, "precision": options.precision,
                              "tokens": options.tokens, "tokens_per_second": figures})  # fmt: skip


def made_up(vocabulary: int, count: int) -> Any:
    """Sentences of Multi30k's lengths."""
    import torch

    from softquery.data import Sentences, Translations

    draw = torch.Generator().manual_seed(0)
    lengths = (torch.randn(count, generator=draw) * 5 + 15).clamp(4, 40).long().tolist()

    def side(shift: int) -> Sentences:
        return Sentences.pack([
            [2, *torch.randint(4, vocabulary, (size + shift,), generator=draw).tolist(), 3]
            for size in lengths
        ])  # fmt: skip

    return Translations(side(0), side(1))


def timed(model: Any, kind: type, fabric: Any, rows: Any, slots: list[Any], warm: int) -> float:
    """Target tokens/s after warming up."""
    import torch

    from softquery.tasks import Generation
    from softquery.training.optim import Optim, build_optimizer

    optimizer = build_optimizer(Optim(), list(model.parameters()), fabric.device)
    ready, optimizer = fabric.setup(model.to(fabric.device), optimizer)
    step = kind(fabric, ready, optimizer, make_batch=rows.batch, loss=Generation().loss,
                clip_norm=1.0)  # fmt: skip
    lengths = rows.target.lengths.cpu()

    def wait() -> float:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter()

    for slot in slots[:warm]:
        step(slot)
    began = wait()
    for slot in slots[warm:]:
        step(slot)
    seconds = wait() - began
    count = sum(int(lengths[slot.rows].sum()) - len(slot.rows) for slot in slots[warm:])
    return count / seconds


def marian(shape: Any) -> Any:
    """Transformers' Marian with the same layers, widths, heads and tied tables."""
    import torch
    from transformers import MarianConfig, MarianMTModel

    class Marian(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = MarianMTModel(MarianConfig(
                vocab_size=shape.target_vocab_size, d_model=shape.hidden_size,
                encoder_layers=shape.num_encoder_layers, decoder_layers=shape.num_decoder_layers,
                encoder_attention_heads=shape.num_heads, decoder_attention_heads=shape.num_heads,
                encoder_ffn_dim=shape.inner_size, decoder_ffn_dim=shape.inner_size,
                dropout=shape.dropout, activation_function="relu", scale_embedding=True,
                pad_token_id=0, eos_token_id=3, decoder_start_token_id=2, forced_eos_token_id=None,
            ))  # fmt: skip

        def forward(self, batch: Any) -> Any:
            return self.model(
                input_ids=batch.source.ids, attention_mask=batch.source.mask.long(),
                decoder_input_ids=batch.inputs, use_cache=False,
            )  # fmt: skip

    return Marian()


def decode(options: argparse.Namespace) -> None:
    """Sentences/s of a bundle, greedily: torch with its cache, ONNX Runtime, CTranslate2.

    Torch, ours in float32 and CTranslate2 in float32 must write the same.
    """
    import tempfile

    from softquery.bundle import read_bundle
    from softquery.files import read_texts

    texts = [text for text, _ in zip(read_texts([options.texts]), range(options.lines),
                                     strict=False)]  # fmt: skip
    bundle = read_bundle(options.bundle)
    row: dict[str, Any] = {"study": "decode", "bundle": options.bundle.name,
                           "model": bundle.config.model["name"], "threads": options.threads,
                           "n": len(texts)}  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        models = contestants_of(bundle, Path(scratch), options)
        for batch in (1, 32):
            said: dict[str, list[str]] = {}
            # One after the other in each turn, so that a busy moment harms all alike.
            paces: dict[str, list[float]] = {name: [] for name in models}
            for turn in range(options.turns + 1):
                for name, answer in models.items():
                    pace, said[name] = decoded(answer, texts, batch)
                    paces[name] += [pace] if turn else []
            for name, found in paces.items():
                row[f"{name}, batch {batch}"] = max(found)
                row[f"{name} same, batch {batch}"] = sum(
                    one == other for one, other in zip(said[name], said["torch"], strict=True)
                )
                print(f"{name:24s} batch {batch:2d} {max(found):10.1f} sentences/s, "
                      f"{row[f'{name} same, batch {batch}']} of {len(texts)} as torch",
                      flush=True)  # fmt: skip
    print("onnx by torch at batch 1:", round(row["onnx, batch 1"] / row["torch, batch 1"], 2))
    add_row(options.results, row)


def contestants_of(bundle: Any, scratch: Path, options: argparse.Namespace) -> dict[str, Any]:
    """What answers texts, by name."""
    from softquery.decoding import Greedy
    from softquery.export import export_generator
    from softquery.files import read_rows
    from softquery.runtime import GenerateRequest, load_generator

    request = GenerateRequest(strategy=Greedy())

    def ours(where: Any, backend: str) -> Any:
        device = {"device": "cpu"} if backend == "torch" else {}
        writer = load_generator(where, backend=backend, threads=options.threads, **device)
        return lambda texts: [each.text for each in writer.predict(texts, request)]

    found = {
        "torch": ours(bundle, "torch"),
        "onnx": ours(export_generator(bundle, scratch / "onnx").bundle, "onnx"),
    }
    if options.rows:
        rows = list(read_rows(options.rows, columns=("source", "target")))
        small = export_generator(bundle, scratch / "int8", int8=True, rows=rows)
        if small.gate is not None:
            print(f"int8: {small.gate.metric} {small.gate.float32:.3f} to {small.gate.int8:.3f}")
        if small.precision == "int8":
            found["onnx, int8"] = ours(small.bundle, "onnx")
    if bundle.config.model["name"] == "transformer":
        try:
            from benchmarks.generate.ctranslate import CTranslate, convert

            folder = convert(bundle, scratch / "ctranslate2")
            for compute in ("float32", "int8"):
                theirs = CTranslate(bundle, folder, options.threads, compute)
                found[f"ctranslate2, {compute}"] = theirs.texts
        except ImportError:
            print("ctranslate2 is not installed", flush=True)
    return found


def decoded(answer: Any, texts: list[str], batch: int) -> tuple[float, list[str]]:
    """Texts a second, and the answers."""
    began, said = time.perf_counter(), []
    for start in range(0, len(texts), batch):
        said += answer(texts[start : start + batch])
    return len(texts) / (time.perf_counter() - began), said


def report(options: argparse.Namespace) -> None:
    rows = read_rows(options.results)
    for row in rows:
        if row["study"] == "speed":
            print(f"{row['device']}, {row['precision']}, batches of {row['tokens']:,} tokens")
            for name, values in row["tokens_per_second"].items():
                print(f"| {name} | {max(values):,.0f} |")
        if row["study"] == "decode":
            print(f"{row['bundle']}, {row['threads']} threads, sentences/s at batch 1 and 32")
            names = [key.removesuffix(", batch 1") for key in row
                     if key.endswith(", batch 1") and " same" not in key]  # fmt: skip
            for name in names:
                print(f"| {name} | {row[f'{name}, batch 1']:.1f} | {row[f'{name}, batch 32']:.1f} "
                      f"| {row[f'{name} same, batch 1']} of {row['n']} |")  # fmt: skip
    copies = [row for row in rows if row["study"] == "copy"]
    if copies:
        curves = {}
        for name in (name for name in SHOWN if any(row["name"] == name for row in copies)):
            mine = [row["right"] for row in copies if row["name"] == name]
            curves[SHOWN[name]] = {
                int(size): 100 * sum(each[size] for each in mine) / len(mine) for size in mine[0]
            }
        draw(curves, FIGURES / "copying.png", "letters of the string (dotted: longest in training)",
             "% copied without a fault", mark=LONGEST)  # fmt: skip
    norms = {row["name"]: dict(enumerate(row["norms"])) for row in rows
             if row["study"] == "gradient"}  # fmt: skip
    if norms:
        draw(norms, FIGURES / "gradient.png", "places before the last state",
             "norm of the gradient", log=True)  # fmt: skip


def draw(curves: dict[str, dict[int, float]], path: Path, across: str, up: str, *,
         mark: int | None = None, log: bool = False) -> None:  # fmt: skip
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.add_subplot()
    for place, (name, points) in enumerate(curves.items()):
        # Where lines meet at nothing, every other one is dashed, so that both are seen.
        dash = "--" if place % 2 and mark is not None else "-"
        axes.plot(list(points), list(points.values()), label=name, linestyle=dash)
    if mark is not None:
        axes.axvline(mark, linestyle=":", color="grey")
    if log:
        axes.set_yscale("log")
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.legend()
    figure.savefig(path, dpi=150)
    print(f"drawn: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("copy", "gradient", "speed", "decode", "report"))
    parser.add_argument("--work", type=Path, default=Path("study_runs"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--strings", type=int, default=100_000, help="for copy: training strings")
    parser.add_argument("--set", action="append", default=[], help="for copy: a further setting")
    parser.add_argument("--seconds", type=float, help="for copy: stop then, to be gone on with")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--length", type=int, default=100, help="for gradient")
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--sentences", type=int, default=29_000)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--precision", default="bf16-mixed")
    parser.add_argument("--warm", type=int, default=60)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--bundle", type=Path, help="for decode: a trained generator")
    parser.add_argument("--texts", type=Path, help="for decode: sources, one a line (.txt)")
    parser.add_argument("--rows", type=Path, help="for decode: source and target, to gate int8 by")
    parser.add_argument("--lines", type=int, default=200, help="for decode: how many of them")
    parser.add_argument("--threads", type=int, default=2, help="for decode")
    options = parser.parse_args()
    verbs = {"copy": copy, "gradient": gradient, "speed": speed, "decode": decode, "report": report}
    verbs[options.what](options)


if __name__ == "__main__":
    main()
