"""The models at hand: those shipped inside the package and those of this machine, by name."""

from softquery.zoo.zoo import ZooEntry, home, local, local_folder, resolve, shipped, shipped_folder

__all__ = ["ZooEntry", "home", "local", "local_folder", "resolve", "shipped", "shipped_folder"]
