"""Keys: hashed, many, followed as the file changes."""

import os
import stat

import pytest

from softquery.errors import InputError
from softquery.serve.keys import (
    KeyRing,
    StoredKey,
    add_key,
    digest,
    limit_key,
    read_keys,
    remove_key,
)
from softquery.serve.operation.allowances import Allowance, Amount


@pytest.fixture
def file(tmp_path):
    return tmp_path / "keys.txt"


def test_the_file_holds_hashes_and_nobody_else_reads_it(file):
    key = add_key(file, "ada")
    text = file.read_text()
    assert key.startswith("sq-")
    assert len(key) > 40
    assert key not in text
    assert text == f"ada {digest(key)}\n"
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_each_key_opens_and_others_do_not(file):
    keys = {name: add_key(file, name) for name in ("ada", "grace", "alan")}
    ring = KeyRing(file)
    assert len(ring) == 3
    assert {name: ring.holder(key) for name, key in keys.items()} == {name: name for name in keys}
    for wrong in (None, "", "sq-", keys["ada"] + "x", keys["ada"][:-1], "ключ", "\ud800"):
        assert ring.holder(wrong) is None


def test_every_digest_is_compared_whatever_the_key(file, monkeypatch):
    first = add_key(file, "first")
    for name in ("second", "third"):
        add_key(file, name)
    ring, compared = KeyRing(file), []
    monkeypatch.setattr(
        "softquery.serve.keys.hmac.compare_digest",
        lambda one, other: compared.append((len(one), len(other))) or one == other,
    )
    for key in (first, "sq-wrong", None):
        compared.clear()
        ring.holder(key)
        assert compared == [(64, 64)] * 3


def test_keys_are_rotated_without_a_restart(file):
    old = add_key(file, "old")
    ring = KeyRing(file)
    new = add_key(file, "new")
    assert (ring.holder(old), ring.holder(new)) == ("old", "new")
    remove_key(file, "old")
    assert (ring.holder(old), ring.holder(new)) == (None, "new")


def test_a_broken_file_leaves_the_last_good_one_in_force(file):
    key = add_key(file, "ada")
    ring = KeyRing(file)
    file.write_text("ada not-a-hash\n")
    assert ring.holder(key) == "ada"
    assert ring.problem == f"{file}, row 1: expected a name and the SHA-256 of a key"
    file.unlink()
    assert ring.holder(key) == "ada"
    assert "No such file" in ring.problem
    other = add_key(file, "grace")
    assert (ring.holder(key), ring.holder(other), ring.problem) == (None, "grace", None)


def test_comments_and_blank_lines_are_passed_over(file):
    file.write_text(f"# who may ask\n\nada {digest('sq-1')}  # since May\n")
    assert read_keys(file) == {"ada": StoredKey(digest("sq-1"))}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"ada\n", "row 1: expected a name and the SHA-256"),
        (b"ada b c\n", "row 1: expected a name and the SHA-256"),
        (b"ada " + b"0" * 64 + b" speed=1/s", "row 1: expected rate=AMOUNT and quota=AMOUNT"),
        (b"ada " + b"0" * 64 + b" rate=1/s rate=2/s", "row 1: expected rate=AMOUNT"),
        (b"ada " + b"0" * 64 + b" rate=fast", "row 1: expected a number per period"),
        (b"a/b " + b"0" * 64, "row 1: expected a name and the SHA-256"),
        (b"ada " + b"0" * 64 + b"\nada " + b"1" * 64, "row 2: a second key has the name 'ada'"),
        (b"\xff\xfe", "not valid UTF-8"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(file, content, said):
    file.write_bytes(content)
    with pytest.raises(InputError, match=said):
        KeyRing(file)


def test_names_are_checked(file):
    add_key(file, "ada")
    with pytest.raises(InputError, match="already holds a key called 'ada'"):
        add_key(file, "ada")
    with pytest.raises(InputError, match="up to 64 letters"):
        add_key(file, "two words")
    with pytest.raises(InputError, match="holds no key called 'alan'"):
        remove_key(file, "alan")
    with pytest.raises(InputError, match="No such file"):
        remove_key(file.with_name("none"), "ada")


def test_what_a_key_is_allowed_stands_in_the_file_and_is_followed(file):
    key = add_key(file, "ada", Allowance(rate=Amount(10, "s"), quota=Amount(5_000, "day")))
    assert file.read_text() == f"ada {digest(key)} rate=10/s quota=5000/day\n"
    ring = KeyRing(file)
    assert ring.allowance("ada") == Allowance(rate=Amount(10, "s"), quota=Amount(5_000, "day"))
    limit_key(file, "ada", Allowance(rate=Amount(1, "min")))
    assert ring.holder(key) == "ada"
    assert ring.allowance("ada") == Allowance(rate=Amount(1, "min"))
    limit_key(file, "ada", Allowance())
    assert file.read_text() == f"ada {digest(key)}\n"
    with pytest.raises(InputError, match="holds no key called 'grace'"):
        limit_key(file, "grace", Allowance())
