"""`softquery bench` and `softquery plan`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.terminal.console import note, print_json, print_table
from softquery.cli.terminal.shared_options import AsJson, check_picture, needs_extra
from softquery.errors import ConfigError, counted
from softquery.language import localised

if TYPE_CHECKING:
    from softquery.bench import MatchBench
    from softquery.bench.sizing import Need

NAMES = ("match", "rates", "serve")


def bench(
    name: Annotated[str, typer.Argument(help="Which benchmark: `match`, `rates` or `serve`.")],
    model: Annotated[
        list[str] | None,
        typer.Option(help="An exported bundle to time, `match-en` by default. Repeatable."),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="The same for all contestants.")] = 2,
    rounds: Annotated[int, typer.Option(min=1, help="How many turns each contestant takes.")] = 3,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0.0, help="For each contestant and round: 2 per scene, 10 under load, by default."
        ),
    ] = None,
    clients: Annotated[int, typer.Option(min=1, help="`serve`: how many ask at once.")] = 64,
    replicas: Annotated[
        int, typer.Option(min=0, help="`serve`: also this many servers behind nginx.")
    ] = 0,
    picture: Annotated[Path | None, typer.Option(help="Also draw it as a .png.")] = None,
    as_json: AsJson = False,
) -> None:
    """Time our models beside the usual alternatives, in one run on this machine.

    `match`: single pairs, batches of 32 and rankings of 100 candidates of about ten, 50 and 200
    words, from strings to scores, against cross-encoders of the shapes of BERT-base (which ranks
    short ones only), MiniLM-L6, TinyBERT-L2 and a ModernBERT of 17 million weights, with random
    weights, in PyTorch and in ONNX Runtime int8. A second table says how many times as long they
    take as our int8 model: int8 first, then PyTorch. Absolute times are this machine's.

    `serve`: a server under the load of many clients that rank 20 short texts each, against the
    runtime alone in process, and against a cross-encoder behind a plain FastAPI route; with
    `--replicas`, several servers behind a real nginx as well.

    `rates`: what a pair, a stored question and a request cost by themselves, for `softquery plan`.
    """
    if name not in NAMES:
        raise ConfigError(f"unknown benchmark {name!r} (known: {', '.join(NAMES)})")
    if name == "rates":
        _bench_rates(model, as_json)
        return
    model = model or ["match-en"]
    if name == "serve":
        wait = 10.0 if seconds is None else seconds
        for each in model:
            _bench_serve(
                each,
                threads=threads,
                rounds=rounds,
                seconds=wait,
                clients=clients,
                replicas=replicas,
                as_json=as_json,
            )
        return
    seconds = 2.0 if seconds is None else seconds
    if picture is not None:
        check_picture("--picture", picture, needed_for="a picture of the benchmark")
    with needs_extra("bench", needed_for="timing other models"):
        import torch  # noqa: F401
        import transformers  # noqa: F401
    from softquery.bench import run_match_bench

    result = run_match_bench(model, threads=threads, rounds=rounds, seconds=seconds, say=note)
    if picture is not None:
        from softquery.bench.match import draw_match_bench

        draw_match_bench(result, picture)
        note(f"written: {picture}")
    if as_json:
        print_json({**asdict(result), "ratios": result.ratios()})
        return
    _print_match(result)


def _print_match(result: "MatchBench") -> None:
    """A table of times, and one of how many times as long others take."""
    from softquery.bench.match import LONG, WORDS

    longer = [f"rank, {words} words" for words in WORDS]
    heads = ("", "pair ms", "p95", "pairs/s", "rank ms", "p95", *longer, "start s", "MB")
    rows = [
        (
            contestant,
            f"{1000 * row['pair_s']:.2f}",
            f"{1000 * row['pair_s_p95']:.2f}",
            f"{32 / row['batch32_s']:,.0f}",
            f"{1000 * row['rank100_s']:.1f}",
            f"{1000 * row['rank100_s_p95']:.1f}",
            *(f"{1000 * row[scene]:.1f}" if scene in row else "–" for scene in LONG),
            f"{row['startup_s']:.2f}",
            f"{row['peak_mb']:.0f}",
        )
        for contestant, row in result.rows.items()
    ]
    counts = f"{counted(result.threads, 'thread')}, {counted(result.rounds, 'round')}"
    print_table(localised(counts), heads, rows)
    for ours, rivals in result.ratios().items():
        times = [
            (
                rival,
                *(
                    f"{found[scene]:.1f}" if scene in found else "–"
                    for scene in ("pair_s", "rank100_s", *LONG)
                ),
            )
            for rival, found in rivals.items()
        ]
        if times:
            print_table(localised(f"times as long as {ours}"), ("", "pair", "rank", *longer), times)


def _bench_rates(model: list[str] | None, as_json: bool) -> None:
    """Measure what `softquery plan` counts with."""
    from softquery.bench.rates import measure_rates

    if model:
        raise ConfigError("--model: bench rates measures match-en and embed-en")
    rates = measure_rates(say=note)
    if as_json:
        print_json(asdict(rates))
        return
    rows = [
        (each.verb, each.words, f"{each.rows:,}", f"{each.seconds:.4g}",
         f"{each.memory / 1e6:,.0f}", f"{each.disk / 1e6:,.1f}")
        for each in rates.cases
    ]  # fmt: skip
    heads = ("", "words", "rows", "CPU seconds", "MB of memory", "MB written")
    print_table(rates.processor, heads, rows)


def _bench_serve(
    model: str,
    *,
    threads: int,
    rounds: int,
    seconds: float,
    clients: int,
    replicas: int,
    as_json: bool,
) -> None:
    """Load a server, and print what came of it."""
    from softquery.bench.serve import ALONE, run_serve_bench

    result = run_serve_bench(
        model,
        threads=threads,
        rounds=rounds,
        seconds=seconds,
        clients=clients,
        replicas=replicas,
        say=note,
    )
    if as_json:
        loads = {name: [asdict(each) for each in found] for name, found in result.loads.items()}
        print_json({**asdict(result), "loads": loads, "ratio": result.ratio})
        return
    rows: list[tuple[object, ...]] = [
        (ALONE, f"{rate:,.0f}", "", "", "", "", "") for rate in result.alone
    ]
    for name, found in result.loads.items():
        for load in found:
            shown = [f"{1000 * load.latencies[each]:.0f}" for each in ("p50", "p95", "p99")]
            fair = f"{result.fairness(load):.2f}"
            rows.append((name, f"{load.per_second:,.0f}", *shown, fair, load.num_errors))
    heads = ("", "requests/s", "p50 ms", "p95", "p99", "p99 · rate / clients", "errors")
    each = counted(result.num_texts, "text")
    title = f"{counted(clients, 'client')}, {each} each, {counted(threads, 'thread')}"
    print_table(localised(title), heads, rows)
    note(f"the server keeps {100 * result.ratio:.0f} % of the runtime's throughput")


Pairs = Annotated[float, typer.Option(help="Pairs to score once, such as 1e10.")]
QuestionCount = Annotated[float, typer.Option(help="Questions to store, such as 1e9.")]
Requests = Annotated[
    float,
    typer.Option(
        help="Requests per second: searches if there are --questions, otherwise rankings."
    ),
]
Candidates = Annotated[int, typer.Option(help="Texts sent with each ranking.")]
Words = Annotated[float, typer.Option(help="Words per text.")]
Hours = Annotated[float, typer.Option(help="In which work that is done once must be done.")]
Cores = Annotated[int, typer.Option(help="Cores of a machine.")]
Memory = Annotated[float, typer.Option(help="Memory of a machine, in GB.")]
Price = Annotated[float, typer.Option(help="Price of a machine per hour, in any currency.")]
RatesFile = Annotated[
    Path | None,
    typer.Option(
        help="What `softquery bench rates --json` printed; by default that is measured first."
    ),
]


def plan(
    pairs: Pairs = 0,
    questions: QuestionCount = 0,
    requests: Requests = 0,
    candidates: Candidates = 20,
    words: Words = 10,
    hours: Hours = 24,
    cores: Cores = 8,
    memory: Memory = 32,
    price: Price = 0,
    rates: RatesFile = None,
    as_json: AsJson = False,
) -> None:
    """Estimate how many machines, how much memory, disk, time and money a workload takes.

    The formulas take what a pair, a question and a request cost on this machine, measured by
    `softquery bench rates` with match-en and embed-en. Where something other than
    softquery is the better answer, it says so.
    """
    from softquery.bench.rates import measure_rates, read_rates
    from softquery.bench.sizing import Formulas, Wanted
    from softquery.bench.sizing_plan import needs

    wanted = Wanted(
        pairs=pairs,
        questions=questions,
        requests=requests,
        candidates=candidates,
        words=words,
        hours=hours,
        cores=cores,
        memory=1e9 * memory,
        price=price,
    )
    measured = measure_rates(say=note) if rates is None else read_rates(rates)
    found, advice = needs(Formulas(measured), wanted)
    if as_json:
        print_json({"needs": [asdict(each) for each in found], "advice": advice})
        return
    heads = ("", "machines", "GB of memory each", "GB of disk", "hours", "core hours", "cost")
    print_table(localised("what it takes"), heads, [_row(each) for each in found])
    for line in advice:
        note(localised(line))


def _row(need: "Need") -> tuple[str, ...]:
    sizes = [f"{size / 1e9:,.1f}" for size in (need.memory, need.disk)]
    times = [f"{each:,.1f}" for each in (need.hours, need.core_hours)]
    return (need.part, f"{need.machines:,}", *sizes, *times, f"{need.cost:,.0f}")
