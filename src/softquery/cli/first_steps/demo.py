"""`softquery demo`."""

import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softquery.cli.terminal.console import note, print_json, print_text
from softquery.cli.terminal.shared_options import AsJson
from softquery.errors import InputError
from softquery.language import ENGLISH, current_language, localised

if TYPE_CHECKING:
    from softquery.demo import Stop

SERVED = {ENGLISH: ("match-en", "faq.sq"), "zh_CN": ("match-zh", "faq-zh.sq")}
"""The model and the index that the last line serves, by the reader's language."""


def demo(
    output: Annotated[
        Path, typer.Option(help="Folder for the sample files and the results.")
    ] = Path("softquery-demo"),
    samples: Annotated[
        bool, typer.Option("--samples", help="Only write the sample files.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the main jobs on sample files: match, rank, search an FAQ, classify, and more.

    The files are written first: an invented shop's FAQ in English and Chinese, its
    customers' queries, and messages with labels. Then each command is shown and run
    in that folder, so that you can run it again with other words, or with a file of
    your own. What needs a missing package is skipped, with the command that installs it.

    A second run replaces the results of the first, and nothing else in the folder.
    """
    from softquery.demo import SAMPLES, TOUR, what_is_missing, write_samples

    written = write_samples(output)
    if samples:
        if as_json:
            print_json({path.name: str(path) for path in written})
        else:
            for path in written:
                print_text(f"{path}: {localised(SAMPLES[path.name])}")
        return
    note(f"the sample files are in {output}")
    ran = []
    for stop in TOUR:
        missing = what_is_missing(stop)
        seconds = None if missing else _show(stop, output, quiet=as_json)
        if missing and not as_json:
            needs = localised(f"passed over; it needs {missing}")
            print_text(f"\n# {localised(stop.says)}\n# {needs}")
        ran.append({"command": _typed(stop.words), "seconds": seconds, "missing": missing or None})
    if as_json:
        print_json(ran)
        return
    torch = "torch is installed" if find_spec("torch") else "torch is not installed"
    print_text("\n" + localised(f"{torch}; none of this needs it"))
    print_text(localised(f"results, pictures and sample files: {output.resolve()}"))
    model, index = SERVED.get(current_language(), SERVED[ENGLISH])
    if (output / index).exists():
        print_text(localised("next, the same in a browser:"))
        print_text(f"$ {_typed(['serve', '--model', model, '--index', str(output / index)])}")


def _show(stop: "Stop", folder: Path, *, quiet: bool) -> float:
    """Run a command of the tour as a user would; the seconds that it took."""
    if not quiet:
        print_text(f"\n# {localised(stop.says)}\n$ {_typed(stop.words)}")
    _remove(folder, stop.makes)
    began = time.perf_counter()
    found = subprocess.run(
        [sys.executable, "-m", "softquery", *stop.words],
        cwd=folder,
        stdout=subprocess.DEVNULL if quiet else None,
        check=False,
    )
    if found.returncode:
        raise InputError(
            f"{_typed(stop.words)} ended with exit code {found.returncode}", source=folder
        )
    return time.perf_counter() - began


def _remove(folder: Path, name: str) -> None:
    """Take away what an earlier tour has made."""
    if not name:
        return
    path = folder / name
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _typed(words: Sequence[str]) -> str:
    """The command as one types it: only words that need quotes have them."""
    return " ".join(["softquery", *(_quoted(word) for word in words)])


def _quoted(word: str) -> str:
    return word if shlex.quote(word) == word else f'"{word}"'
