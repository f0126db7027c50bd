import json
import struct

import numpy as np
import pytest
from bundle_parts import write_sound
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from safetensors import safe_open

from softquery.bundle import read_bundle
from softquery.errors import BundleError

DTYPES = [
    "float16",
    "float32",
    "float64",
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "bool",
    ">f4",
]
ARRAYS = st.sampled_from(DTYPES).flatmap(
    lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, min_side=0, max_side=4))
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def _safetensors(header, body=b""):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


@settings(max_examples=40, deadline=None)
@given(
    weights=st.dictionaries(st.text(min_size=1, max_size=8), ARRAYS, max_size=4),
    metrics=st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=3),
    calibration=st.none() | st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=3),
    card=st.text(max_size=30).map(lambda text: "# card\n" + text),
)
def test_any_weights_and_numbers_come_back(tmp_path_factory, weights, metrics, calibration, card):
    folder = tmp_path_factory.mktemp("round") / "m"
    write_sound(folder, weights=weights, metrics=metrics, calibration=calibration, card=card)
    bundle = read_bundle(folder)
    assert (bundle.metrics, bundle.calibration, bundle.card) == (metrics, calibration, card)
    found = bundle.read_weights()
    assert found.keys() == weights.keys()
    for name, array in weights.items():
        assert found[name].dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(found[name], array)


def test_views_are_stored_as_they_look(tmp_path):
    table = np.arange(12, dtype=np.float32).reshape(3, 4)
    views = {"turned": table.T, "every_other": table[:, ::2], "backwards": table[::-1]}
    found = read_bundle(write_sound(tmp_path / "m", weights=views)).read_weights()
    for name, view in views.items():
        np.testing.assert_array_equal(found[name], view)


def test_equal_weights_give_equal_bytes_with_our_mark(tmp_path):
    first, second = {"a": np.ones(2), "b": np.zeros(3)}, {"b": np.zeros(3), "a": np.ones(2)}
    paths = [
        write_sound(tmp_path / name, weights=weights) / "model.safetensors"
        for name, weights in (("one", first), ("two", second))
    ]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with safe_open(paths[0], framework="np") as opened:
        assert opened.metadata() == {"format": "softquery"}


def test_cut_at_any_byte_it_never_loads(folder):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    bundle = read_bundle(folder)
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(BundleError, match=r"model\.safetensors: damaged or not a safetensors"):
            read_bundle(folder)
        with pytest.raises(BundleError, match=r"model\.safetensors: damaged"):
            bundle.read_weights()


def test_bytes_after_the_end_are_refused(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(BundleError, match="damaged"):
        read_bundle(folder)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_flipped_header_bytes_raise_nothing_but_bundle_errors(tmp_path_factory, data):
    folder = write_sound(tmp_path_factory.mktemp("flip") / "m")
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        read_bundle(folder).read_weights()
    except BundleError as error:
        assert "model.safetensors" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "content", [b"PK\x03\x04" + b"\0" * 60, b"\x80\x04K\x01." * 20, b"\xff" * 64]
)
def test_other_formats_under_our_name_are_refused(folder, content):
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(BundleError, match="not a safetensors file"):
        read_bundle(folder)


def test_bfloat16_is_widened_without_loss(folder):
    exact = np.array([[1.0, -2.5], [3e38, 1e-30]], dtype=np.float32)
    bits = (exact.view(np.uint32) >> 16).astype("<u2")
    plain = np.array([7, 8], dtype="<i4")
    header = {
        "narrow": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [8, 16]},
        "plain": {"dtype": "I32", "shape": [2], "data_offsets": [0, 8]},
    }
    content = _safetensors(header, plain.tobytes() + bits.tobytes())
    (folder / "model.safetensors").write_bytes(content)
    found = read_bundle(folder).read_weights()
    expected = (exact.view(np.uint32) & 0xFFFF0000).view(np.float32)
    assert found["narrow"].dtype == np.float32
    np.testing.assert_array_equal(found["narrow"], expected)
    np.testing.assert_array_equal(found["plain"], [7, 8])
    found["narrow"][0, 0] = 9.0  # what is read may be trained further
    found["plain"][0] = 9


def test_dtypes_that_numpy_lacks_are_refused(folder):
    header = {"w": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}
    (folder / "model.safetensors").write_bytes(_safetensors(header, b"\0\0"))
    with pytest.raises(BundleError, match="weight 'w' has dtype F8_E4M3, which numpy cannot hold"):
        read_bundle(folder)
