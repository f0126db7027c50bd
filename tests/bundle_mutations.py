"""Ways to spoil a model folder, drawn by a seed: bytes, files, JSON values, weights and graphs.

Values stay well formed where they can, so that what lies behind the first check is reached: a
header of weights fits its file, a graph parses.
"""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from safetensors.numpy import load_file, save_file

GIANT = 20 << 30
LONG = "a" * 100_000
VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 7, 2**31, 2**63, 10**30, -(10**30), 0.5, -1.5, 1e308, 5e-324,
    "", "x", "x\0y", "..", "../../outside/canary.txt", "/etc/passwd", LONG, "\udcff",
    "nan", "\x1b[31m",
    [], {}, [[]], [None], [1, 2, 3], ["a", "a"], {"a": {}}, {"": None}, "DEEP", "NAN",
]  # fmt: skip
DEEP = "[" * 50_000 + "]" * 50_000

Draw = random.Random
Change = Callable[[Path, Draw], str]


def mutate(folder: Path, draw: Draw) -> str:
    """Spoil a bundle in one to three ways; says which."""
    told = []
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        change = draw.choices(list(CHANGES), weights=list(CHANGES.values()))[0]
        told.append(change(folder, draw))
    return "; ".join(told)


def _some_file(folder: Path, draw: Draw) -> Path:
    return draw.choice(sorted(each for each in folder.rglob("*") if not each.is_dir()))


def _plain_file(folder: Path, draw: Draw, endings: tuple[str, ...] = ("",)) -> Path | None:
    files = [each for each in sorted(folder.rglob("*")) if each.name.endswith(endings)]
    plain = [each for each in files if _is_plain(each)]
    return draw.choice(plain) if plain else None


def _is_plain(path: Path) -> bool:
    """Whether a file can still be read and changed, after what was done to it before."""
    return path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 26


def flip_bytes(folder: Path, draw: Draw) -> str:
    """Give some bytes other values."""
    path = _plain_file(folder, draw)
    if path is None or not path.stat().st_size:
        return "nothing"
    content = bytearray(path.read_bytes())
    start = draw.randrange(len(content)) if draw.random() < 0.5 else 0
    for _ in range(draw.choice([1, 3, 30])):
        place = min(len(content) - 1, start + draw.randrange(200))
        content[place] = draw.randrange(256)
    path.write_bytes(content)
    return f"{path.name}: bytes flipped"


