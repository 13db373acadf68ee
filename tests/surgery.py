"""Files taken apart and put together again, however wrong."""

import json
import struct

import numpy as np
from safetensors.numpy import load, save


def opened(data):
    """The header, the content and the arrays of a file's bytes."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["classwise"])
    arrays = {name: array.copy() for name, array in load(data).items()}
    content = arrays.pop("content") if "content" in arrays else np.frombuffer(b"null", dtype=np.uint8)
    return header, json.loads(content.tobytes()), arrays


def closed(header, content, arrays):
    """A file of these."""
    text = np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save({**arrays, "content": text}, {"classwise": json.dumps(header)})


def by_hand(metadata, tensors, data=b""):
    """A file with any header; tensors: name -> {dtype, shape, data_offsets}."""
    header = json.dumps({"__metadata__": metadata, **tensors}).encode()
    return struct.pack("<Q", len(header)) + header + data


def nodes(tree, path=()):
    """The places of all nodes in a tree of JSON."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, item in items:
        yield from nodes(item, (*path, key))


def found(tree, path):
    """The node at a place."""
    for key in path:
        tree = tree[key]
    return tree


def replaced(tree, path, value):
    """The tree with another node at a place."""
    if not path:
        return value
    changed = dict(tree) if isinstance(tree, dict) else list(tree)
    changed[path[0]] = replaced(tree[path[0]], path[1:], value)
    return changed


def of_class(tree, name):
    """The places of all values of a class."""
    known = ((path, found(tree, path)) for path in nodes(tree))
    return [path for path, node in known if isinstance(node, dict) and node.get("class") == name]
