"""The command line: parse, call, print. Nothing heavy is imported until a verb needs it."""

import os
from typing import Annotated

import typer

from softquery import __version__
from softquery.cli.bench import bench, plan
from softquery.cli.calibrate import calibrate
from softquery.cli.classify import classify
from softquery.cli.distill import distill
from softquery.cli.embed import embed
from softquery.cli.evaluate import evaluate
from softquery.cli.explain import explain
from softquery.cli.export import export
from softquery.cli.fill import fill
from softquery.cli.first_steps.demo import demo
from softquery.cli.first_steps.doctor import doctor
from softquery.cli.generate import generate
from softquery.cli.imports import imports
from softquery.cli.index import index
from softquery.cli.match import match, rank
from softquery.cli.models import models
from softquery.cli.probe import probe
from softquery.cli.read import read
from softquery.cli.search import search
from softquery.cli.serve import keys, mcp, serve
from softquery.cli.tag import tag
from softquery.cli.terminal.console import QUIET_VARIABLE, run
from softquery.cli.train import recipes, train
from softquery.cli.tune import tune
from softquery.cli.vectors import vectors

app = typer.Typer(
    name="softquery",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(match)
app.command()(rank)
app.command()(explain)
app.command()(index)
app.command()(search)
app.command()(tune)
app.command()(classify)
app.command()(embed)
app.command()(tag)
app.command()(fill)
app.command()(generate)
app.command()(read)
app.command()(train)
app.command()(distill)
app.command()(evaluate)
app.command()(calibrate)
app.command()(export)
app.add_typer(imports, name="import")
app.add_typer(probe, name="probe")
app.add_typer(models, name="models")
app.command()(recipes)
app.command()(bench)
app.command()(plan)
app.command()(serve)
app.add_typer(keys, name="keys")
app.command()(mcp)
app.command()(doctor)
app.add_typer(vectors, name="vectors")


def _version(asked: bool) -> None:
    if asked:
        print(f"softquery {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            help="Only answers, and what went wrong. Goes before the verb.",
        ),
    ] = False,
) -> None:
    """Attention-based text understanding: train, measure and use models.

    `softquery demo` shows the main jobs on sample files, `softquery doctor` looks at the
    installation. `softquery VERB --help` ends with examples; with --json most verbs print data.
    """
    if quiet:
        os.environ[QUIET_VARIABLE] = "1"


def main() -> None:
    """The console script."""
    run(app)
