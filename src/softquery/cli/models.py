"""`softquery models` with `add`, `remove` and `pack`."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from unicodedata import category

import typer
from typer.core import TyperGroup

from softquery.cli.terminal.console import note, one_line, print_json, print_table, print_text
from softquery.cli.terminal.shared_options import AsJson
from softquery.language import ENGLISH, current_language, localised

if TYPE_CHECKING:
    from softquery.bundle import Bundle
    from softquery.zoo import ZooEntry


class _NamesOrCommands(TyperGroup):
    """A group whose first word may also be a model's name, which is then that of `card`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return "", self.commands["card"], args


models = typer.Typer(
    cls=_NamesOrCommands,
    invoke_without_command=True,
    subcommand_metavar="[NAME | COMMAND ...]",
)


@models.callback()
def list_models(context: typer.Context, as_json: AsJson = False) -> None:
    """List all models with where they come from, or show one model's card.

    Without a name, all models are listed that can be loaded by name: those of
    softquery itself, of installed packages, and your own. With the name of one
    of them, or with a model folder, its card is shown. Where several have one
    name, softquery's own is taken, then a package's, then yours; the list says
    which ones are not used.

    Your own models lie in $SOFTQUERY_HOME/models. Without that variable it is
    the folder where your system keeps the data of programs, on Linux
    ~/.local/share/softquery/models.
    """
    from softquery.zoo import entries, find_packages

    if context.invoked_subcommand is not None:
        return
    listed = entries()
    if as_json:
        print_json([{**asdict(entry), "path": str(entry.path)} for entry in listed])
    else:
        _show_tables(listed)
    for problem in find_packages().problems:
        note(one_line(problem))


@models.command("card", hidden=True)
def card(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A name, or a folder.")],
    as_json: AsJson = False,
) -> None:
    """Show a model's card."""
    from softquery.zoo import resolve

    before = context.parent.params.get("as_json", False) if context.parent is not None else False
    _show_card(str(resolve(name)), as_json or before)


@models.command("add")
def add(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PATH|WHEEL|hub:OWNER/NAME",
            help="A model folder, a wheel of models, or a repository on Hugging Face's hub.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(help="The name to give it.", show_default="as its folder or repository"),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a model of yours that has this name.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put a model into your folder, where every verb finds it by name.

    A folder is copied. A wheel is unpacked as data: nothing of it is installed
    or run. A repository on Hugging Face's hub needs the extra "hub"; only the
    files of a bundle are fetched, of the main branch or of a pinned revision,
    and private ones with the token in HF_TOKEN.

    Before a model gets its name it is checked as loading checks it. What is
    damaged, unknown, too large or leads elsewhere is refused, and nothing is
    left of it.
    """
    from softquery.sharing import add as add_models

    added = add_models(source, name=name, replace=replace)
    if as_json:
        print_json([{**asdict(each), "path": str(each.path)} for each in added])
    for each in added:
        note(f"{each.name} was added from {each.source}: {each.path}")
        if each.untried is not None:
            note(f"{each.name} could not be tried out: {each.untried}")


@models.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="The name of one of your own models.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Take one of your own models out of your folder, with all its files.

    On a terminal you are asked first. Models of softquery and of installed
    packages stay; the latter go with pip uninstall.
    """
    from softquery.zoo import removable
    from softquery.zoo import remove as remove_model

    entry = removable(name)
    if not yes and sys.stdin.isatty():
        size = f"{entry.size_bytes / 1e6:.1f} MB"
        if not typer.confirm(localised(f"Remove {one_line(str(entry.path))} ({size})?"), err=True):
            note("nothing was removed")
            return
    note(f"{name} was removed: {remove_model(name)}")


@models.command("pack")
def pack(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="A model folder, or the name of your own model.")
    ],
    name: Annotated[
        str | None,
        typer.Option(help="The name to load it by.", show_default="that of the folder"),
    ] = None,
    output: Annotated[Path, typer.Option(help="The folder of the wheel.")] = Path("dist"),
    package: Annotated[
        str | None,
        typer.Option(help="What pip calls the package.", show_default="softquery-model-NAME"),
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(
            help="Its version.", show_default="version in the card's front matter, or 1.0"
        ),
    ] = None,
    source: Annotated[
        bool, typer.Option("--source", help="Write the package's source folder, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a pip package of a model: a wheel that holds its files, its card and no code.

    Whoever installs it finds the model by name; softquery models add takes the
    wheel as well. Version, licence, summary and description come from the card.
    Equal models give equal bytes. No build tool is needed to make it, and twine
    publishes it.
    """
    from softquery.sharing import pack as pack_model

    packed = pack_model(
        folder,
        name=name,
        package=package,
        version=version,
        output=output,
        with_source=source,
    )
    for line in packed.notes:
        note(one_line(line))
    if as_json:
        paths = {"wheel": str(packed.wheel), "source": packed.source and str(packed.source)}
        print_json({**asdict(packed), **paths})
        return
    print_text(str(packed.wheel))
    if packed.source is not None:
        print_text(str(packed.source))


def _show_tables(listed: "list[ZooEntry]") -> None:
    """A table for each place that models come from, and how to get those that are missing."""
    from softquery.zoo import MODELS_PACKAGE, absent, local_folder

    places: dict[str, list[tuple[str, ...]]] = {}
    for entry in listed:
        title = entry.package or localised(f"local, in {local_folder()}")
        places.setdefault(title, []).append(_row(entry))
    for title, rows in places.items():
        print_table(title, ("name", "what it is for", "model, size, licence"), rows)
    missing = absent()
    if missing:
        names = ", ".join(missing)
        print_text(localised(f"not installed (pip install {MODELS_PACKAGE}): {names}"))


def _row(entry: "ZooEntry") -> tuple[str, ...]:
    """What the table shows, without characters of somebody else's card that a terminal obeys."""
    facts = [f"{entry.model}, {entry.size_bytes / 1e6:.1f} MB", entry.licence]
    if entry.source:
        facts.append(localised(f"from {entry.source}"))
    return (
        one_line(entry.name),
        one_line(localised(entry.problem or entry.summary)),
        "\n".join(one_line(fact) for fact in facts),
    )


def _show_card(folder: str, as_json: bool) -> None:
    from softquery.bundle import read_bundle
    from softquery.bundle.layer_weights import learnt_layers, with_layers

    bundle = read_bundle(folder)
    mixes = learnt_layers(bundle)
    if as_json:
        print_json(
            {
                "path": str(bundle.path),
                "config": bundle.config.to_dict(),
                "metrics": bundle.metrics,
                "calibration": bundle.calibration,
                "layers": [asdict(mix) for mix in mixes],
                "card": bundle.card,
            }
        )
    else:
        print_text(_escaped(_local_card(bundle) or with_layers(bundle.card, mixes)))


def _local_card(bundle: "Bundle") -> str | None:
    """The card in the reader's language, where the bundle has one."""
    from softquery.bundle.config import LARGEST_TEXT
    from softquery.plain_files import read_plain

    path = bundle.path / f"README.{current_language()[:2]}.md"
    if current_language() == ENGLISH or not path.is_file():
        return None
    return read_plain(path, LARGEST_TEXT).decode("utf-8", errors="replace")


def _escaped(card: str) -> str:
    """A card without the characters that a terminal obeys, line ends and tabs aside."""
    return "".join(
        mark if mark in "\n\t" or category(mark) != "Cc" else mark.encode("unicode_escape").decode()
        for mark in card.replace("\r\n", "\n")
    )
