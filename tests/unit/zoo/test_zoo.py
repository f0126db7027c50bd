import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from softquery import zoo
from softquery.bundle import BundleConfig, Card, make_card, read_bundle, write_bundle
from softquery.errors import BundleError
from softquery.zoo import FoundPackages, ModelPackage


def _write(folder, *, licence="apache-2.0", **config):
    name = Path(folder).name
    facts = Card(name=name, purpose=f"The purpose of {name}.", languages=["en"], licence=licence,
                 data=[], training={}, numbers=[], limits=[])  # fmt: skip
    return write_bundle(
        folder,
        config=BundleConfig(
            kind="matcher",
            model={"name": "esim", "config": {}},
            task={"name": "match"},
            text={},
            library_version="0.1.0",
            **config,
        ),
        tokenizer_json="{}",
        weights={"w": np.ones(4, dtype=np.float32)},
        metrics={"accuracy": 0.8, "n": 10},
        card=make_card(facts, kind="matcher"),
    )


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """A machine with one shipped model, one local one, no packages, and an empty working folder."""
    monkeypatch.setattr("softquery.zoo.zoo.shipped_folder", lambda: tmp_path / "shipped")
    monkeypatch.setattr("softquery.zoo.zoo.find_packages", lambda: FoundPackages((), ()))
    monkeypatch.setenv("SOFTQUERY_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    _write(tmp_path / "shipped" / "nli-en")
    _write(tmp_path / "home" / "models" / "mine", licence="Research: only")
    return tmp_path


@pytest.fixture
def packages(places, monkeypatch):
    """Two packages of models, `a-models` and `b-models`; the function adds a model to one."""
    labels = {"a": "a-models 1.0", "b": "b-models"}
    for key in labels:
        (places / key).mkdir()
    known = tuple(ModelPackage(label, (places / key,)) for key, label in labels.items())
    monkeypatch.setattr("softquery.zoo.zoo.find_packages", lambda: FoundPackages(known, ()))
    return lambda key, name: _write(places / key / name)


def test_entries_tell_what_a_list_shows(places):
    (entry,) = zoo.shipped()
    assert (entry.name, entry.origin, entry.kind, entry.model) == (
        "nli-en",
        "shipped",
        "matcher",
        "esim",
    )
    assert (entry.licence, entry.summary) == ("apache-2.0", "The purpose of nli-en.")
    assert entry.metrics == {"accuracy": 0.8, "n": 10}
    assert entry.size_bytes == sum(path.stat().st_size for path in entry.path.iterdir())
    assert entry.problem is None
    (own,) = zoo.local()
    assert (own.name, own.origin, own.licence) == ("mine", "local", "Research: only")


def test_nothing_at_hand_is_an_empty_list(monkeypatch, places):
    monkeypatch.setattr("softquery.zoo.zoo.shipped_folder", lambda: places / "none")
    monkeypatch.setenv("SOFTQUERY_HOME", str(places / "nowhere"))
    assert zoo.shipped() == zoo.local() == []
    with pytest.raises(BundleError, match="^no model called 'nli'; shipped: none; local: none$"):
        zoo.resolve("nli")


def test_the_installed_package_lists_its_models():
    assert zoo.shipped_folder().parent == Path(zoo.__file__).parent


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("config.json", "{\n,", r"config\.json: broken JSON in line 2"),
        ("config.json", "[]", r"config\.json: expected a JSON object"),
        ("metrics.json", "[" * 100_000, r"metrics\.json: broken JSON"),
        ("model.safetensors", None, r"model\.safetensors missing"),
        ("README.md", None, r"README\.md missing"),
    ],
)
def test_broken_entries_are_listed_with_the_reason(places, name, content, reason):
    broken = _write(places / "home" / "models" / "broken")
    (broken / name).unlink() if content is None else (broken / name).write_text(content)
    entry, sound = zoo.local()
    assert (entry.name, sound.name) == ("broken", "mine")
    with pytest.raises(BundleError, match=reason):
        raise BundleError(entry.problem)
    assert sound.problem is None


