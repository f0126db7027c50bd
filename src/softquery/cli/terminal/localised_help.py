"""Help in the reader's language, with examples, in lines as long as the terminal.

Typer holds it in English, in the lines of the sources. Here it is looked up as it is shown, so that
nothing is translated for a command that shows no help.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import typer
from typer.main import get_command

from softquery.cli.terminal.console import broken_between_characters
from softquery.language import localised

HELP_WORDS = {
    "ARGUMENTS_PANEL_TITLE": "Arguments",
    "OPTIONS_PANEL_TITLE": "Options",
    "COMMANDS_PANEL_TITLE": "Commands",
    "DEFAULT_STRING": "[default: {}]",
    "ENVVAR_STRING": "[env var: {}]",
    "REQUIRED_LONG_STRING": "[required]",
}
"""What Typer writes around the help of commands, by the names of its settings."""
USAGE = "Usage:"
EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("softquery demo", "softquery demo --samples --output ."),
    "match": (
        'softquery match "A man is eating." "Someone eats." --model nli-en',
        "softquery match --pairs pairs.tsv --output scored.jsonl",
    ),
    "rank": (
        'softquery rank "How do I pay?" --candidates questions.txt --top-k 3',
        'softquery rank "怎么付款" --candidates zh.txt --model match-zh',
    ),
    "explain": (
        'softquery explain "How do I pay?" "Can I pay by card?"',
        'softquery explain "A warm film." --model sentiment-en --output why.html',
    ),
    "index": (
        "softquery index faq.csv --output faq.sq",
        "softquery index faq.csv --output faq.sq --columns question=title,answer=body",
        "softquery index new.csv --output faq.sq --add",
        'softquery index --output faq.sq --delete "How do I pay?"',
    ),
    "search": (
        'softquery search faq.sq "How can I get a new password?"',
        'softquery search faq.sq "How do I pay?" --where category=payment --json',
        'softquery search faq.sq "How do I pay?" --explain why.html',
    ),
    "tune": (
        "softquery tune faq.sq --queries queries.tsv --dry-run",
        "softquery tune faq.sq --queries queries.tsv --aim precision=0.95",
        "softquery tune faq.sq --undo",
    ),
    "classify": (
        'softquery classify "A warm, funny film."',
        "softquery classify --input messages.csv --output labelled.jsonl --model topics",
    ),
    "embed": (
        "softquery embed questions.txt --output vectors.npz",
        "softquery embed questions.txt --model elmo-en --output words.npz --layers mix",
    ),
    "tag": (
        'softquery tag "Ada Lovelace was born in London." --model ner-en',
        "softquery tag --input texts.txt --output tagged.jsonl",
    ),
    "fill": (
        'softquery fill "The capital of France is [MASK]." --top-k 3',
        'softquery fill "They had two [MASK]." --candidates sons,daughters',
    ),
    "generate": (
        'softquery generate "Ein Hund schläft." --model translate-de-en',
        'softquery generate "一帆风顺年年好" --model couplet-zh --n-best 3',
    ),
    "read": (
        'softquery read "Who slept?" --context "Ada slept."',
        "softquery read --input questions.jsonl --output answers.jsonl",
    ),
    "train": (
        "softquery train classify messages.csv --output topics",
        "softquery train match pairs.csv --init match-en --output my-matcher",
        "softquery train esim-snli --data snli --output esim --set optim.lr=3e-4",
    ),
    "distill": ("softquery distill teacher/ --texts questions.txt --output small",),
    "evaluate": (
        "softquery evaluate match-en --data test.tsv --errors mistakes.tsv",
        "softquery evaluate faq.sq --data queries.tsv --html report.html",
        "softquery evaluate faq.sq --data queries.tsv --stages words --stages vectors",
    ),
    "calibrate": ("softquery calibrate my-model --data dev.tsv --aim precision=0.95",),
    "export": ("softquery export my-model --int8 --gate 0.5 --data dev.tsv",),
    "import elmo": ("softquery import elmo --weights elmo.hdf5 --options elmo.json --output elmo",),
    "import cove": ("softquery import cove translator/ --output cove",),
    "import bert": ("softquery import bert bert-base-uncased/ --output bert",),
    "import sentence-transformers": (
        "softquery import sentence-transformers all-MiniLM-L6-v2/ --output minilm",
    ),
    "import static": ("softquery import static potion-base-8M/ --output potion",),
    "import vectors": ("softquery import vectors glove.6B.300d.txt --output glove",),
    "probe senses": ("softquery probe senses --data senses --model elmo-en",),
    "probe tags": ("softquery probe tags --data ud-ewt --model elmo-en",),
    "models": ("softquery models", "softquery models match-en"),
    "models add": (
        "softquery models add ./my-faq --name faq-en",
        "softquery models add faq_models-1.0-py3-none-any.whl",
        "softquery models add hub:acme/faq-en@v2",
    ),
    "models remove": ("softquery models remove faq-en",),
    "models pack": (
        "softquery models pack ./my-faq --name faq-en",
        "pip install dist/softquery_model_faq_en-1.0-py3-none-any.whl",
    ),
    "recipes": ("softquery recipes", "softquery recipes esim-snli"),
    "bench": ("softquery bench match", "softquery bench serve --clients 16 --seconds 10"),
    "plan": (
        "softquery plan --pairs 1e8 --hours 12 --cores 16",
        "softquery plan --questions 100000 --requests 50",
    ),
    "serve": (
        "softquery serve --model match-en --index faq.sq",
        "softquery serve --model match-en --model zh=match-zh --host 0.0.0.0 --port 80",
    ),
    "keys add": ("softquery keys add keys.txt website --rate 10/s",),
    "keys limit": ("softquery keys limit keys.txt website --quota 1000000/day",),
    "keys remove": ("softquery keys remove keys.txt website",),
    "keys list": ("softquery keys list keys.txt",),
    "mcp": ("softquery mcp --index faq.sq",),
    "doctor": ("softquery doctor", "softquery doctor --no-speed --json"),
    "vectors nearest": ("softquery vectors nearest king --model glove --top-k 5",),
    "vectors analogy": ("softquery vectors analogy man king woman --model glove",),
    "vectors similarity": ("softquery vectors similarity cat dog --model glove",),
    "vectors plot": ("softquery vectors plot --model glove --output map.png",),
    "vectors export": ("softquery vectors export --model glove --output glove.txt",),
}
"""What to type, at the end of the help of each verb; tests parse it all."""


def localised_parser(app: typer.Typer) -> Any:
    """The parser of an application, whose help is shown in the reader's language."""
    command = get_command(app)
    for each in _commands(command):
        each.format_help = partial(_show_help, each)
    return command


