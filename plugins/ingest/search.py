"""Searches an index that `ingest` has written; needs nothing but this folder.

    python plugins/ingest/search.py windlass-ingest.sqlite "who may approve a refund"
"""

import sqlite3
import sys
from array import array
from typing import List, Tuple

from embedding import embed


def search(path: str, query: str, count: int = 5) -> List[Tuple[float, str, str, str]]:
    """(similarity, title, heading, text), best first. Looks at every vector: good for some 100 000 chunks."""
    wanted = _floats(embed(query))
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    rows = db.execute("SELECT vector, title, heading, text FROM chunk JOIN document USING (document)")
    found = [(sum(a * b for a, b in zip(wanted, _floats(vector))), *rest) for vector, *rest in rows]
    db.close()
    return sorted(found, reverse=True)[:count]


def _floats(vector: bytes) -> array:
    values = array("f", vector)
    if sys.byteorder == "big":
        values.byteswap()
    return values


if __name__ == "__main__":
    for score, title, heading, text in search(sys.argv[1], " ".join(sys.argv[2:])):
        place = title + (" > " + heading if heading else "")
        print("%.3f  %s\n       %s\n" % (score, place, text[:200].replace("\n", " ")))
