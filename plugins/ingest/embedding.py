"""Vectors without a model: hashed n-grams, the same on every machine.

Good enough to find passages that share words and word parts. To use a model, replace `embed` and `DIMENSIONS`, and load
the model in a `setup` function, so that it is loaded once a host and not once a task.
"""

import math
import re
import sys
import zlib
from array import array
from typing import Dict, Iterator

DIMENSIONS = 256

_WORD = re.compile(r"\w+", re.UNICODE)


def embed(text: str) -> bytes:
    """DIMENSIONS little-endian floats of length 1."""
    counts: Dict[str, int] = {}
    for gram in _grams(text):
        counts[gram] = counts.get(gram, 0) + 1
    vector = [0.0] * DIMENSIONS
    for gram, count in counts.items():
        # CRC and not hash(): that one differs from process to process.
        code = zlib.crc32(gram.encode("utf-8", "replace"))
        # The sign comes from another bit than the place, so that collisions cancel out instead of adding up.
        sign = 1.0 if code & 0x80000000 else -1.0
        vector[code % DIMENSIONS] += sign * (1.0 + math.log(count))
    return _normalised(vector)


def _grams(text: str) -> Iterator[str]:
    for word in _WORD.findall(text.lower()):
        yield word
        padded = "<%s>" % word
        for at in range(len(padded) - 2):
            yield padded[at : at + 3]


def _normalised(vector: list) -> bytes:
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    floats = array("f", (value / length for value in vector))
    if sys.byteorder == "big":
        floats.byteswap()
    return floats.tobytes()
