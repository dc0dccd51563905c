"""The ingest plugin on a real host: formats, bad files, and kills in every stage."""

import errno
import http.server
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, Dict, Optional
from unittest import mock

from node import PLUGINS, Node

try:
    import pypdf  # noqa: F401

    HAS_PYPDF = True
except ImportError:
    HAS_PYPDF = False

STAGES = ["download", "parse", "chunk", "embed", "index"]

HTML = """<!doctype html><html><head><title>The  Guide</title><style>p { color: red }</style></head><body>
<script>if (a < b) { hide("this") }</script><h1>Refunds</h1><p>Only a <b>manager</b> may
approve a refund.</p><h2>Limits</h2><ul><li>one a day<li>ten a year</ul><pre>a
   b</pre><svg><text>drawn</text></svg></body></html>"""

MARKDOWN = """Intro before any heading.

# Guide

Welcome.

## Install

```sh
# not a heading
make install
```

Use
---

Turn the handle.
"""


def pdf(text: str, encrypt: bytes = b"") -> bytes:
    """A PDF of one page, as small as they come."""
    stream = b"BT /F1 12 Tf 72 720 Td (%s) Tj ET" % text.encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    data, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return data + b"trailer\n<< /Size 5 /Root 1 0 R %s>>\nstartxref\n%d\n%%%%EOF\n" % (encrypt, start)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.index = self.folder / "index.sqlite"
        self._node: Optional[Node] = None

    @property
    def node(self) -> Node:
        if self._node is None:
            self._node = Node([PLUGINS / "ingest"], {"ingest": 2})
            self.addCleanup(self._node.__exit__)
            self._node.ready()
        return self._node

    def file(self, name: str, content: Any) -> str:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def ingest(self, payload: Dict[str, Any], **params: Any) -> Dict[str, Any]:
        end = self.node.call("ingest", {"index": str(self.index), **payload}, inference_params=params)
        self.assertEqual(end.kind, "done", end)
        return end.value

    def refused(self, payload: Dict[str, Any], kind: str = "permanent", **params: Any) -> Dict[str, Any]:
        end = self.node.call("ingest", {"index": str(self.index), **payload}, inference_params=params)
        self.assertEqual((end.kind, end.header.get("kind")), ("failed", kind), end)
        return end.header

    def rows(self, sql: str = "SELECT document, chunk, heading, text, vector FROM chunk ORDER BY document, chunk"):
        db = sqlite3.connect(str(self.index))
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def execute(self, sql: str) -> None:
        db = sqlite3.connect(str(self.index))
        db.execute(sql)
        db.commit()
        db.close()

    def texts(self):
        return [(heading, text) for _, _, heading, text, _ in self.rows()]


