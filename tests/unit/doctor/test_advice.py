"""What `softquery doctor` advises, and that it is silent where all is well."""

from dataclasses import replace

import pytest

from softquery.doctor import Installation, Machine, advise

WELL = Machine(
    system="Linux",
    processor="x",
    cores=4,
    usable_cores=4.0,
    instructions=("avx2", "avx512_vnni"),
    memory_bytes=8_000_000_000,
    load=0.5,
)


@pytest.fixture
def installed(tmp_path):
    return Installation(
        softquery="0.1.0",
        python="3.11.7",
        packages={},
        extras={"search": ()},
        models=12,
        absent_models=(),
        problems=(),
        local_folder=str(tmp_path / "not" / "made" / "yet"),
    )


@pytest.fixture(autouse=True)
def _utf8(monkeypatch):
    monkeypatch.setattr("sys.stdout", type("Out", (), {"encoding": "utf-8"})())


def test_where_all_is_well_there_is_nothing_to_say(installed):
    assert list(advise(installed, WELL)) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"instructions": ("avx2",)}, "no instructions for int8"),
        ({"usable_cores": 1.5}, "1.5 of 4 cores may be used"),
        ({"load": 9.0}, "a load of 9.0 on 4"),
        ({"memory_bytes": 500_000_000}, "500 MB of memory"),
    ],
)
def test_what_is_slow(installed, change, found):
    (advice,) = advise(installed, replace(WELL, **change))
    assert found in advice.found
    assert not advice.is_fault


@pytest.mark.parametrize(
    ("change", "found", "remedy"),
    [
        ({"absent_models": ("read-en",)}, "1 shipped model not installed", "softquery-models"),
        ({"extras": {"search": ("usearch",)}}, "cannot be made or searched", "softquery[search]"),
    ],
)
def test_what_is_missing(installed, change, found, remedy):
    (advice,) = advise(replace(installed, **change), WELL)
    assert found in advice.found
    assert remedy in advice.remedy
    assert not advice.is_fault


def test_faults_come_first(installed, monkeypatch):
    monkeypatch.setattr("sys.stdout", type("Out", (), {"encoding": "ascii"})())
    broken = replace(installed, problems=("mine: config.json is missing",), absent_models=("a",))
    found = list(advise(broken, WELL))
    assert [each.is_fault for each in found] == [True, True, False]
    assert "mine: config.json" in found[0].found
    assert "PYTHONUTF8" in found[1].remedy


def test_a_folder_that_cannot_be_written(installed, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    (advice,) = advise(installed, WELL)
    assert advice.is_fault
    assert "SOFTQUERY_HOME" in advice.remedy
