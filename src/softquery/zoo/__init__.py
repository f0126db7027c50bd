"""Models by name: those shipped with the package and those of this machine."""

from softquery.zoo.zoo import ZooEntry, home, local, local_folder, resolve, shipped, shipped_folder

__all__ = ["ZooEntry", "home", "local", "local_folder", "resolve", "shipped", "shipped_folder"]
