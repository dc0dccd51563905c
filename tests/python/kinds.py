"""A host with the task types of `kinds_plugin.py`."""

from pathlib import Path

from node import Node

KINDS = Path(__file__).with_name("kinds_plugin.py")


def host(*types: str, threads: int = 1, **given) -> Node:
    node = Node([KINDS], {name: threads for name in types}, **given)
    node.ready()
    return node
