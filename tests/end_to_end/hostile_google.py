"""Bad input for `softquery import bert`: Google's checkpoints, and pools."""

from pathlib import Path

from hostile_cases import Case, Damage

TO = "import bert google --output model"
INDEX, DATA = "google/bert_model.ckpt.index", "google/bert_model.ckpt.data-00000-of-00001"
QUERY = "bert/encoder/layer_0/attention/self/query/kernel"


def google(then: Damage = lambda place: None, **extra: tuple[int, ...]) -> Damage:
    """Turn the folder of `transformers` into one of Google's, then damage it.

    Args:
        then: The damage.
        extra: The shapes of tensors that take the place of others, `query` for that of a layer.
    """

    def damage(place: Path) -> None:
        import numpy

        from google_folders import write_google_folder

        changes = {QUERY: numpy.ones(extra["query"], numpy.float32)} if extra else {}
        write_google_folder(place / "bert", place / "google", changes)
        then(place)

    return damage


def flipped(name: str) -> Damage:
    """Change a bit of the first byte."""

    def damage(place: Path) -> None:
        data = (place / name).read_bytes()
        (place / name).write_bytes(bytes([data[0] ^ 1]) + data[1:])

    return damage


def halved(name: str) -> Damage:
    """Leave half of a file."""

    def damage(place: Path) -> None:
        data = (place / name).read_bytes()
        (place / name).write_bytes(data[: len(data) // 2])

    return damage


def two_checkpoints(place: Path) -> None:
    """Two checkpoints, neither of them by the usual name."""
    data = (place / INDEX).read_bytes()
    for number in (10, 20):
        (place / "google" / f"model.ckpt-{number}.index").write_bytes(data)
    (place / INDEX).unlink()


IMPORT_GOOGLE = [
    Case(
        title="a checkpoint whose index breaks off",
        command=TO,
        damage=google(halved(INDEX)),
        said=f"{INDEX}: cut short, or not the index of a TensorFlow checkpoint",
    ),
    Case(
        title="a checkpoint whose index has a wrong bit",
        command=TO,
        damage=google(flipped(INDEX)),
        said=f"{INDEX}: the index of the checkpoint is damaged",
    ),
    Case(
        title="a checkpoint whose data breaks off",
        command=TO,
        damage=google(halved(DATA)),
        said=f"{DATA}: cut short: it ends before the tensor "
        "bert/encoder/layer_0/output/dense/kernel does",
    ),
    Case(
        title="a checkpoint whose data has a wrong bit",
        command=TO,
        damage=google(flipped(DATA)),
        said=f"{DATA}: damaged: the tensor bert/embeddings/LayerNorm/beta does not fit its "
        "checksum",
    ),
    Case(
        title="a checkpoint without its data",
        command=TO,
        damage=google(lambda place: (place / DATA).unlink()),
        said=f"{DATA}: no such file",
    ),
    Case(
        title="a checkpoint of other sizes",
        command=TO,
        damage=google(query=(8, 6)),
        said=f"{INDEX}: the tensor {QUERY} has the shape (8, 6), but by bert_config.json it should "
        "be (8, 8)",
    ),
    Case(
        title="two checkpoints",
        command=TO,
        damage=google(two_checkpoints),
        said="google: holds 2 checkpoints, none of them bert_model.ckpt.index: "
        "model.ckpt-10.index, model.ckpt-20.index",
    ),
    Case(
        title="a checkpoint without its config",
        command=TO,
        damage=google(lambda place: (place / "google/bert_config.json").unlink()),
        said="google/bert_config.json: no such file",
    ),
    Case(
        title="a checkpoint without its vocabulary",
        command=TO,
        damage=google(lambda place: (place / "google/vocab.txt").unlink()),
        said="google/vocab.txt: no such file",
    ),
    Case(
        title="a pool that is not known",
        command="import bert bert --pool last --output model",
        said="--pool must be one of cls, max, mean, pooler, got 'last'",
    ),
]
