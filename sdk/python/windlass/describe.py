"""`python -m windlass.describe DIR...` or `--file F`: loads plugins once and tells the node what they register."""

import argparse
import json
import os
import platform
import sys
import traceback
from typing import Any, Dict, List, Optional

from . import frames
from .channel import Channel
from .failures import text_of
from .loader import digest, load, plugins_in
from .registry import registry
from .worker import strip_environment

_MAX_TEXT = 8 * 1024


def describe(paths: List[str]) -> Dict[str, Any]:
    files = [_describe_file(os.path.abspath(path)) for path in paths]
    return {"python": platform.python_version(), "executable": sys.executable, "files": files}


def _describe_file(path: str) -> Dict[str, Any]:
    # The last line before a silence names the file whose import hangs.
    os.write(2, os.fsencode("windlass.describe: loading %s\n" % path))
    described: Dict[str, Any] = {"path": path, "sha256": None, "error": None, "types": []}
    try:
        described["sha256"] = digest(path)
        load(path)
        described["types"] = [entry.described() for entry in registry.of_file(path)]
    except BaseException as error:  # `sys.exit()` at import is the file's fault, not ours
        described["error"] = _error(error)
    return described


def _error(error: BaseException) -> Dict[str, str]:
    message = text_of(error) or "raised while the file was loaded"
    if isinstance(error, SystemExit):
        message = "the file exits while it is loaded: sys.exit(%s)" % text_of(error)
    story = "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-6))
    return {
        "kind": type(error).__name__,
        "message": frames.clean(message),
        "traceback": frames.cut(frames.clean(story), _MAX_TEXT),
    }


def _paths(arguments: Optional[List[str]] = None) -> List[str]:
    parser = argparse.ArgumentParser(prog="python -m windlass.describe", description=__doc__)
    parser.add_argument("folders", nargs="*", metavar="DIR", help="a folder of plugins")
    parser.add_argument("--file", action="append", default=[], metavar="F", help="one plugin: a file or a package")
    given = parser.parse_args(arguments)
    return [path for folder in given.folders for path in plugins_in(folder)] + given.file


def main() -> None:
    paths = _paths()
    channel = Channel.from_environment()
    strip_environment()
    if channel is None:
        # Started by hand: show it.
        print(json.dumps(describe(paths), indent=2))
        return
    body = frames.dumps(describe(paths))
    channel.send(frames.prefix(b'{"t":"described"}', len(body)), body)
    # Threads that a plugin started at import must not keep this process.
    os._exit(0)


if __name__ == "__main__":
    main()
