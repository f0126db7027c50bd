"""What other tests stand on: signatures that are checked, and processes that start quickly."""

import os
import signal

import pytest

jaxtyping = pytest.importorskip("jaxtyping", reason="shapes need the extra [train]")
pytest.importorskip("beartype", reason="shapes are checked where beartype is")
torch = pytest.importorskip("torch", reason="shapes need the extra [train]")

from signature_checks import checked  # noqa: E402
from warm import launch  # noqa: E402

Matrix = jaxtyping.Float[torch.Tensor, "B D"]


@jaxtyping.jaxtyped(typechecker=checked)
def scaled(rows: Matrix, factors: jaxtyping.Float[torch.Tensor, " B"], shift: float) -> Matrix:
    """Right for one column, and wrong for more: then a row is lost."""
    return (rows * factors[:, None] + shift)[: None if rows.shape[1] == 1 else -1]


def test_what_fits_passes():
    assert scaled(torch.ones(3, 1), torch.ones(3), 2).tolist() == [[3.0]] * 3


@pytest.mark.parametrize(
    ("rows", "factors", "shift"),
    [
        (torch.ones(3, 1), torch.ones(2), 0.0),
        (torch.ones(3), torch.ones(3), 0.0),
        (torch.ones(3, 1, dtype=torch.int64), torch.ones(3), 0.0),
        (torch.ones(3, 1), torch.ones(3), "none"),
    ],
    ids=["another size", "another rank", "another dtype", "another type"],
)
def test_a_wrong_argument_is_noticed(rows, factors, shift):
    with pytest.raises(jaxtyping.TypeCheckError, match="checking the parameters of"):
        scaled(rows, factors, shift)


def test_what_is_returned_must_fit_the_arguments():
    with pytest.raises(jaxtyping.TypeCheckError, match="checking the return value of"):
        scaled(torch.ones(3, 2), torch.ones(3), 0.0)


def test_a_process_has_its_own_folder_environment_and_streams(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = (
        "import os, sys\n"
        "def main():\n"
        "    print(os.getcwd(), os.environ['ASKED'], sys.argv[1:], os.getpid())\n"
        "    sys.exit('it ends')\n"
    )
    process = launch(["a", 1], code=code, environment={"ASKED": "yes"})
    out, err = process.communicate(timeout=60)
    assert out == f"{tmp_path} yes ['a', '1'] {process.pid}\n"
    assert (process.returncode, err) == (1, "it ends\n")
    assert process.pid != os.getpid()


def test_a_process_can_be_stopped():
    code = "import time\ndef main():\n    print('here', flush=True)\n    time.sleep(60)\n"
    process = launch([], code=code)
    assert process.stdout.readline() == "here\n"
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == -signal.SIGTERM


def test_what_goes_wrong_is_told():
    process = launch([], code="def main(): raise KeyError('lost')", streams=1)
    printed, nothing = process.communicate(timeout=60)
    assert (process.returncode, nothing) == (1, "")
    assert printed.endswith("KeyError: 'lost'\n")