def replace_content(folder: Path, draw: Draw) -> str:
    """Give a file another content."""
    path = _plain_file(folder, draw)
    if path is None:
        return "nothing"
    whole, other = path.read_bytes(), _plain_file(folder, draw) or path
    kinds = {
        "emptied": b"",
        "halved": whole[: len(whole) // 2],
        "of 0xff": b"\xff" * len(whole),
        "of zeros": bytes(len(whole)),
        "doubled": whole * 2,
        f"the content of {other.name}": other.read_bytes(),
        "an empty object": b"{}",
        "nested": DEEP.encode(),
        "random": draw.randbytes(min(len(whole), 5000)),
    }
    kind = draw.choice(list(kinds))
    path.write_bytes(kinds[kind])
    return f"{path.name}: {kind}"


def replace_file(folder: Path, draw: Draw) -> str:
    """Put something else in the place of a file, or nothing."""
    path = _some_file(folder, draw)
    outside = folder.parent / "outside"
    path.unlink()
    kinds: dict[str, Callable[[], object]] = {
        "gone": lambda: None,
        "a folder": path.mkdir,
        "a pipe": lambda: os.mkfifo(path),
        "a giant": lambda: _make_giant(path),
        "a link out": lambda: path.symlink_to(outside / "canary.txt"),
        "a link to a sound file outside": lambda: path.symlink_to(
            outside / "sound" / path.relative_to(folder)
        ),
        "a link to itself": lambda: path.symlink_to(path.name),
        "a link to nothing": lambda: path.symlink_to("nothing"),
        "a link to a device": lambda: path.symlink_to("/dev/zero"),
        "a link inside": lambda: path.symlink_to(_some_file(folder, draw)),
    }
    kind = draw.choice(list(kinds))
    kinds[kind]()
    return f"{path.name}: {kind}"


def replace_graphs(folder: Path, draw: Draw) -> str:
    """Put something else in the place of `onnx/`."""
    graphs = folder / "onnx"
    if not graphs.is_dir() or graphs.is_symlink():
        return "nothing"
    shutil.rmtree(graphs)
    kinds: dict[str, Callable[[], object]] = {
        "gone": lambda: None,
        "empty": graphs.mkdir,
        "a link out": lambda: graphs.symlink_to(folder.parent / "outside" / "sound" / "onnx"),
        "a pipe": lambda: os.mkfifo(graphs),
    }
    kind = draw.choice(list(kinds))
    kinds[kind]()
    return f"onnx: {kind}"


def _make_giant(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(GIANT)


def change_json(folder: Path, draw: Draw) -> str:
    """Give a value in a JSON file another type or size, take one away, or add one."""
    path = _plain_file(folder, draw, (".json",))
    if draw.random() < 0.6 and _is_plain(folder / "config.json"):
        path = folder / "config.json"
    try:
        data = json.loads(path.read_bytes()) if path is not None else None
        places = list(_places(data))
    except (ValueError, OSError, RecursionError):
        return "nothing"
    if path is None or not places:
        return "nothing"
    holder, key = draw.choice(places if len(places) < 400 else [*places[:200], *places[-200:]])
    value = draw.choice(VALUES)
    way = draw.choice(["set", "set", "set", "delete", "add"])
    if way == "delete":
        del holder[key]
    elif way == "add" and isinstance(holder, dict):
        holder["added"] = value
    else:
        holder[key] = value
    text = json.dumps(data, ensure_ascii=True)
    path.write_text(text.replace('"DEEP"', DEEP).replace('"NAN"', "NaN"), encoding="utf-8")
    return f"{path.name}: {way} {key!r:.40} = {value!r:.40}"


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    keys = data.keys() if isinstance(data, dict) else range(len(data))
    for key in list(keys):
        yield data, key
        if isinstance(data[key], (dict, list)):
            yield from _places(data[key])


def change_weights(folder: Path, draw: Draw) -> str:
    """Give an array another shape, type, name or values."""
    path = folder / "model.safetensors"
    try:
        weights = load_file(path) if _is_plain(path) else {}
    except Exception:
        return "nothing"
    if not weights:
        return "nothing"
    name = draw.choice(sorted(weights))
    array = weights[name]
    kinds: dict[str, Callable[[], Any]] = {
        "gone": lambda: None,
        "not finite": lambda: np.full_like(array, np.nan) if array.dtype.kind == "f" else array,
        "huge": lambda: np.full_like(array, 1e30) if array.dtype.kind == "f" else array,
        "of integers": lambda: np.ones(array.shape, np.int64),
        "of doubles": lambda: array.astype(np.float64),
        "of bytes": lambda: np.full(array.shape, -128, np.int8),
        "empty": lambda: np.zeros((0, *array.shape[1:]), array.dtype),
        "a number": lambda: np.zeros((), array.dtype),
        "flat": lambda: array.reshape(-1),
        "turned": lambda: np.ascontiguousarray(array.T),
        "longer": lambda: np.concatenate([array, array]) if array.ndim else array,
        "deeper": lambda: array.reshape(*array.shape, *[1] * 20),
        "wide and empty": lambda: np.zeros((0, 1 << 40), array.dtype),
    }
    kind = draw.choice(list(kinds))
    made = kinds[kind]()
    del weights[name]
    if made is not None:
        weights[draw.choice([name, name, name, f"{name}:scale", "x\0y"])] = made
    save_file(weights, path)
    return f"model.safetensors: {name} {kind}"


def change_header(folder: Path, draw: Draw) -> str:
    """Let the header of the weights say something else."""
    path = folder / "model.safetensors"
    try:
        content = path.read_bytes() if _is_plain(path) else b""
        size = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + size])
        name = draw.choice(sorted(set(header) - {"__metadata__"}))
        entry = header[name]
        key = draw.choice(["dtype", "shape", "data_offsets"])
        entry[key] = draw.choice(
            {
                "dtype": ["F64", "BF16", "I8", "F8_E5M2", "X", None],
                "shape": [[2**62, 4], [0], [-1], [2**63], [], ["a"], [1] * 1000],
                "data_offsets": [[0, 2**60], [4, 0], [0, 0], [], [2**64, 2**64]],
            }[key]
        )
    except Exception:
        return "nothing"
    made = json.dumps(header).encode()
    path.write_bytes(len(made).to_bytes(8, "little") + made + content[8 + size :])
    return f"model.safetensors: {key} of {name} is {entry[key]!r:.40}"


