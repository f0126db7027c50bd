"""ELMo in its published form: files of any size, and the model read from them in plain loops.

The oracle follows the published description with numpy alone and TensorFlow's conventions, and
shares nothing with the package.
"""

import json
from pathlib import Path

import numpy as np

GATES = ("input", "candidate", "forget", "output")


def options_of(
    *, filters=((1, 3), (2, 4), (3, 5)), highways=2, layers=2, residual=True, clip=3.0,
    activation="relu", cell=9, projection=4, characters=5, longest=12, counted=262,
):  # fmt: skip
    """The contents of `options.json`."""
    return {
        "lstm": {
            "cell_clip": clip,
            "use_skip_connections": residual,
            "n_layers": layers,
            "proj_clip": clip,
            "projection_dim": projection,
            "dim": cell,
        },
        "char_cnn": {
            "embedding": {"dim": characters},
            "filters": [list(pair) for pair in filters],
            "n_highway": highways,
            "n_characters": counted,
            "max_characters_per_token": longest,
            "activation": activation,
        },
    }


def random_arrays(options, *, seed=1, scale=0.6):
    """Arrays of every name and shape that such a model has."""
    draw = np.random.default_rng(seed)
    lstm, reads = options["lstm"], options["char_cnn"]
    width, cell, size = sum(n for _, n in reads["filters"]), lstm["dim"], lstm["projection_dim"]
    shapes = {"char_embed": (261, reads["embedding"]["dim"])}
    for place, (span, count) in enumerate(reads["filters"]):
        shapes[f"CNN/W_cnn_{place}"] = (1, span, reads["embedding"]["dim"], count)
        shapes[f"CNN/b_cnn_{place}"] = (count,)
    for place in range(reads["n_highway"] or 0):
        for name in ("carry", "transform"):
            shapes[f"CNN_high_{place}/W_{name}"] = (width, width)
            shapes[f"CNN_high_{place}/b_{name}"] = (width,)
    if width != size:
        shapes |= {"CNN_proj/W_proj": (width, size), "CNN_proj/b_proj": (size,)}
    for way in (0, 1):
        for layer in range(lstm["n_layers"]):
            root = f"RNN_{way}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes[f"{root}/W_0"] = (2 * size, 4 * cell)
            shapes[f"{root}/B"] = (4 * cell,)
            shapes[f"{root}/W_P_0"] = (cell, size)
    return {
        name: (scale * draw.standard_normal(shape)).astype(np.float32)
        for name, shape in shapes.items()
    }


def write_published(folder: Path, options, arrays) -> Path:
    """`lm_weights.hdf5` and `options.json`."""
    import h5py

    folder.mkdir(parents=True, exist_ok=True)
    with h5py.File(folder / "lm_weights.hdf5", "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
    (folder / "options.json").write_text(json.dumps(options))
    return folder


def read_published(folder: Path):
    """The options and arrays of a folder."""
    import h5py

    arrays = {}
    with h5py.File(folder / "lm_weights.hdf5") as file:
        file.visititems(
            lambda name, item: (
                arrays.update({name: np.array(item)}) if hasattr(item, "shape") else None
            )
        )  # noqa: E501
    return json.loads((folder / "options.json").read_text()), arrays


def symbols(token, longest):
    """A token's symbols without the one that means no token: all ids are one lower than ours."""
    special = {"<S>": [256], "</S>": [257]}
    content = special.get(token) or list(token.encode())[: longest - 2]
    return ([258, *content, 259] + [260] * longest)[:longest]


class Oracle:
    """The biLM in loops over tokens, gates and layers."""

    def __init__(self, options, arrays):
        self.options = options
        self.arrays = {name: array.astype(np.float64) for name, array in arrays.items()}

    def token(self, token):
        """The vector of one token."""
        reads = self.options["char_cnn"]
        embedded = self.arrays["char_embed"][symbols(token, reads["max_characters_per_token"])]
        found = []
        for place, (span, _) in enumerate(reads["filters"]):
            kernel, bias = self.arrays[f"CNN/W_cnn_{place}"][0], self.arrays[f"CNN/b_cnn_{place}"]
            spots = range(len(embedded) - span + 1)
            answers = [
                np.tensordot(embedded[at : at + span], kernel, axes=([0, 1], [0, 1])) + bias
                for at in spots
            ]
            found.append(np.max(answers, axis=0))
        vector = np.concatenate(found)
        vector = np.maximum(vector, 0) if reads["activation"] == "relu" else np.tanh(vector)
        for place in range(reads["n_highway"] or 0):
            part = {
                name: vector @ self.arrays[f"CNN_high_{place}/W_{name}"]
                + self.arrays[f"CNN_high_{place}/b_{name}"]
                for name in ("carry", "transform")
            }
            carry = sigmoid(part["carry"])
            vector = carry * np.maximum(part["transform"], 0) + (1 - carry) * vector
        if "CNN_proj/W_proj" not in self.arrays:
            return vector
        return vector @ self.arrays["CNN_proj/W_proj"] + self.arrays["CNN_proj/b_proj"]

    def fresh(self):
        """Zeros for both directions and all layers."""
        lstm = self.options["lstm"]
        shape = (2, lstm["n_layers"])
        return np.zeros((*shape, lstm["projection_dim"])), np.zeros((*shape, lstm["dim"]))

    def layers(self, words, state):
        """All layers at the words of one sentence, [J, T, 2 * projection]; the state is changed."""
        tokens = np.array([self.token(token) for token in ("<S>", *words, "</S>")])
        ways = [self._run(0, tokens, state), self._run(1, tokens[::-1], state)]
        stacked = [np.concatenate([tokens, tokens], axis=-1)]
        for ahead, back in zip(*ways, strict=True):
            stacked.append(np.concatenate([ahead, back[::-1]], axis=-1))
        return np.stack(stacked)[:, 1:-1]

    def _run(self, way, inputs, state):
        outputs = []
        for layer in range(self.options["lstm"]["n_layers"]):
            above = []
            for vector in inputs:
                new = self._step(way, layer, vector, state)
                is_residual = layer and self.options["lstm"]["use_skip_connections"]
                above.append(new + vector if is_residual else new)
            inputs = np.array(above)
            outputs.append(inputs)
        return outputs

    def _step(self, way, layer, vector, state):
        lstm = self.options["lstm"]
        root = f"RNN_{way}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
        hidden, cell = state[0][way, layer], state[1][way, layer]
        sums = np.concatenate([vector, hidden]) @ self.arrays[f"{root}/W_0"]
        gates = dict(zip(GATES, np.split(sums + self.arrays[f"{root}/B"], 4), strict=True))
        cell = cell * sigmoid(gates["forget"] + 1) + sigmoid(gates["input"]) * np.tanh(
            gates["candidate"]
        )
        cell = clipped(cell, lstm["cell_clip"])
        hidden = (sigmoid(gates["output"]) * np.tanh(cell)) @ self.arrays[f"{root}/W_P_0"]
        hidden = clipped(hidden, lstm["proj_clip"])
        state[0][way, layer], state[1][way, layer] = hidden, cell
        return hidden


def clipped(values, limit):
    return np.clip(values, -limit, limit) if limit else values


def sigmoid(values):
    return 1 / (1 + np.exp(-values))
