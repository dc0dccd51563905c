"""Finds and loads plugin files, the same way for a host and for `describe`."""

import hashlib
import importlib.util
import os
import re
import sys
from types import ModuleType
from typing import Iterator, List

from .registry import registry


def plugins_in(folder: str) -> List[str]:
    """The `.py` files and packages of `folder`, sorted, so that "twice" always blames the same one."""
    found = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if not name.startswith(("_", ".")) and (_is_package(path) or (name.endswith(".py") and os.path.isfile(path))):
            found.append(os.path.abspath(path))
    return found


def load(path: str) -> ModuleType:
    """Runs the plugin at `path`; whatever it registers goes to the registry under that path."""
    path = os.path.abspath(path)
    _make_neighbours_importable(os.path.dirname(path))
    name = module_name(path)
    package = os.path.isdir(path)
    source = os.path.join(path, "__init__.py") if package else path
    spec = importlib.util.spec_from_file_location(name, source, submodule_search_locations=[path] if package else None)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file", path=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    registry.file = path
    try:
        spec.loader.exec_module(module)
    except BaseException:
        registry.forget(path)
        for part in [key for key in sys.modules if key == name or key.startswith(name + ".")]:
            del sys.modules[part]
        raise
    return module


def module_name(path: str) -> str:
    """Stable and unique: two folders may each hold a `hello.py`."""
    stem = re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0])
    return "windlass_plugin_%s_%s" % (stem, hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:8])


def digest(path: str) -> str:
    """sha256 of the file, or of a package's `.py` files in the order of their relative paths."""
    total = hashlib.sha256()
    for source in _sources(path):
        with open(source, "rb") as file:
            total.update(file.read())
    return total.hexdigest()


def _sources(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return
    found = []
    for folder, _, names in os.walk(path):
        found += [os.path.relpath(os.path.join(folder, name), path) for name in names if name.endswith(".py")]
    for relative in sorted(found):
        yield os.path.join(path, relative)


def _is_package(path: str) -> bool:
    return os.path.isfile(os.path.join(path, "__init__.py"))


def _make_neighbours_importable(folder: str) -> None:
    # At the end: a plugin called `openai.py` must not hide the library that it imports.
    if folder not in sys.path:
        sys.path.append(folder)