class Formats(Case):
    def test_a_text_is_cut_into_chunks_that_overlap(self):
        words = " ".join("word%04d" % number for number in range(2000))
        result = self.ingest({"path": self.file("words.txt", words)}, chunk_size=500, chunk_overlap=50)
        rows = self.rows()
        self.assertEqual(result["chunks"], len(rows))
        self.assertEqual((result["media_type"], result["characters"]), ("text/plain", len(words)))
        self.assertEqual([row[1] for row in rows], list(range(len(rows))))
        self.assertTrue(all(len(row[3]) <= 500 and len(row[4]) == 4 * result["dimensions"] for row in rows))
        self.assertEqual({word for row in rows for word in row[3].split()}, set(words.split()))
        self.assertTrue(all(a[3].split()[-1] in b[3] for a, b in zip(rows, rows[1:])))

    def test_text_without_a_space_is_cut_as_well(self):
        self.ingest({"text": "x" * 5000}, chunk_size=100, chunk_overlap=50)
        self.assertEqual({len(text) for _, text in self.texts()}, {100})

    def test_markdown_keeps_headings_as_the_context_of_its_chunks(self):
        result = self.ingest({"path": self.file("guide.md", MARKDOWN)})
        self.assertEqual((result["title"], result["media_type"]), ("Guide", "text/markdown"))
        self.assertEqual(
            self.texts(),
            [
                ("", "Intro before any heading."),
                ("Guide", "Welcome."),
                ("Guide > Install", "```sh\n# not a heading\nmake install\n```"),
                ("Guide > Use", "Turn the handle."),
            ],
        )

    def test_html_is_read_as_a_reader_would(self):
        result = self.ingest({"path": self.file("guide.html", HTML)})
        self.assertEqual((result["title"], result["media_type"]), ("The Guide", "text/html"))
        self.assertEqual(
            self.texts(),
            [
                ("Refunds", "Only a manager may approve a refund."),
                ("Refunds > Limits", "one a day\nten a year\na\n   b"),
            ],
        )

    def test_other_encodings_are_understood(self):
        for name, data in (("a.txt", "größe".encode("utf-16")), ("b.txt", "größe".encode("cp1252"))):
            self.index = self.folder / (name + ".sqlite")
            self.ingest({"path": self.file(name, data)})
            self.assertEqual(self.texts(), [("", "größe")])

    @unittest.skipUnless(HAS_PYPDF, "pypdf is not installed")
    def test_a_pdf_is_read_page_by_page(self):
        result = self.ingest({"path": self.file("page.pdf", pdf("Hello from a page"))})
        self.assertEqual((result["media_type"], result["pages"]), ("application/pdf", 1))
        self.assertEqual(self.texts(), [("Page 1", "Hello from a page")])

    @unittest.skipIf(HAS_PYPDF, "pypdf is installed")
    def test_without_pypdf_a_pdf_says_what_to_install(self):
        end = self.refused({"path": self.file("page.pdf", pdf("Hello"))})
        self.assertEqual(end["code"], "PDF_SUPPORT_MISSING")
        self.assertIn("pip install pypdf", end["detail"])

    def test_stages_and_progress_are_told_in_order(self):
        run = self.node.run("ingest", {"text": "word " * 5000, "index": str(self.index)})
        self.assertEqual(self.node.end(run).kind, "done")
        self.assertEqual([message.header["name"] for message in self.node.of(run, "stage")], STAGES + ["finalize"])
        told = [message.header["fraction"] for message in self.node.of(run, "progress")]
        self.assertEqual((told, told[-1]), (sorted(told), 1.0))

    def test_the_index_can_be_searched(self):
        self.ingest({"path": self.file("guide.html", HTML)})
        self.ingest({"path": self.file("guide.md", MARKDOWN)})
        script = str(PLUGINS / "ingest" / "search.py")
        found = subprocess.run(
            [sys.executable, script, str(self.index), "who approves refunds"], stdout=subprocess.PIPE, check=True
        )
        self.assertIn(b"manager may approve", found.stdout.splitlines()[1])


class BadFiles(Case):
    def test_each_is_refused_for_good_with_a_code(self):
        rows = [
            ({"path": str(self.folder / "absent.txt")}, "FILE_NOT_FOUND"),
            ({"path": "nul\0byte"}, "FILE_NOT_FOUND"),
            ({"path": str(self.folder)}, "FILE_NOT_A_FILE"),
            ({"path": self.file("empty.txt", "")}, "FILE_EMPTY"),
            ({"path": self.file("blank.txt", " \n\n ")}, "FILE_EMPTY"),
            ({"path": self.file("word.pdf", "just text")}, "FILE_TYPE_MISMATCH"),
            ({"path": self.file("page.txt", pdf("x"))}, "FILE_TYPE_MISMATCH"),
            ({"path": self.file("office.txt", b"PK\x03\x04rest")}, "FILE_TYPE_MISMATCH"),
            ({"path": self.file("picture.md", b"\x89PNG\r\n\x1a\n")}, "FILE_TYPE_MISMATCH"),
            ({"path": self.file("data", bytes(range(256)))}, "FILE_TYPE_MISMATCH"),
            ({"path": self.file("control.txt", b"\x01\x02\x03\x04\xff" * 100)}, "FILE_TYPE_MISMATCH"),
            ({"path": self.file("ascii.txt", b"\x01\x02\x03text" * 100)}, "FILE_TYPE_MISMATCH"),
            ({"path": self.file("bare.html", "<html><script>x</script></html>")}, "DOCUMENT_HAS_NO_TEXT"),
            ({}, "PAYLOAD_INVALID"),
            ({"path": "a", "text": "b"}, "PAYLOAD_INVALID"),
            ({"path": 3}, "PAYLOAD_INVALID"),
            ({"url": "file:///etc/passwd"}, "PAYLOAD_INVALID"),
            ({"text": "x", "index": str(self.folder)}, "INDEX_NOT_USABLE"),
            ({"text": "x", "index": self.file("no.sqlite", "not a database" * 100)}, "INDEX_NOT_USABLE"),
        ]
        for payload, code in rows:
            self.assertEqual(self.refused(payload)["code"], code, payload)
        self.assertEqual(self.refused({"text": "long enough"}, max_bytes=5)["code"], "FILE_TOO_LARGE")
        path = self.file("long.txt", "long enough")
        self.assertEqual(self.refused({"path": path}, max_bytes=5)["code"], "FILE_TOO_LARGE")
        self.assertEqual(self.refused({"text": "x"}, chunk_size=3)["code"], "PAYLOAD_INVALID")
        self.assertEqual(self.rows("SELECT count(*) FROM work"), [(0,)])

    @unittest.skipUnless(HAS_PYPDF, "pypdf is not installed")
    def test_damaged_and_protected_pdfs_are_told_apart(self):
        self.assertEqual(self.refused({"path": self.file("half.pdf", pdf("x")[:200])})["code"], "PDF_BROKEN")
        writer = pypdf.PdfWriter()
        writer.add_blank_page(100, 100)
        blank = self.folder / "blank.pdf"
        writer.write(str(blank))
        self.assertEqual(self.refused({"path": str(blank)})["code"], "DOCUMENT_HAS_NO_TEXT")
        writer.encrypt("secret", algorithm="RC4-128")
        locked = self.folder / "locked.pdf"
        writer.write(str(locked))
        self.assertEqual(self.refused({"path": str(locked)})["code"], "FILE_ENCRYPTED")


