"""Bad input for `softquery train bert-match` and the other heads of BERT."""

import json
from pathlib import Path

from hostile_cases import ANY, Case, file, rows
from safetensors.numpy import load_file, save_file
from tiny_questions import english, squad

MATCH = "train bert-match --data data --output new --init base"
BASE = frozenset({"base"})
BUNDLE = frozenset({"bundle", "base"})


def asked(**changes: object):
    """Questions of which the first context, or its first answer, is not sound."""
    paragraphs = english(40)
    if "context" in changes:
        paragraphs[0]["context"] = changes["context"]
    if "start" in changes:
        paragraphs[0]["qas"][0]["answers"][0]["answer_start"] = changes["start"]
    return file("asked/train.json", json.dumps(squad(paragraphs)))


def behead(place: Path) -> None:
    """Leave nothing of a BERT but its encoder."""
    config = json.loads((place / "base" / "config.json").read_text())
    config["model"]["config"]["heads"] = "none"
    (place / "base" / "config.json").write_text(json.dumps(config))
    weights = place / "base" / "model.safetensors"
    kept = {name: each for name, each in load_file(weights).items() if "head" not in name}
    save_file(kept, weights)


TRAIN_HEADS = [
    Case(
        title="no pretrained BERT",
        command="train bert-match --data data --output new",
        said="bert-match needs a pretrained BERT; name its bundle with --init DIR or "
        "--set bert.bundle=DIR, or start from none with --set bert.weights=random",
    ),
    Case(
        title="a pretrained BERT that is not there",
        command="train bert-match --data data --output new --set bert.bundle=./none",
        said="./none: no such model folder",
    ),
    Case(
        title="a matcher in place of one",
        command="train bert-match --data data --output new --set bert.bundle=./model",
        said="model: expected a bert, found 'esim'",
        needs=BUNDLE,
    ),
    Case(
        title="a label in dev that no training row has",
        command=MATCH,
        damage=rows("data/dev.tsv", b"a\tb\tperhaps\n"),
        said="data/dev.tsv, row 3: label 'perhaps' is not one of different, same",
        needs=BASE,
    ),
    Case(
        title="a tag in dev that no training sentence has",
        command="train bert-tag --data tagged --output new --init base",
        damage=file("tagged/dev.txt", "Acme NNP I-NP I-ORG\nfell VBD I-VP O\n"),
        said="tagged/dev.txt, row 1: tag 'I-ORG' is not one of LOC, PER",
        needs=BASE,
    ),
    Case(
        title="an answer outside the context",
        command="train bert-read --data asked --output new --init base",
        damage=asked(start=900),
        said=f'asked/train.json, row 1: {ANY} answer "{ANY}" at 900 lies outside the context, '
        f"{ANY}",
        needs=BASE,
    ),
    Case(
        title="an empty context",
        command="train bert-read --data asked --output new --init base",
        damage=asked(context=" "),
        said=f"asked/train.json, row 1: {ANY} the context is empty",
        needs=BASE,
    ),
    Case(
        title="words in place of pieces",
        command=f"{MATCH} --set text.unit=words",
        said="text.unit must be bert, and text.boundaries true, for a BERT inside",
        needs=BASE,
    ),
    Case(
        title="questions as long as the encoder's positions",
        command="train bert-read --data asked --output new --init base "
        "--set reading.max_question=126",
        damage=lambda place: [asked()(place), file("asked/dev.json", json.dumps(
            squad(english(3, seed=2))))(place)],
        said="model.encoder.max_length (128) leaves no room for a text",
        needs=BASE,
    ),
    Case(
        title="fewer than no layers that learn",
        command=f"{MATCH} --set bert.tuned_layers=-1",
        said="bert.tuned_layers: tuned_layers must not be negative, got -1",
        needs=BASE,
    ),
    Case(
        title="more layers that learn than there are",
        command=f"{MATCH} --set bert.tuned_layers=9",
        said="bert.tuned_layers (9) exceeds the encoder's 2 layers",
        needs=BASE,
    ),
    Case(
        title="rates by layer for a model without a pretrained encoder",
        command="train esim --data data --output new --set optim.layer_decay=0.9",
        said="optim.layer_decay is for a BERT or a tuned biLM inside; leave it at 1",
    ),
    Case(
        title="`--vectors`",
        command=f"{MATCH} --vectors test.tsv",
        said="--vectors: bert-match learns the vectors of its pieces by itself",
        needs=BASE,
    ),
    Case(
        title="int8 of an encoder, without text",
        command="export base --int8 --output new",
        said="int8 needs text for its gate; name a file with --data",
        needs=BASE,
    ),
    Case(
        title="int8 of an encoder without a head for hidden words",
        command="export base --int8 --output new --data test.tsv",
        said="int8 is judged by hidden words, and this encoder has no head to foretell them; "
        "export what was fine-tuned for a task",
        damage=behead,
        needs=BASE,
    ),
    Case(
        title="an output that exists",
        command="train bert-match --data data --output data --init base",
        said="data: already exists; name another --output",
        left="`data` as it was",
        needs=BASE,
    ),
]  # fmt: skip