INTEGERS = [-1, 0, 1, 2**31 - 1, 2**31, 2**62, -(2**63)]


def change_graph(folder: Path, draw: Draw) -> str:
    """Change a part of a graph that still parses."""
    path = _plain_file(folder, draw, (".onnx",))
    if path is None:
        return "nothing"
    try:
        model = onnx.load_from_string(path.read_bytes())
    except Exception:
        return "nothing"
    graph = model.graph
    if not graph.node:
        return "nothing"
    told = draw.choice(GRAPH_CHANGES)(model, draw)
    try:
        path.write_bytes(model.SerializeToString())
    except Exception:
        return "nothing"
    return f"{path.name}: {told}"


def _operator(model: Any, draw: Draw) -> str:
    node = draw.choice(list(model.graph.node))
    before = node.op_type
    node.op_type = draw.choice(
        ["Loop", "If", "Scan", "Range", "Expand", "Tile", "ConstantOfShape", "Gather", "Reshape",
         "LSTM", "GRU", "Resize", "Pad", "Upsample", "TopK", "Where", "Slice", "Conv", "Softmax",
         "MatMulInteger", "DynamicQuantizeLSTM", "Attention", "PyOp", "x"]
    )  # fmt: skip
    if draw.random() < 0.3:
        node.domain = draw.choice(["com.microsoft", "ai.onnx.ml", "x"])
    return f"{before} is {node.op_type}"


def _attribute(model: Any, draw: Draw) -> str:
    nodes = [node for node in model.graph.node if node.attribute]
    if not nodes:
        return "nothing"
    node = draw.choice(nodes)
    attribute = draw.choice(list(node.attribute))
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i = draw.choice(INTEGERS)
    elif attribute.type == onnx.AttributeProto.INTS:
        attribute.ints[:] = [draw.choice(INTEGERS) for _ in range(draw.choice([0, 1, 3, 9]))]
    elif attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f = draw.choice([float("nan"), 1e38, -1.0])
    else:
        node.attribute.remove(attribute)
        return f"an attribute of {node.op_type} gone"
    return f"{attribute.name} of {node.op_type} changed"


def _wiring(model: Any, draw: Draw) -> str:
    nodes = list(model.graph.node)
    names = [name for node in nodes for name in (*node.input, *node.output)] or [""]
    node = draw.choice(nodes)
    side = draw.choice([node.input, node.output])
    if side:
        side[draw.randrange(len(side))] = draw.choice([*names, "", "missing"])
    return f"{node.op_type} wired elsewhere"


def _dropped(model: Any, draw: Draw) -> str:
    node = draw.choice(list(model.graph.node))
    model.graph.node.remove(node)
    return f"{node.op_type} gone"


