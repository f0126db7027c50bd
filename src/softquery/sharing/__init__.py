"""Models of one's own: packed for others, added from others, taken from a hub.

`pack` makes a pip package of a bundle, `add` puts bundles into the user's folder of models, where
`softquery.load` finds them by name, and `softquery.zoo.remove` takes them out again. Bundles of
others are data: nothing of them is executed, and each is checked as loading checks it before it
gets its name. Nothing is fetched unless `hub:OWNER/NAME` is asked for.
"""

from softquery.sharing.adding import AddedModel, add
from softquery.sharing.packing import PackedModel, pack

__all__ = ["AddedModel", "PackedModel", "add", "pack"]
