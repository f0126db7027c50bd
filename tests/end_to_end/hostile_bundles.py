"""Bad input for `softquery models` and `softquery recipes`."""

import pickle
from pathlib import Path

from hostile_cases import ANY, Case, both, changed, closed, cut, file, gone

PLAIN = "models model"
KNOWN = f"(known: {ANY})"


def linked(place: Path) -> None:
    """A card that would show another file of its reader."""
    (place / "model" / "README.md").unlink()
    (place / "model" / "README.md").symlink_to("/etc/passwd")


def folded(place: Path) -> None:
    """A folder where a file should be."""
    (place / "model" / "metrics.json").unlink()
    (place / "model" / "metrics.json").mkdir()


MODELS = [
    Case(
        title="a name that no model has",
        command="models nli-xx",
        said=f"no model called 'nli-xx'; {ANY}shipped: {ANY}; local: none",
    ),
    Case(
        title="a name with a slip",
        command="models my-mdoel",
        damage=file("home/models/my-model/config.json", "{}"),
        said=f"no model called 'my-mdoel'; did you mean 'my-model'? shipped: {ANY}; "
        "local: my-model",
    ),
    Case(
        title="a folder that is not there",
        command="models models/none",
        said="models/none: no such model folder",
    ),
    Case(
        title="a file in place of a folder",
        command="models test.tsv",
        said="test.tsv: is a file, but a model is a folder",
    ),
    Case(
        title="a folder that is no model",
        command="models data",
        said="data: incomplete model folder, config.json and tokenizer.json and "
        "model.safetensors and metrics.json and README.md missing",
    ),
    Case(
        title="a folder without permission to read it",
        command=PLAIN,
        damage=closed("model"),
        needs=frozenset({"nobody"}),
        said="model: Permission denied",
    ),
    Case(
        title="a file of the bundle missing",
        command=PLAIN,
        damage=gone("model/tokenizer.json"),
        said="model: incomplete model folder, tokenizer.json missing",
    ),
    Case(
        title="weights that break off",
        command=PLAIN,
        damage=cut("model/model.safetensors"),
        said=f"model/model.safetensors: damaged or not a safetensors file ({ANY})",
    ),
    Case(
        title="weights that are text",
        command=PLAIN,
        damage=file("model/model.safetensors", "see README.md"),
        said=f"model/model.safetensors: damaged or not a safetensors file ({ANY})",
    ),
    Case(
        title="weights in pickle form only",
        command=PLAIN,
        damage=both(
            gone("model/model.safetensors"),
            file("model/pytorch_model.bin", pickle.dumps({"weight": 1})),
        ),
        said="model/pytorch_model.bin: weights in pickle form can run code and are never loaded; "
        "expected model.safetensors",
    ),
    Case(
        title="a config that breaks off",
        command=PLAIN,
        damage=cut("model/config.json"),
        said=f"model/config.json: broken JSON in line {ANY}",
    ),
    Case(
        title="a config that is a list",
        command=PLAIN,
        damage=file("model/config.json", "[]"),
        said="model/config.json: expected a JSON object, found list",
    ),
    Case(
        title="a config with a wrong key",
        command=PLAIN,
        damage=changed("model/config.json", "kidn", to="matcher"),
        said="model/config.json: unknown key 'kidn'; did you mean 'kind'?",
    ),
    Case(
        title="a bundle of a later softquery",
        command=PLAIN,
        damage=both(
            changed("model/config.json", "bundle_version", to=99),
            changed("model/config.json", "library_version", to="9.0"),
        ),
        said="model/config.json: written by softquery 9.0, bundle version 99; "
        f"this softquery reads up to {ANY}: upgrade softquery",
    ),
    Case(
        title="a tokenizer that breaks off",
        command=PLAIN,
        damage=cut("model/tokenizer.json"),
        said=f"model/tokenizer.json: broken JSON in line {ANY}",
    ),
    Case(
        title="metrics with NaN",
        command=PLAIN,
        damage=file("model/metrics.json", '{"accuracy": NaN}'),
        said="model/metrics.json: broken JSON: NaN is not a JSON number",
    ),
    Case(
        title="a card in another encoding",
        command=PLAIN,
        damage=file("model/README.md", b"# Caf\xe9\n"),
        said="model/README.md: is not UTF-8 text (byte 5)",
    ),
    Case(
        title="a link that leads out of the folder",
        command=PLAIN,
        damage=linked,
        said="model/README.md: is a link that leads out of the model folder",
    ),
    Case(
        title="a folder where a file should be",
        command=PLAIN,
        damage=folded,
        said="model/metrics.json: is not a file",
    ),
    Case(
        title="answers that lead to a full disk",
        command=PLAIN,
        said="standard output: cannot be written (no space left on the disk)",
        answers="/dev/full",
    ),
    Case(
        title="two names",
        command="models model other",
        said=f"got unexpected extra argument{ANY} (other); see softquery models --help",
    ),
]

RECIPES = [
    Case(
        title="a name that no recipe has",
        command="recipes zzz",
        said=f"unknown recipe 'zzz' {KNOWN}",
    ),
    Case(
        title="a name with a slip",
        command="recipes siamse",
        said=f"unknown recipe 'siamse'; did you mean 'siamese'? {KNOWN}",
    ),
    Case(
        title="a name in capitals",
        command="recipes ESIM",
        said=f"unknown recipe 'ESIM'; did you mean 'esim'? {KNOWN}",
    ),
    Case(
        title="an empty name",
        command="recipes ''",
        said=f"unknown recipe '' {KNOWN}",
    ),
    Case(
        title="a path",
        command="recipes ./data/train.tsv",
        said=f"unknown recipe './data/train.tsv'{ANY} {KNOWN}",
    ),
    Case(
        title="a name with a line end and a colour code",
        command="recipes 'esim\n\x1b[31m'",
        said=f"unknown recipe 'esim\\n\\x1b[31m'; did you mean 'esim'? {KNOWN}",
    ),
    Case(
        title="a name of 100,000 letters",
        command=f"recipes {'e' * 100_000}",
        said=f"unknown recipe '{'e' * 99} {KNOWN}",
    ),
    Case(
        title="two names",
        command="recipes esim siamese",
        said=f"got unexpected extra argument{ANY} (siamese); see softquery recipes --help",
    ),
    Case(
        title="an option that does not exist",
        command="recipes --jsn",
        said=f"no such option: --jsn{ANY}; see softquery recipes --help",
    ),
    Case(
        title="a value for a switch",
        command="recipes --json=yes",
        said=f"option '--json' does not take a value{ANY}",
    ),
    Case(
        title="answers that lead to a full disk",
        command="recipes",
        said="standard output: cannot be written (no space left on the disk)",
        answers="/dev/full",
    ),
]
