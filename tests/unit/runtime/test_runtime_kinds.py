"""The table of kinds: complete, true, and the one place that refuses a kind by name."""

import subprocess
import sys

import pytest

import softquery
from softquery import runtime
from softquery.bundle import Bundle, BundleConfig
from softquery.bundle.card import EXAMPLES
from softquery.cli import app
from softquery.errors import BundleError, ConfigError
from softquery.runtime.kinds import KINDS, check_kind, check_task, kind_of
from softquery.runtime.task_rows import ParseOptions

ALIASES = {"Writer": "Generator", "WordSpace": "WordVectors", "Embedder": "ContextEmbedder"}


def bundle_of(tmp_path, kind, task="match", labels=("no", "yes"), num_outputs=2):
    config = BundleConfig(
        kind=kind,
        model={"name": "esim", "config": {"output_size": num_outputs}},
        task={"name": task, "labels": list(labels)},
        text={},
        library_version="0.1.0",
    )
    return Bundle(path=tmp_path, config=config, metrics={}, calibration={}, card="")


def test_every_kind_has_a_card_and_every_card_a_kind():
    assert set(KINDS) == set(EXAMPLES)
    assert all(kind.example is EXAMPLES[name] for name, kind in KINDS.items())
    assert all(kind.name == name for name, kind in KINDS.items())


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_what_a_row_names_is_there(kind):
    lazy = (kind.model, kind.opener, kind.exporter, kind.evaluator, kind.calibrator)
    for place in lazy:
        assert place is None or callable(place.get())
    assert kind.model.get() is getattr(runtime, kind.model.place.partition(":")[2])
    verbs = {command.callback.__name__ for command in app.registered_commands}
    verbs |= {group.name for group in app.registered_groups}
    assert kind.verb in verbs
    assert "-".join(kind.noun.split()[1:]) in (kind.name, "vectors")
    shown = [line.split()[0] for line in kind.example.shell]
    assert kind.verb in shown


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_what_is_exported_can_be_measured_behind_its_gate(kind):
    assert (kind.exporter is None) is (kind.labelled is None) is (kind.evaluator is None)
    if kind.labelled is None or kind.measured_on_text:
        return
    assert kind.labelled.mistakes
    assert kind.labelled.columns
    assert kind.tasks
    assert kind.bulk is not None or kind.verb == "embed"  # which writes arrays


def test_a_table_is_parsed_by_its_kind(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("q1\tsentence2\tlabel\tage\na\tb\tyes\t3\n", encoding="utf-8")
    how = ParseOptions(rename={"sentence1": "q1"})
    (row,) = KINDS["matcher"].labelled.parse(path, how)
    assert row.values == {"sentence1": "a", "sentence2": "b", "label": "yes"}
    how = ParseOptions(rename={"sentence1": "q1"}, keep_others=True)
    (row,) = KINDS["matcher"].labelled.parse(path, how)
    assert row.values["age"] == "3"
    (row,) = KINDS["matcher"].bulk.parse(path, ParseOptions(rename={"sentence1": "q1"}))
    assert KINDS["matcher"].bulk.repeated(row) == {"sentence1": "a", "sentence2": "b"}


def test_a_kind_that_the_table_lacks_is_refused_by_name(tmp_path):
    bundle = bundle_of(tmp_path, "oracle")
    message = "a bundle of kind 'oracle' cannot be opened \\(known: matcher, .*, vectors\\)$"
    with pytest.raises(BundleError, match=message):
        kind_of(bundle)
    with pytest.raises(BundleError, match="expected an embedder, found kind 'oracle'$"):
        check_kind(bundle, "embedder")


def test_a_task_of_another_kind_is_refused(tmp_path):
    check_task(bundle_of(tmp_path, "matcher"))
    with pytest.raises(BundleError, match="unknown task 'match' \\(known: tag\\)$"):
        check_task(bundle_of(tmp_path, "tagger"))
    with pytest.raises(BundleError, match="the model has 3 outputs, but its task needs 2$"):
        check_task(bundle_of(tmp_path, "matcher", num_outputs=3))


def test_the_table_imports_no_model():
    code = "import sys, softquery.runtime.kinds as kinds; kinds.KINDS['matcher'].opener; "
    told = "print([name for name in sys.modules if name.startswith(('torch', 'softquery.export'))])"
    found = subprocess.run([sys.executable, "-c", code + told], capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, "[]\n")


@pytest.mark.parametrize("module", [softquery, runtime], ids=lambda module: module.__name__)
@pytest.mark.parametrize(("former", "now"), ALIASES.items())
def test_former_names_warn_and_give_the_new_class(module, former, now):
    with pytest.warns(DeprecationWarning, match=f"^softquery.{former} is now softquery.{now}$"):
        found = getattr(module, former)
    assert found is getattr(module, now)
    assert former not in module.__all__


@pytest.mark.parametrize("module", [softquery, runtime], ids=lambda module: module.__name__)
def test_public_names_are_in_order_and_there(module):
    assert module.__all__ == sorted(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def test_models_without_labelled_rows_are_not_evaluated(tmp_path):
    class Opened:
        bundle = bundle_of(tmp_path, "encoder")

    with pytest.raises(ConfigError, match="an encoder has no labelled rows to measure on$"):
        runtime.evaluate(Opened(), [])
