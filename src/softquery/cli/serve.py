"""`softquery serve` and `softquery keys`, and `softquery mcp` for assistants."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softquery.cli.terminal.console import note, print_json, print_table, print_text
from softquery.cli.terminal.shared_options import AsJson
from softquery.errors import ConfigError

if TYPE_CHECKING:
    from softquery.serve.operation.allowances import Allowance

DEFAULT_PORT = 8000


def _port(value: str | int) -> int:
    """A port; what Kubernetes puts into SOFTQUERY_PORT for a service called softquery is none."""
    text = str(value)
    if text.startswith("tcp://"):
        return DEFAULT_PORT
    if not text.isdecimal():
        raise ConfigError(f"--port must be a number, got {text!r:.40}")
    return int(text)


def _option(help_text: str, variable: str, *, least: int | None = None) -> Any:
    """An option that is also a variable."""
    return typer.Option(min=least, envvar=f"SOFTQUERY_{variable}", help=help_text)


Models = Annotated[
    list[str] | None, _option("A name from the zoo, a folder, or NAME=MODEL. Repeatable.", "MODEL")
]
Indexes = Annotated[
    list[str] | None,
    _option(
        "An index, or NAME=INDEX: a folder, several (shards/*.sq), a database. Repeatable.", "INDEX"
    ),
]
Uploads = Annotated[
    Path | None,
    _option(
        "Let clients send files to be indexed, and keep the indexes in this folder.", "UPLOADS"
    ),
]
Host = Annotated[str, _option("Where to listen; 0.0.0.0 for everywhere.", "HOST")]
Port = Annotated[
    int,
    typer.Option(parser=_port, envvar="SOFTQUERY_PORT", metavar="PORT", help="0 for any free."),
]
Workers = Annotated[int, _option("Processes.", "WORKERS", least=1)]
Threads = Annotated[
    int | None, _option("Threads of a process; its cores by default.", "THREADS", least=1)
]
Keys = Annotated[Path | None, _option("Who may ask: a file of `softquery keys`.", "KEYS")]
Cors = Annotated[list[str] | None, _option("An origin whose pages may ask. Repeatable.", "CORS")]
MaxBody = Annotated[int, _option("Most bytes of a request.", "MAX_BODY", least=1)]
MaxText = Annotated[int, _option("Most characters of a text.", "MAX_TEXT", least=1)]
MaxTexts = Annotated[int, _option("Most texts of a request.", "MAX_TEXTS", least=1)]
MaxRows = Annotated[
    int, _option("Most rows of a file that is uploaded to be indexed.", "MAX_ROWS", least=1)
]
MaxTokens = Annotated[int, _option("Most tokens computed for a request.", "MAX_TOKENS", least=1)]
Queue = Annotated[
    int, _option("Requests in progress at once; the next one gets a 429.", "QUEUE", least=1)
]
BatchTokens = Annotated[int, _option("Tokens computed together.", "BATCH_TOKENS", least=1)]
Timeout = Annotated[float, _option("Seconds for one request.", "TIMEOUT")]
Drain = Annotated[float, _option("Seconds to finish requests in after a stop signal.", "DRAIN")]
Linger = Annotated[
    float, _option("Seconds to go on serving after a stop signal, while /ready says no.", "LINGER")
]
Slow = Annotated[
    float | None,
    _option("Log requests that take this many seconds, with the time of each step.", "SLOW"),
]
Usage = Annotated[
    Path | None, _option("File that keeps what each key has used, across restarts.", "USAGE")
]
Traces = Annotated[
    bool,
    typer.Option(
        "--traces/--no-traces", envvar="SOFTQUERY_TRACES", help="Send traces by OpenTelemetry."
    ),
]
LogText = Annotated[
    bool,
    typer.Option(
        "--log-text/--no-log-text", envvar="SOFTQUERY_LOG_TEXT", help="Let logs quote users."
    ),
]


def serve(
    model: Models = None,
    index: Indexes = None,
    uploads: Uploads = None,
    host: Host = "127.0.0.1",
    port: Port = DEFAULT_PORT,
    workers: Workers = 1,
    threads: Threads = None,
    keys: Keys = None,
    cors: Cors = None,
    max_body: MaxBody = 2_000_000,
    max_text: MaxText = 20_000,
    max_texts: MaxTexts = 1_000,
    max_rows: MaxRows = 2_000,
    max_tokens: MaxTokens = 300_000,
    queue: Queue = 256,
    batch_tokens: BatchTokens = 1_024,
    timeout: Timeout = 30.0,
    drain: Drain = 30.0,
    linger: Linger = 0.0,
    slow: Slow = None,
    usage: Usage = None,
    traces: Traces = False,
    log_text: LogText = False,
) -> None:
    """Answer over HTTP: TEI, OpenAI, Cohere, Jina and vLLM clients, and a page at `/`.

    Every option is also an environment variable, several values separated by spaces.
    """
    from softquery.serve import Limits, Settings
    from softquery.serve import serve as run

    settings = Settings(
        models=tuple(model or ()),
        indexes=tuple(index or ()),
        uploads=None if uploads is None else str(uploads),
        host=host,
        port=port,
        workers=workers,
        threads=threads,
        keys=None if keys is None else str(keys),
        cors=tuple(cors or ()),
        drain=drain,
        linger=linger,
        slow=slow,
        usage=None if usage is None else str(usage),
        traces=traces,
        log_text=log_text,
        limits=Limits(
            max_body=max_body,
            max_text=max_text,
            max_texts=max_texts,
            max_rows=max_rows,
            max_tokens=max_tokens,
            queue=queue,
            timeout=timeout,
            batch_tokens=batch_tokens,
        ),
    )
    # Where the logs go to a file or a collector, they alone say it.
    run(settings, say=note if sys.stderr.isatty() else lambda line: None)


keys = typer.Typer(help="Make, list and withdraw keys of a server.", no_args_is_help=True)
Rate = Annotated[
    str | None, typer.Option(metavar="NUMBER/PERIOD", help="Requests, such as 10/s or 300/min.")
]
Quota = Annotated[
    str | None, typer.Option(metavar="NUMBER/PERIOD", help="Tokens computed, such as 1000000/day.")
]
FILE_HELP = "The file of hashed keys that `softquery serve --keys` reads."


def _allowance(rate: str | None, quota: str | None) -> "Allowance":
    from softquery.serve.operation.allowances import Allowance, Amount

    return Allowance(
        rate=None if rate is None else Amount.read(rate),
        quota=None if quota is None else Amount.read(quota),
    )


@keys.command("add")
def add(
    file: Annotated[Path, typer.Argument(help=FILE_HELP)],
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    rate: Rate = None,
    quota: Quota = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and print it; the file keeps its hash alone, so it is shown this once."""
    from softquery.serve.keys import add_key

    key = add_key(file, name, _allowance(rate, quota))
    if as_json:
        print_json({"name": name, "key": key})
        return
    print_text(key)
    note(f"{file} holds its hash; servers take it from now on")