def _initialiser(model: Any, draw: Draw) -> str:
    found = list(model.graph.initializer)
    constants = [
        attribute.t
        for node in model.graph.node
        for attribute in node.attribute
        if attribute.type == onnx.AttributeProto.TENSOR
    ]
    if not found + constants:
        return "nothing"
    tensor = draw.choice(found + constants)
    way = draw.choice(["dims", "type", "content", "place"])
    if way == "dims":
        tensor.dims[:] = [draw.choice(INTEGERS) for _ in range(draw.choice([0, 1, 2]))]
    elif way == "type":
        tensor.data_type = draw.choice([0, 1, 2, 7, 8, 9, 99])
    elif way == "content":
        tensor.raw_data = draw.randbytes(draw.choice([0, 1, 8, 1000]))
    else:
        tensor.data_location = onnx.TensorProto.EXTERNAL
        del tensor.external_data[:]
        places = ["../../outside/canary.txt", "/etc/passwd", "weights.json", "nothing", "/dev/zero"]
        facts = {"location": draw.choice(places), "offset": draw.choice(["0", "-1", str(2**62)]),
                 "length": draw.choice(["4", "0", str(2**62)])}  # fmt: skip
        for key, value in facts.items():
            tensor.external_data.add(key=key, value=value)
    return f"{way} of {tensor.name!r:.30} changed"


def _signature(model: Any, draw: Draw) -> str:
    values = [*model.graph.input, *model.graph.output]
    if not values:
        return "nothing"
    value = draw.choice(values)
    shape = value.type.tensor_type.shape
    if draw.random() < 0.5 and shape.dim:
        draw.choice(list(shape.dim)).dim_value = draw.choice(INTEGERS)
    else:
        value.type.tensor_type.elem_type = draw.choice([0, 1, 6, 7, 8, 16, 99])
    return f"{value.name} declared otherwise"


def _explosion(model: Any, draw: Draw) -> str:
    """A giant array, computed from nothing, that an output depends on."""
    size = draw.choice([1 << 28, 1 << 33, 1 << 40])
    output = draw.choice(list(model.graph.output)).name
    shape = onnx.helper.make_node(
        "Constant", [], ["bomb_shape"], value=onnx.numpy_helper.from_array(np.array([size]))
    )
    giant = onnx.helper.make_node("ConstantOfShape", ["bomb_shape"], ["bomb"])
    total = onnx.helper.make_node("ReduceSum", ["bomb"], ["bomb_total"], keepdims=0)
    for node in model.graph.node:
        for place, name in enumerate(node.output):
            if name == output:
                node.output[place] = "bomb_before"
    added = onnx.helper.make_node("Add", ["bomb_before", "bomb_total"], [output])
    model.graph.node.extend([shape, giant, total, added])
    return f"an array of {size:,} numbers"


def _endless_loop(model: Any, draw: Draw) -> str:
    """A loop of 2^62 rounds that an output depends on."""
    output = draw.choice(list(model.graph.output)).name
    helper, kind = onnx.helper, onnx.TensorProto
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"]),
         helper.make_node("Identity", ["carried"], ["carried_on"])],
        "body",
        [helper.make_tensor_value_info("round", kind.INT64, []),
         helper.make_tensor_value_info("go", kind.BOOL, []),
         helper.make_tensor_value_info("carried", kind.FLOAT, [])],
        [helper.make_tensor_value_info("go_on", kind.BOOL, []),
         helper.make_tensor_value_info("carried_on", kind.FLOAT, [])],
    )  # fmt: skip
    constants = {"loop_most": np.array(2**62), "loop_go": np.array(True),
                 "loop_zero": np.array(0.0, np.float32)}  # fmt: skip
    made = [
        helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(value))
        for name, value in constants.items()
    ]
    made.append(helper.make_node("Loop", list(constants), ["loop_end"], body=body))
    for node in model.graph.node:
        for place, name in enumerate(node.output):
            if name == output:
                node.output[place] = "loop_before"
    made.append(helper.make_node("Add", ["loop_before", "loop_end"], [output]))
    model.graph.node.extend(made)
    return "a loop without end"


GRAPH_CHANGES = [
    _operator, _operator, _attribute, _attribute, _wiring, _wiring, _dropped, _initialiser,
    _initialiser, _signature, _explosion, _endless_loop,
]  # fmt: skip

CHANGES: dict[Change, int] = {
    flip_bytes: 4,
    replace_content: 3,
    replace_file: 4,
    replace_graphs: 1,
    change_json: 8,
    change_weights: 4,
    change_header: 2,
    change_graph: 6,
}
"""Each with its share."""
