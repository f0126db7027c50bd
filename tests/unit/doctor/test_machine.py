"""What `softquery doctor` reads of a machine: written trees of /proc and /sys stand in for it."""

import os

import pytest

from softquery.doctor import find_machine
from softquery.doctor.installation import missing_of_extras

INTEL = "processor\t: 0\nmodel name\t: Xeon\nflags\t\t: sse avx2 avx512_vnni\n\nprocessor\t: 1\n"


def write(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_processor_and_its_instructions(tmp_path):
    write(tmp_path, "proc/cpuinfo", INTEL)
    machine = find_machine(tmp_path)
    assert machine.processor == "Xeon"
    assert machine.instructions == ("avx2", "avx512_vnni")
    assert machine.has_fast_int8 is True


@pytest.mark.parametrize(
    ("flags", "fast"),
    [("flags : avx2", False), ("Features : fp asimddp", True), ("vendor : x", None)],
)
def test_whether_int8_is_fast(tmp_path, flags, fast):
    write(tmp_path, "proc/cpuinfo", f"{flags}\n")
    assert find_machine(tmp_path).has_fast_int8 is fast


def test_a_machine_that_tells_nothing(tmp_path):
    machine = find_machine(tmp_path)
    assert machine.instructions is None
    assert machine.memory_bytes is None
    assert machine.processor


@pytest.mark.parametrize(
    "files",
    [
        {"sys/fs/cgroup/cpu.max": "50000 100000\n"},
        {
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
    ],
)
def test_a_quota_counts_where_it_is_the_least(tmp_path, files):
    for name, text in files.items():
        write(tmp_path, name, text)
    assert find_machine(tmp_path).usable_cores == 0.5


def test_no_quota(tmp_path):
    write(tmp_path, "sys/fs/cgroup/cpu.max", "max 100000\n")
    assert 1 <= find_machine(tmp_path).usable_cores <= (os.cpu_count() or 1)


@pytest.mark.parametrize(("limit", "memory"), [("max", 2_048_000), ("1000000", 1_000_000)])
def test_memory_is_the_machine_s_or_the_container_s(tmp_path, limit, memory):
    write(tmp_path, "proc/meminfo", "MemFree: 5 kB\nMemTotal:  2000 kB\n")
    write(tmp_path, "sys/fs/cgroup/memory.max", f"{limit}\n")
    assert find_machine(tmp_path).memory_bytes == memory


def test_extras_for_working_on_softquery_are_not_shown():
    asked = ["ruff; extra == 'dev'", "a>=1; extra == 'zh'", "a; python_version>'3' and extra=='zh'"]
    assert missing_of_extras(asked, {}.get) == {"zh": ("a",)}