@keys.command("limit")
def limit(
    file: Annotated[Path, typer.Argument(help=FILE_HELP)],
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    rate: Rate = None,
    quota: Quota = None,
) -> None:
    """Change the limits of a key; without options, it has none."""
    from softquery.serve.keys import limit_key

    limit_key(file, name, _allowance(rate, quota))
    note(f"{file} says what {name} may ask; servers follow from now on")


@keys.command("remove")
def remove(
    file: Annotated[Path, typer.Argument(help=FILE_HELP)],
    name: Annotated[str, typer.Argument(help="Whose key it was.")],
) -> None:
    """Withdraw a key; servers refuse it from then on."""
    from softquery.serve.keys import remove_key

    remove_key(file, name)
    note(f"{file} holds no key of {name} any more")


@keys.command("list")
def show(
    file: Annotated[Path, typer.Argument(help=FILE_HELP)],
    as_json: AsJson = False,
) -> None:
    """List who has a key."""
    from softquery.serve.keys import read_keys

    found = read_keys(file)
    if as_json:
        print_json(sorted(found))
        return
    if not found:
        raise ConfigError(f"{file} holds no keys")
    rows = [
        (name, key.digest[:12], str(key.allowance.rate or ""), str(key.allowance.quota or ""))
        for name, key in sorted(found.items())
    ]
    print_table("", ("name", "SHA-256 begins with", "requests", "tokens"), rows)


Offered = Annotated[
    list[str] | None, typer.Option("--model", help="A model's name or folder. Repeatable.")
]
Searched = Annotated[
    list[str] | None, typer.Option("--index", help="The folder of an index. Repeatable.")
]
CallThreads = Annotated[
    int | None, typer.Option(min=1, help="Threads that one call may use; all cores by default.")
]


def mcp(model: Offered = None, index: Searched = None, threads: CallThreads = None) -> None:
    """Offer match, rank, classify, read and search to an assistant, over MCP.

    It speaks on standard input and output; an assistant starts it as the command
    "softquery mcp --index faq.sq". Without --model and --index it offers the shipped models.
    """
    from softquery.integrations.mcp import run_server

    run_server(model or (), index or (), threads=threads)