class Unusable(unittest.TestCase):
    """What ends the task for good, and what another attempt may find gone."""

    def opened(self, error: Exception) -> Exception:
        sys.path.insert(0, str(PLUGINS))
        try:
            from ingest.index import Index
        finally:
            sys.path.remove(str(PLUGINS))
        with tempfile.TemporaryDirectory() as folder:
            with mock.patch("ingest.index.sqlite3.connect", side_effect=error), self.assertRaises(Exception) as raised:
                Index(os.path.join(folder, "index.sqlite"), "task")
        return raised.exception

    def test_what_passes_is_tried_again(self) -> None:
        texts = ["database or disk is full", "disk I/O error", "unable to open database file", "database is locked"]
        passing = [sqlite3.OperationalError(text) for text in texts]
        for error in [*passing, OSError(errno.ENOSPC, "full"), OSError(errno.EMFILE, "descriptors")]:
            self.assertEqual(type(self.opened(error)).__name__, "RetryableError", error)

    def test_what_stays_fails_for_good(self) -> None:
        texts = ["file is not a database", "attempt to write a readonly database"]
        staying = [sqlite3.DatabaseError(text) for text in texts]
        for error in [*staying, *(OSError(code, "no") for code in (errno.EACCES, errno.EISDIR, errno.EROFS))]:
            self.assertEqual(type(self.opened(error)).__name__, "PermanentError", error)


