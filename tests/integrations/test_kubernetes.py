"""The manifests, as the published schema of Kubernetes has them."""

from pathlib import Path

import pytest

kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="needs kubernetes-validate")
yaml = pytest.importorskip("yaml", reason="needs PyYAML")

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"
FILES = sorted(FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_manifest_is_valid(file):
    for manifest in yaml.safe_load_all(file.read_text(encoding="utf-8")):
        kubernetes_validate.validate(manifest, "1.31", strict=True)


def test_a_wrong_manifest_is_refused():
    manifest = yaml.safe_load((FOLDER / "service.yaml").read_text(encoding="utf-8"))
    manifest["spec"]["ports"][0]["port"] = "eighty"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifest, "1.31", strict=True)
