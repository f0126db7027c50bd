"""Models by name: those shipped with softquery, those of installed packages, and local ones."""

from softquery.zoo.names import check_name, check_unclaimed, removable, remove
from softquery.zoo.packages import FoundPackages, ModelPackage, find_packages
from softquery.zoo.zoo import (
    IN_MODELS_PACKAGE,
    MODELS_PACKAGE,
    ZooEntry,
    absent,
    entries,
    home,
    local,
    local_folder,
    packaged,
    resolve,
    shipped,
    shipped_folder,
)

__all__ = [
    "IN_MODELS_PACKAGE",
    "MODELS_PACKAGE",
    "FoundPackages",
    "ModelPackage",
    "ZooEntry",
    "absent",
    "check_name",
    "check_unclaimed",
    "entries",
    "find_packages",
    "home",
    "local",
    "local_folder",
    "packaged",
    "removable",
    "remove",
    "resolve",
    "shipped",
    "shipped_folder",
]