class Repeats(Case):
    LONG = "\n\n".join("Paragraph %d says something of its own about topic %d." % (n, n % 17) for n in range(400))

    def payload(self) -> Dict[str, Any]:
        return {"text": self.LONG, "name": "long.txt", "index": str(self.index)}

    def killed(self, wanted: Any, checkpoint: Any = None) -> Any:
        """Kills a host when `wanted` says so of a message; what it had checked in by then."""
        with Node([PLUGINS / "ingest"], {"ingest": 1}, acks=False) as node:
            node.ready()
            node.run("ingest", self.payload(), checkpoint=checkpoint, inference_params={"chunk_size": 200})
            while True:
                message = node.read()
                self.assertIn(message.kind, ("stage", "progress", "checkpoint", "log"), message)
                if message.kind == "checkpoint":
                    checkpoint = message.value
                if wanted(message):
                    os.kill(node.process.pid, signal.SIGKILL)
                    node.exit_code()
                    return checkpoint
                if message.kind == "checkpoint":
                    node.ack(message)

    def finished(self, checkpoint: Any) -> Dict[str, Any]:
        run = self.node.run(
            "ingest", self.payload(), checkpoint=checkpoint, inference_params={"chunk_size": 200}, task_id="task-1"
        )
        end = self.node.end(run)
        self.assertEqual(end.kind, "done", end)
        return {**end.value, "stages": [message.header["name"] for message in self.node.of(run, "stage")]}

    def expected(self):
        self.index = self.folder / "expected.sqlite"
        self.finished(None)
        rows = self.rows()
        self.index = self.folder / "index.sqlite"
        self.assertGreater(len(rows), 100)
        return rows

    def test_an_attempt_goes_on_after_the_stage_that_was_finished(self):
        expected = self.expected()
        for at, stage in enumerate(STAGES):
            self.index = self.folder / (stage + ".sqlite")
            checkpoint = self.killed(lambda message: message.kind == "checkpoint" and message.value["done"] == stage)
            self.assertLess(len(json.dumps(checkpoint)), 1024)
            result = self.finished(checkpoint)
            self.assertEqual((result["resumed_from"], result["stages"]), (stage, (STAGES + ["finalize"])[at + 1 :]))
            self.assertEqual(self.rows(), expected)
            self.assertEqual(self.rows("SELECT count(*) FROM work"), [(0,)])

    def test_an_attempt_that_ends_within_the_embedding_keeps_what_was_embedded(self):
        expected = self.expected()
        checkpoint = self.killed(lambda message: message.kind == "checkpoint" and message.value["done"] == "chunk")
        # The database itself refuses the hundredth vector: the one place to stop that needs no luck.
        self.execute(
            "CREATE TRIGGER stop BEFORE UPDATE OF vector ON draft WHEN new.chunk = 100 "
            "BEGIN SELECT RAISE(ABORT, 'stopped by the test'); END"
        )
        run = self.node.run(
            "ingest", self.payload(), checkpoint=checkpoint, inference_params={"chunk_size": 200}, task_id="task-1"
        )
        self.assertIn("stopped by the test", self.node.end(run).header["detail"])
        self.assertEqual(self.rows("SELECT count(*) FROM draft WHERE vector IS NOT NULL"), [(64,)])
        self.execute("DROP TRIGGER stop")
        self.execute("CREATE TABLE again (chunk)")
        self.execute(
            "CREATE TRIGGER noted AFTER UPDATE OF vector ON draft BEGIN INSERT INTO again VALUES (new.chunk); END"
        )
        self.finished(checkpoint)
        self.assertEqual(self.rows(), expected)
        self.assertEqual(self.rows("SELECT min(chunk) FROM again"), [(64,)])

    def test_a_document_that_comes_again_changes_nothing(self):
        first = self.finished(None)
        rows = self.rows()
        second = self.finished(None)
        self.assertEqual(self.rows(), rows)
        self.assertEqual(first["document"], second["document"])
        self.ingest({"text": self.LONG, "name": "long.txt"}, chunk_size=2000)
        self.assertLess(len(self.rows()), len(rows))

    def test_a_checkpoint_whose_data_is_gone_starts_from_the_beginning(self):
        checkpoint = self.killed(lambda message: message.kind == "checkpoint" and message.value["done"] == "chunk")
        for path in self.folder.glob("index.sqlite*"):
            path.unlink()
        self.assertIsNone(self.finished(checkpoint)["resumed_from"])

    def test_a_checkpoint_of_another_request_is_not_used(self):
        checkpoint = self.killed(lambda message: message.kind == "checkpoint" and message.value["done"] == "chunk")
        self.assertIsNone(self.finished({**checkpoint, "asked": "another"})["resumed_from"])
        self.assertIsNone(self.finished("nonsense")["resumed_from"])

    def test_tasks_with_the_same_document_do_not_meet(self):
        runs = [self.node.run("ingest", self.payload(), inference_params={"chunk_size": size}) for size in (200, 900)]
        left = set(runs)
        while left:
            message = self.node.until(lambda message: message.kind in ("done", "failed"))
            self.assertEqual(message.kind, "done", message)
            left.discard(message.header["run"])
        numbers = [row[1] for row in self.rows()]
        self.assertEqual(numbers, list(range(len(numbers))))


class Downloads(Case):
    def setUp(self) -> None:
        super().setUp()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def url(self, path: str) -> Dict[str, str]:
        return {"url": "http://127.0.0.1:%d/%s" % (self.server.server_address[1], path)}

    def test_a_page_is_fetched_and_read_by_its_declared_type(self):
        result = self.ingest(self.url("page"))
        self.assertEqual((result["media_type"], result["title"]), ("text/html", "The Guide"))

    def test_what_may_come_later_is_retryable_and_the_rest_is_not(self):
        end = self.refused(self.url("429"), "retryable")
        self.assertEqual((end["code"], end["retry_after"]), ("DOWNLOAD_FAILED", 7.0))
        self.assertGreater(self.refused(self.url("503"), "retryable")["retry_after"], 60)
        self.assertIsNone(self.refused(self.url("500"), "retryable")["retry_after"])
        self.refused(self.url("short"), "retryable")
        for path, code in (("404", "FILE_NOT_FOUND"), ("410", "FILE_NOT_FOUND"), ("403", "DOWNLOAD_REFUSED")):
            self.assertEqual(self.refused(self.url(path))["code"], code)
        self.assertEqual(self.refused(self.url("page"), max_bytes=20)["code"], "FILE_TOO_LARGE")
        self.refused({"url": "http://127.0.0.1:1/nobody"}, "retryable")
        self.assertEqual(self.refused({"url": "http://["})["code"], "PAYLOAD_INVALID")


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.strip("/")
        body = HTML.encode()
        self.send_response(int(path) if path.isdigit() else 200)
        later = {"429": "7", "503": "Fri, 01 Jan 2100 00:00:00 GMT"}.get(path)
        if later:
            self.send_header("Retry-After", later)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body) + (100 if path == "short" else 0)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Not into the report of the tests."""


if __name__ == "__main__":
    unittest.main()