def test_odd_contents_do_not_break_the_list(places):
    odd = _write(places / "home" / "models" / "odd")
    (odd / "config.json").write_text(json.dumps({"model": 3}))
    (odd / "README.md").write_bytes(b"---\nlicense: 'mit'\n\xff no end")
    (places / "home" / "models" / ".odd.1f.partial").mkdir()
    (places / "home" / "models" / "notes.txt").write_text("not a model")
    assert [(entry.name, entry.model, entry.licence) for entry in zoo.local()][1:] == [
        ("odd", "", "")
    ]
    (odd / "README.md").write_text("---\nlicense: 'mit'\n---\n\n# t\n")
    assert [(entry.licence, entry.summary) for entry in zoo.local()][1:] == [("mit", "")]


def test_names_resolve_to_folders_that_can_be_read(places):
    assert zoo.resolve("nli-en") == places / "shipped" / "nli-en"
    assert zoo.resolve("mine") == places / "home" / "models" / "mine"
    assert read_bundle(zoo.resolve("mine")).config.kind == "matcher"


def test_shipped_names_win_over_local_ones_and_folders_over_both(places):
    _write(places / "home" / "models" / "nli-en")
    with pytest.warns(UserWarning, match="nli-en is taken from softquery;"):
        assert zoo.resolve("nli-en") == places / "shipped" / "nli-en"
    (places / "work" / "nli-en").mkdir()
    assert zoo.resolve("nli-en") == Path("nli-en")


def test_paths_are_taken_as_they_are(places, monkeypatch):
    assert zoo.resolve(places / "shipped") == places / "shipped"
    assert zoo.resolve("../shipped/nli-en") == Path("../shipped/nli-en")
    monkeypatch.setenv("HOME", str(places))
    assert zoo.resolve("~/shipped") == places / "shipped"


def test_an_unknown_name_gets_the_nearest_and_all():
    with pytest.raises(
        BundleError,
        match=r"^no model called 'nli-eng'; did you mean 'nli-en'\? shipped: nli-en; local: mine$",
    ):
        zoo.resolve("nli-eng")


def test_models_of_packages_are_listed_with_their_package(places, packages):
    packages("b", "tags")
    packages("a", "topics")
    listed = [(entry.name, entry.origin, entry.package) for entry in zoo.entries()]
    assert listed == [
        ("nli-en", "shipped", "softquery"),
        ("topics", "package", "a-models 1.0"),
        ("tags", "package", "b-models"),
        ("mine", "local", ""),
    ]
    assert [entry.name for entry in zoo.packaged()] == ["topics", "tags"]
    assert zoo.resolve("tags") == places / "b" / "tags"
    assert read_bundle(zoo.resolve("topics")).config.kind == "matcher"
    with pytest.raises(
        BundleError,
        match=r"shipped: nli-en; a-models 1\.0: topics; b-models: tags; local: mine$",
    ):
        zoo.resolve("none")


def test_softquery_wins_a_clash_of_names_and_says_so(places, packages):
    packages("a", "nli-en")
    with pytest.warns(UserWarning, match="nli-en is taken from") as caught:
        assert zoo.resolve("nli-en") == places / "shipped" / "nli-en"
    assert [str(each.message) for each in caught] == [
        "nli-en is taken from softquery; a-models 1.0 has a model of this "
        "name too, which is not used"
    ]
    (hidden,) = zoo.packaged()
    assert hidden.problem == ("not used: softquery has a model of this name")
    assert [entry.problem for entry in zoo.shipped()] == [None]


def test_a_clash_is_told_once(packages):
    packages("a", "nli-en")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            zoo.resolve("nli-en")
    assert len(caught) == 1


def test_of_two_packages_the_first_by_name_wins_and_both_win_over_local(places, packages):
    for key in "ba":
        packages(key, "mine")
    with pytest.warns(UserWarning, match="mine is taken from a-models") as caught:
        assert zoo.resolve("mine") == places / "a" / "mine"
    told = [str(each.message) for each in caught]
    assert ["b-models has" in told[0], f"{places / 'home' / 'models'} has" in told[1]] == [True] * 2
    assert [entry.problem is None for entry in zoo.entries()] == [True, True, False, False]


