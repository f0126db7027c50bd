"""Odd and bad input to `softquery generate`, as `docs/errors/generate.md` shows it."""

from dataclasses import dataclass

ANY = "…"
ANSWERED, REFUSED = 0, 2


@dataclass(frozen=True)
class Odd:
    """One kind of input; `said` stands on standard error."""

    title: str
    words: tuple[object, ...]
    said: str
    code: int = REFUSED
    model: str = "translator"

    def __str__(self) -> str:
        return self.title


TEXT = "drei Hunde fallen."
CASES = [
    Odd("an empty line", ("",), "a text is empty"),
    Odd("a line of spaces", ("  ",), "a text is empty"),
    Odd("an empty line in a file", ("--input", "lines.txt"),
        "lines.txt, row 2: source is empty"),
    Odd("an invisible character", ("\u200b",),
        "1 text with nothing that the model reads", ANSWERED),
    Odd("an invisible character for couplets", ("\u200b",),
        "1 text with nothing that the model reads", ANSWERED, "poet"),
    Odd("10,000 characters", ("Hunde " * 1667,),
        "1 text cut to the model's 128 tokens", ANSWERED),
    Odd("10,000 characters without a space", ("x" * 10_000,),
        "1 text cut to the model's 128 tokens", ANSWERED),
    Odd("only unknown tokens", ("☃☃☃",), "3 of 4 tokens are unknown to the model", ANSWERED),
    Odd("the wrong script", ("春花秋月",), "4 of 5 tokens are unknown to the model", ANSWERED),
    Odd("Latin letters for couplets", ("hello world",),
        "2 of 2 tokens are unknown to the model", ANSWERED, "poet"),
    Odd("10,000 characters for couplets", ("春花" * 5000,),
        "1 text cut to the model's 66 tokens", ANSWERED, "poet"),
    Odd("a line with more different characters than the model can answer",
        ("春花山日天红来明秋月水风地绿去清",), "the rules leave no text for "
        "'春花山日天红来明秋月水风地绿去清'", REFUSED, "poet"),
    Odd("a prefix with a banned word", (TEXT, "--prefix", "dogs", "--ban", "dogs"),
        "the prefix holds token '▁dogs', which is banned"),
    Odd("a prefix that breaks a couplet's rules", ("春花", "--prefix", "春"),
        "the prefix '春' breaks the rules at its token '春'", REFUSED, "poet"),
    Odd("a prefix that breaks the rules of one line in a file",
        ("--input", "upper.txt", "--prefix", "秋"),
        "upper.txt, row 2: the prefix '秋' breaks the rules at its token '秋'", REFUSED, "poet"),
    Odd("a prefix that the model does not know", (TEXT, "--prefix", "☃ dogs"),
        "prefix: the model's vocabulary does not hold '☃ dogs'"),
    Odd("a prefix that is longer than the line", ("春花", "--prefix", "秋月水"),
        "the prefix has 3 tokens, more than the longest length, 2", REFUSED, "poet"),
    Odd("a prefix longer than `--max-length`", (TEXT, "--prefix", "three dogs", "--max-length", 1),
        "the prefix has 2 tokens, more than the longest length, 1"),
    Odd("a word to ban that the model lacks", (TEXT, "--ban", "☃"),
        "banned: the model's vocabulary does not hold '☃'"),
    Odd("a word to require that is several tokens", (TEXT, "--require", "two dogs"),
        "required: 'two dogs' is 2 tokens of the model (▁two ▁dogs); only what is one token can be "
        "required"),
    Odd("a word that is required and banned", (TEXT, "--require", "dogs", "--ban", "dogs"),
        "token '▁dogs' is required, but not allowed"),
    Odd("a required character that the upper line has", ("春花", "--require", "春"),
        "token '春' is required, but not allowed", REFUSED, "poet"),
    Odd("more required words than room",
        (TEXT, "--require", "dogs", "--require", "two", "--max-length", 1),
        "2 required tokens do not fit into the remaining length of 1"),
    Odd("a least length above the longest", (TEXT, "--min-length", 9, "--max-length", 3),
        "min_length (9) is above max_length (3)"),
    Odd("a longest length for couplets", ("春花", "--max-length", 5),
        "a lower line is as long as its upper line: no least or longest length goes with the rules "
        "form, repeats", REFUSED, "poet"),
    Odd("an unknown rule", ("春花", "--rules", "rhyme"),
        "unknown rule 'rhyme' (known: form, repeats, tones)", REFUSED, "poet"),
    Odd("rules of couplets for another model", (TEXT, "--rules", "form"),
        "rules of couplets are for models of couplets"),
    Odd("`--rank` with a word that is not one of the choices", ("春花", "--rank", "fit"),
        "--rank must be likelihood or both-ways, got 'fit'", REFUSED, "poet"),
    Odd("`--rank both-ways` for another model", (TEXT, "--rank", "both-ways"),
        "ranking both ways is for models of couplets"),
    Odd("`--stream` with a beam", (TEXT, "--stream"),
        "--stream follows one text: use it with --beam 1, or --sample"),
    Odd("`--stream` with `--json`", (TEXT, "--beam", 1, "--stream", "--json"),
        "--stream shows a text as it is made, --json when it is whole; give one"),
    Odd("`--explain` for two texts", (TEXT, TEXT, "--explain", "why.svg"),
        "--stream and --explain show one text; give one"),
    Odd("`--explain` as a film", (TEXT, "--explain", "why.mp4"),
        "why.mp4: expected a name that ends in .html, .svg, .png or .json"),
    Odd("`--explain` in a folder that is not there", (TEXT, "--explain", "none/why.svg"),
        "none/why.svg: cannot be written (no such folder)"),
    Odd("`--explain` for a model without attention", (TEXT, "--explain", "why.svg"),
        "this model looks at nothing: its decoder has no attention", REFUSED, "forgetful"),
    Odd("`--coverage` for a model without attention", (TEXT, "--coverage", 0.2),
        "coverage is counted by attention, and this model has none", REFUSED, "forgetful"),
    Odd("a share of probability above 1", (TEXT, "--top-p", 2),
        "top_p must be in (0, 1], got 2.0"),
    Odd("a temperature of 0", (TEXT, "--temperature", 0), "temperature must be positive, got 0.0"),
    Odd("texts and a file", (TEXT, "--input", "lines.txt"), "give either texts, or --input FILE"),
    Odd("a file without a column `source`", ("--input", "other.tsv"),
        'other.tsv, row 1: no column "source" (did you mean "more"?); found: text, more; expected: '
        "source; other names are given with --columns source=NAME"),
    Odd("a model that matches", (TEXT,), ANY + "nli-en: expected a generator, found kind 'matcher'",
        REFUSED, "nli-en"),
    Odd("a folder that is no model", (TEXT,), "data: incomplete model folder" + ANY, REFUSED,
        "data"),
]  # fmt: skip


def shown(case: Odd) -> str:
    """What a page shows of a line, which must not be endless."""
    return case.said if len(case.said) < 120 else f"{case.said[:40]}{ANY}"


def odd_table() -> str:
    rows = [("input", "answer", "what softquery says"), ("---",) * 3]
    answers = {ANSWERED: "a text", REFUSED: "none, exit code 2"}
    rows += [(case.title, answers[case.code], f"`{shown(case)}`") for case in CASES]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def refusal_table() -> str:
    rows = [("input", "what softquery says", "what is left"), ("---",) * 3]
    rows += [(c.title, f"`{shown(c)}`", "nothing") for c in CASES if c.code == REFUSED]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
