"""The models at hand: those shipped inside the package and those of this machine, by name."""

from softquery.zoo.model_paths import home, local_folder, shipped_folder
from softquery.zoo.zoo import ZooEntry, local, resolve, shipped

__all__ = ["ZooEntry", "home", "local", "local_folder", "resolve", "shipped", "shipped_folder"]