def _commands(command: Any) -> Iterator[Any]:
    yield command
    for each in getattr(command, "commands", {}).values():
        yield from _commands(each)


def _show_help(command: Any, context: Any, formatter: Any) -> None:
    """What Typer does for this command, with its texts looked up."""
    from typer import rich_utils

    shown = [command, *getattr(command, "commands", {}).values(), *command.get_params(context)]
    usage = command.get_usage(context).replace(USAGE, localised(USAGE), 1)
    words = {
        name: localised(text) for name, text in HELP_WORDS.items() if hasattr(rich_utils, name)
    }
    with ExitStack() as until_shown:
        until_shown.enter_context(_changed(rich_utils, words))
        until_shown.enter_context(broken_between_characters())
        until_shown.enter_context(_changed(command, {"get_usage": lambda context: usage}))
        for each in shown:
            until_shown.enter_context(_changed(each, _texts(each)))
        type(command).format_help(command, context, formatter)
    _show_examples(context.command_path.partition(" ")[2])


def _show_examples(verb: str) -> None:
    """What to type, each command on a line without a frame, so that it can be copied."""
    from rich.console import Console

    if verb in EXAMPLES:
        lines = "\n".join(f" {line}" for line in (localised("Examples:"), *EXAMPLES[verb]))
        Console().print(lines, markup=False, highlight=False, soft_wrap=True)


def _texts(thing: Any) -> dict[str, str]:
    """The help of a command or an option, and the words that stand for its default."""
    names = ("help", "short_help", "show_default")
    texts = {name: getattr(thing, name, None) for name in names}
    return {
        name: _flowing(localised(text)) for name, text in texts.items() if isinstance(text, str)
    }


def _flowing(text: str) -> str:
    r"""A text whose paragraphs are a line each, which the terminal breaks where it ends.

    >>> _flowing("What it does.\n\nOne line\nand its end.")
    'What it does.\n\nOne line and its end.'
    """
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in text.split("\n\n"))


@contextmanager
def _changed(thing: Any, values: dict[str, Any]) -> Iterator[None]:
    """Attributes with other values until the end of the block."""
    before = {name: vars(thing)[name] for name in values if name in vars(thing)}
    for name, value in values.items():
        setattr(thing, name, value)
    try:
        yield
    finally:
        for name in values:
            if name in before:
                setattr(thing, name, before[name])
            else:
                delattr(thing, name)
