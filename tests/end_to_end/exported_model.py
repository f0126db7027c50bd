"""A matcher that was trained for real, small but wide enough for int8, and its exports."""

from functools import cache
from pathlib import Path

from running import settings, softquery, train
from tiny_pairs import english, write_folder

SIZES = {"hidden_size": 48, "embedding_size": 48, "dropout": 0.1}


@cache
def exported_model(base: Path) -> Path:
    """A folder with `data/`, and `model/`, `float32/` and `int8/`, made once under `base`."""
    folder = base / "exported-model"
    data = write_folder(folder / "data", english(400), num_dev=100)
    words = settings(model=SIZES, optim={"lr": 0.002}, training={"max_epochs": 8})
    train("esim", data, folder / "model", *words)
    for words in (
        ["--output", folder / "float32"],
        ["--output", folder / "int8", "--int8", "--gate", "2", "--data", data / "dev.tsv"],
    ):
        answer = softquery("export", folder / "model", *words, "--json")
        assert answer.code == 0, answer.err
    return folder
