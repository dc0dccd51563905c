"""The SQLite file: what is published for search, and the working data of tasks under way.

Working data stands under the task, so that two tasks with the same document never step on each other; what is published
stands under (document, chunk). Every write may be repeated: an attempt that died half-way is simply done again.
"""

import errno
import json
import os
import sqlite3
from typing import Any, Dict, Iterable, List, Tuple

from windlass import PermanentError, RetryableError

from .chunks import Block, Chunk
from .parse import Parsed
from .source import Document
from .state import Progress

_BUSY_SECONDS = 30
# Working data of tasks that failed for good and were never tried again.
_STALE_DAYS = 7
# What stays as it is until somebody changes the path or its permissions. All else passes: a full disk, descriptors that
# are used up, a disk that errs.
_FOR_GOOD = (errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EROFS)
_TEXTS_FOR_GOOD = ("not a database", "readonly database")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS document (
    document TEXT PRIMARY KEY, name TEXT NOT NULL, title TEXT NOT NULL, media_type TEXT NOT NULL,
    pages INTEGER, characters INTEGER NOT NULL, chunks INTEGER NOT NULL, indexed_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS chunk (
    document TEXT NOT NULL, chunk INTEGER NOT NULL, heading TEXT NOT NULL, text TEXT NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (document, chunk)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS work (
    task TEXT PRIMARY KEY, document TEXT NOT NULL, name TEXT NOT NULL, media_type TEXT, data BLOB,
    parsed TEXT, begun_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE IF NOT EXISTS draft (
    task TEXT NOT NULL, chunk INTEGER NOT NULL, heading TEXT NOT NULL, text TEXT NOT NULL, vector BLOB,
    PRIMARY KEY (task, chunk)) WITHOUT ROWID;
"""


class Index:
    def __init__(self, path: str, task: str) -> None:
        self._task = task
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self._db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
            # Readers go on searching while a document is being written.
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.executescript(_SCHEMA)
        except (OSError, sqlite3.DatabaseError) as error:
            if "locked" in str(error):
                raise RetryableError("%s is busy" % path, "INDEX_BUSY", retry_after=1) from None
            detail = "cannot use %s as the index: %s" % (path, error)
            if _for_good(error, path):
                raise PermanentError(detail, "INDEX_NOT_USABLE") from None
            raise RetryableError(detail, "INDEX_UNAVAILABLE") from None

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *_: Any) -> None:
        self._db.close()

    # Working data

    def holds(self, document: str, stage: str) -> bool:
        """Whether what a checkpoint of `stage` promises is really here."""
        if stage == "index":
            # The working data may be gone already: it is dropped before the result is sent.
            return self._one("SELECT 1 FROM document WHERE document = ?", document) is not None
        row = self._one("SELECT document, data IS NOT NULL, parsed IS NOT NULL FROM work WHERE task = ?", self._task)
        if row is None or row[0] != document:
            return False
        if stage == "download":
            return bool(row[1])
        if stage == "parse":
            return bool(row[2])
        total, missing = self.without_vector()
        return total > 0 and bool(row[2]) and (stage == "chunk" or not missing)

    def keep_source(self, document: Document) -> None:
        with self._transaction():
            self._db.execute("DELETE FROM draft WHERE task = ?", (self._task,))
            self._db.execute(
                "INSERT INTO work (task, document, name, media_type, data) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (task) DO UPDATE SET document = excluded.document, name = excluded.name, "
                "media_type = excluded.media_type, data = excluded.data, parsed = NULL",
                (self._task, document.sha256, document.name, document.media_type, document.data),
            )
            self._drop_stale()

    def source(self) -> Document:
        name, media_type, data, sha256 = self._one(
            "SELECT name, media_type, data, document FROM work WHERE task = ?", self._task
        )
        return Document(name, media_type, data, sha256)

    def keep_parsed(self, parsed: Parsed) -> None:
        value = {
            "title": parsed.title,
            "media_type": parsed.media_type,
            "pages": parsed.pages,
            "characters": parsed.characters,
            "blocks": [[block.heading, block.text] for block in parsed.blocks],
        }
        # The bytes have done their duty; the text is what the next stages read.
        self._db.execute("UPDATE work SET parsed = ?, data = NULL WHERE task = ?", (json.dumps(value), self._task))

    def parsed(self) -> Parsed:
        value = self._parsed_value()
        blocks = [Block(heading, text) for heading, text in value["blocks"]]
        return Parsed(value["title"], value["media_type"], blocks, value["pages"])

    def keep_chunks(self, chunks: List[Chunk], progress: Progress) -> None:
        with self._transaction():
            self._db.execute("DELETE FROM draft WHERE task = ?", (self._task,))
            for at in range(0, len(chunks), 500):
                rows = [(self._task, part.number, part.heading, part.text) for part in chunks[at : at + 500]]
                self._db.executemany(
                    "INSERT INTO draft (task, chunk, heading, text) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", rows
                )
                progress.within((at + len(rows)) / len(chunks))

    def without_vector(self) -> Tuple[int, List[int]]:
        """How many chunks there are, and the numbers of those still to be embedded."""
        rows = self._db.execute("SELECT chunk, vector IS NULL FROM draft WHERE task = ? ORDER BY chunk", (self._task,))
        flags = rows.fetchall()
        return len(flags), [number for number, missing in flags if missing]

    def texts(self, numbers: List[int]) -> List[Tuple[int, str]]:
        """What is embedded of each chunk: its heading is part of what it says."""
        marks = ",".join("?" * len(numbers))
        rows = self._db.execute(
            "SELECT chunk, heading || char(10) || text FROM draft WHERE task = ? AND chunk IN (%s)" % marks,
            (self._task, *numbers),
        )
        return rows.fetchall()

    def keep_vectors(self, vectors: Iterable[Tuple[int, bytes]]) -> None:
        with self._transaction():
            self._db.executemany(
                "UPDATE draft SET vector = ? WHERE task = ? AND chunk = ?",
                [(vector, self._task, number) for number, vector in vectors],
            )

    def drop_work(self) -> None:
        with self._transaction():
            self._db.execute("DELETE FROM draft WHERE task = ?", (self._task,))
            self._db.execute("DELETE FROM work WHERE task = ?", (self._task,))

    # Published

    def publish(self, document: str) -> None:
        """In one transaction: a search finds the document with all of its chunks, or as it was before."""
        value = self._parsed_value()
        with self._transaction():
            (name,) = self._one("SELECT name FROM work WHERE task = ?", self._task)
            (chunks,) = self._one("SELECT count(*) FROM draft WHERE task = ?", self._task)
            self._db.execute(
                "INSERT INTO chunk (document, chunk, heading, text, vector) "
                "SELECT ?, chunk, heading, text, vector FROM draft WHERE task = ? ORDER BY chunk "
                "ON CONFLICT (document, chunk) DO UPDATE SET heading = excluded.heading, text = excluded.text, "
                "vector = excluded.vector",
                (document, self._task),
            )
            # Of an earlier ingestion that cut smaller chunks.
            self._db.execute("DELETE FROM chunk WHERE document = ? AND chunk >= ?", (document, chunks))
            self._db.execute(
                "INSERT INTO document (document, name, title, media_type, pages, characters, chunks, indexed_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, CURRENT_TIMESTAMP) ON CONFLICT (document) DO UPDATE SET "
                "name = excluded.name, title = excluded.title, media_type = excluded.media_type, "
                "pages = excluded.pages, characters = excluded.characters, chunks = excluded.chunks, "
                "indexed_at = excluded.indexed_at",
                (document, name, value["title"], value["media_type"], value["pages"], value["characters"], chunks),
            )

    def published(self, document: str) -> Dict[str, Any]:
        keys = ("title", "media_type", "pages", "characters", "chunks")
        row = self._one("SELECT title, media_type, pages, characters, chunks FROM document WHERE document = ?", document)
        return {key: value for key, value in zip(keys, row) if value is not None}

    # Plumbing

    def _transaction(self) -> "_Transaction":
        return _Transaction(self._db)

    def _one(self, sql: str, *values: Any) -> Any:
        return self._db.execute(sql, values).fetchone()

    def _parsed_value(self) -> Dict[str, Any]:
        (text,) = self._one("SELECT parsed FROM work WHERE task = ?", self._task)
        return json.loads(text)

    def _drop_stale(self) -> None:
        stale = "SELECT task FROM work WHERE begun_at < datetime('now', '-%d days')" % _STALE_DAYS
        self._db.execute("DELETE FROM draft WHERE task IN (%s)" % stale)
        self._db.execute("DELETE FROM work WHERE begun_at < datetime('now', '-%d days')" % _STALE_DAYS)


def _for_good(error: Exception, path: str) -> bool:
    if isinstance(error, OSError):
        return error.errno in _FOR_GOOD
    text = str(error)
    if "unable to open" not in text:
        return any(known in text for known in _TEXTS_FOR_GOOD)
    # SQLite says no more than that: look for what it met.
    folder = os.path.dirname(path) or "."
    denied = os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK)
    return os.path.isdir(path) or denied or not os.access(folder, os.W_OK | os.X_OK)


class _Transaction:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        # At once and not at the first write: a reader that becomes a writer can meet a lock that no waiting resolves.
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: Any, *_: Any) -> None:
        # A full disk has rolled it back already.
        if self._db.in_transaction:
            self._db.execute("ROLLBACK" if kind else "COMMIT")
