"""`softquery bench serve`."""

from dataclasses import asdict

from softquery.cli.console import note, print_json, print_table
from softquery.errors import counted


def bench_serve(
    model: str, *, threads: int, rounds: int, seconds: float, clients: int, as_json: bool
) -> None:
    """Load a server, and print what came of it."""
    from softquery.bench.serve import ALONE, run_serve_bench

    result = run_serve_bench(
        model, threads=threads, rounds=rounds, seconds=seconds, clients=clients, say=note
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
    print_table(title, heads, rows)
    note(f"the server keeps {100 * result.ratio:.0f} % of the runtime's throughput")