def test_clashes_of_others_are_no_concern_of_a_sound_name(packages, recwarn):
    packages("a", "nli-en")
    zoo.resolve("mine")
    assert recwarn.list == []


def test_a_folder_that_is_a_link_out_of_its_package_is_refused(places, packages):
    (places / "a" / "out").symlink_to(places / "home" / "models" / "mine")
    packages("a", "whole")
    (places / "a" / "inside").symlink_to(places / "a" / "whole")
    told = {entry.name: entry.problem for entry in zoo.packaged()}
    said = f"{places / 'a' / 'out'}: is a link that leads out of its package"
    assert told == {"inside": None, "out": said, "whole": None}
    with pytest.raises(BundleError, match="/out: is a link that leads out of its package$"):
        zoo.resolve("out")
    assert zoo.resolve("inside") == places / "a" / "inside"


def test_a_list_reads_no_file_outside_of_the_folder(places):
    """A card that is a link would show the first line of any file of its reader."""
    (places / "secret").write_text("secret")
    model = _write(places / "home" / "models" / "linked")
    (model / "README.md").unlink()
    (model / "README.md").symlink_to(places / "secret")
    linked, _ = zoo.local()
    assert linked.problem == "README.md: is a link that leads out of the model folder"
    assert linked.summary == ""


@pytest.mark.parametrize("name", zoo.IN_MODELS_PACKAGE)
def test_a_model_that_is_not_installed_names_the_package_that_has_it(name):
    with pytest.raises(
        BundleError, match=f"^{name} is not installed: pip install softquery-models$"
    ):
        zoo.resolve(name)
    assert zoo.absent() == list(zoo.IN_MODELS_PACKAGE)


def test_a_local_model_of_that_name_is_found(places):
    _write(places / "home" / "models" / "elmo-en")
    assert zoo.resolve("elmo-en") == places / "home" / "models" / "elmo-en"
    assert "elmo-en" not in zoo.absent()


def test_a_slip_is_recognised_in_a_name_that_is_not_installed():
    with pytest.raises(BundleError, match=r"'tagger-em'; did you mean 'tagger-en'\? shipped: "):
        zoo.resolve("tagger-em")


def test_a_broken_package_is_named_as_a_possible_reason(monkeypatch):
    broken = FoundPackages((), ("softquery-models 0.1.0: its entry_points.txt is broken",))
    monkeypatch.setattr("softquery.zoo.zoo.find_packages", lambda: broken)
    for name, said in (
        ("elmo-en", "^elmo-en is not installed: pip install softquery-models; "),
        ("none", "^no model called 'none'; shipped: nli-en; local: mine; "),
    ):
        with pytest.raises(BundleError, match=said + r"softquery-models 0\.1\.0: its entry_points"):
            zoo.resolve(name)
    assert zoo.resolve("nli-en").name == "nli-en"


@pytest.mark.parametrize("name", ["./nli-en", "/no/such", "shipped/nli-en"])
def test_a_path_is_never_taken_for_a_name(name):
    with pytest.raises(BundleError, match=f"^{name}: no such model folder$"):
        zoo.resolve(name)


def test_hostile_names_get_one_line(places):
    (places / "work" / "file.bin").write_text("x")
    with pytest.raises(BundleError, match=r"^file\.bin: is a file, but a model is a folder$"):
        zoo.resolve("file.bin")
    for name in ("", "a\0b", "x" * 10_000, "a\nb", os.fsdecode(b"\xff")):
        with pytest.raises(BundleError, match="^no model called ") as caught:
            zoo.resolve(name)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value).encode("utf-8")) < 300


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_DATA_HOME": "/x"}, "/x/softquery"),
        ("linux", {"XDG_DATA_HOME": "relative"}, "/u/.local/share/softquery"),
        ("linux", {}, "/u/.local/share/softquery"),
        ("darwin", {}, "/u/Library/Application Support/softquery"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/softquery"),
        ("linux", {"SOFTQUERY_HOME": "~/sq"}, "/u/sq"),
    ],
)
def test_each_system_has_its_place(monkeypatch, platform, variables, expected):
    for name in ("SOFTQUERY_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/u")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    assert zoo.home() == Path(expected)
    assert zoo.local_folder() == Path(expected) / "models"
