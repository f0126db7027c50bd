import pytest
from bundle_parts import write_sound


@pytest.fixture
def folder(tmp_path):
    return write_sound(tmp_path / "cats")
