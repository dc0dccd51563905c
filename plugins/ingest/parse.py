"""Turns bytes into titled blocks of text, one way a media type."""

import codecs
import importlib.util
import io
import os
import re
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional

from windlass import PermanentError

from .chunks import Block
from .html_text import HtmlText
from .source import Document
from .state import Progress

_BY_EXTENSION = {
    ".pdf": "application/pdf",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".txt": "text/plain",
}

# What people most often send under a wrong name; anything else binary is found by its control characters.
_MAGIC = {
    b"PK\x03\x04": "a ZIP archive or an Office document",
    b"\xd0\xcf\x11\xe0": "an old or an encrypted Office document",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"\x1f\x8b": "a gzip archive",
    b"\x7fELF": "a program",
}

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*\Z")
_FENCE = re.compile(r"[ ]{0,3}(```+|~~~+)")
_UNDERLINE = re.compile(r"[ ]{0,3}(=+|-+)[ \t]*\Z")
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)


@dataclass
class Parsed:
    title: str
    media_type: str
    blocks: List[Block]
    pages: Optional[int] = None
    characters: int = field(init=False)

    def __post_init__(self) -> None:
        self.title = _storable(self.title)
        blocks = (Block(_storable(block.heading), _storable(block.text)) for block in self.blocks)
        self.blocks = [block for block in blocks if block.text.strip()]
        self.characters = sum(len(block.text) for block in self.blocks)


def _storable(text: str) -> str:
    """Fonts of damaged PDFs give halves of characters, which no database takes."""
    return text.encode("utf-8", "replace").decode()


def parse(document: Document, progress: Progress) -> Parsed:
    media_type = media_type_of(document)
    return _PARSERS[media_type](document, progress)


def media_type_of(document: Document) -> str:
    """By content where it says so itself, else by name, else by what a server said; never against the content."""
    head = document.data[:1024].lstrip()
    named = _BY_EXTENSION.get(os.path.splitext(document.name.lower())[1])
    if b"%PDF-" in head:
        if named not in (None, "application/pdf"):
            raise _mismatch(document, "a PDF")
        return "application/pdf"
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            raise _mismatch(document, what)
    if named == "application/pdf":
        raise _mismatch(document, "no PDF: it has no %PDF- header")
    if named:
        return named
    if head[:15].lower().startswith((b"<!doctype html", b"<html")):
        return "text/html"
    return document.media_type if document.media_type in _PARSERS else "text/plain"


def _mismatch(document: Document, what: str) -> PermanentError:
    return PermanentError("%s is %s" % (document.name, what), "FILE_TYPE_MISMATCH")


def _decode(document: Document) -> str:
    data = document.data
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if b"\0" in data:
        raise _mismatch(document, "no text: it holds NUL bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode(_declared_encoding(data), "replace")
    strange = sum(1 for char in text[:65536] if ord(char) < 32 and char not in "\t\n\r\f")
    if strange > len(text[:65536]) // 100:
        raise _mismatch(document, "no text: it is full of control characters")
    return text


def _declared_encoding(data: bytes) -> str:
    declared = _CHARSET.search(data[:2048])
    try:
        return codecs.lookup(declared.group(1).decode()).name if declared else "cp1252"
    except LookupError:
        return "cp1252"


def _parse_text(document: Document, progress: Progress) -> Parsed:
    text = _decode(document).replace("\r\n", "\n").replace("\r", "\n")
    progress.within(1.0)
    return Parsed(document.name, "text/plain", [Block("", text)])


def _parse_markdown(document: Document, progress: Progress) -> Parsed:
    lines = _decode(document).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    outline, blocks, texts, fence, title = Outline(), [], [], "", ""  # type: Outline, List[Block], List[str], str, str
    for number, line in enumerate(lines):
        if number % 1000 == 0:
            progress.within(number / len(lines))
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark.group(1)
        heading = None if fence or mark else _heading(line, texts)
        if heading is None:
            texts.append(line)
            continue
        level, name = heading
        # The heading belongs to the text below it: it goes along with each of its chunks.
        blocks.append(Block(outline.path, "\n".join(texts).strip("\n")))
        texts = []
        outline.enter(level, name)
        title = title or name
    blocks.append(Block(outline.path, "\n".join(texts).strip("\n")))
    return Parsed(title or document.name, "text/markdown", blocks)


def _heading(line: str, above: List[str]) -> Optional[tuple]:
    """`# Heading`, or a line of text that this line underlines."""
    hashes = _HEADING.match(line)
    if hashes:
        return len(hashes.group(1)), hashes.group(2)
    if _UNDERLINE.match(line) and above and above[-1].strip() and (len(above) < 2 or not above[-2].strip()):
        return (1 if line.strip()[0] == "=" else 2), above.pop().strip()
    return None


class Outline:
    """The headings above the present place."""

    def __init__(self) -> None:
        self._names: Dict[int, str] = {}

    def enter(self, level: int, name: str) -> None:
        self._names = {depth: text for depth, text in self._names.items() if depth < level}
        self._names[level] = name

    @property
    def path(self) -> str:
        return " > ".join(self._names[level] for level in sorted(self._names))


def _parse_html(document: Document, progress: Progress) -> Parsed:
    text, step = _decode(document), 64 * 1024
    parser = HtmlText()
    outline, blocks = Outline(), []  # type: Outline, List[Block]
    for at in range(0, len(text), step):
        progress.within(at / len(text))
        parser.feed(text[at : at + step])
    parser.close()
    for level, part in parser.parts():
        if level:
            outline.enter(level, part)
        else:
            blocks.append(Block(outline.path, part))
    if not blocks and parser.headings:
        blocks.append(Block("", "\n".join(parser.headings)))
    return Parsed(parser.title or document.name, "text/html", blocks)


def _parse_pdf(document: Document, progress: Progress) -> Parsed:
    if importlib.util.find_spec("pypdf") is None:
        raise PermanentError(
            "reading %s takes a library that this Python lacks: pip install pypdf" % document.name, "PDF_SUPPORT_MISSING"
        )
    from pypdf import PdfReader  # here: the other formats must work without it

    try:
        reader = PdfReader(io.BytesIO(document.data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise PermanentError("%s is protected by a password" % document.name, "FILE_ENCRYPTED")
        title = str((reader.metadata or {}).get("/Title") or "")
        blocks, total = [], len(reader.pages)
        for number, page in enumerate(reader.pages, 1):
            blocks.append(Block("Page %d" % number, page.extract_text() or ""))
            progress.within(number / total, "page %d of %d" % (number, total))
    except (PermanentError, MemoryError):
        raise
    except ImportError as error:
        # Files with AES encryption take one more library.
        raise PermanentError("%s: %s" % (document.name, error), "PDF_SUPPORT_MISSING") from None
    except Exception as error:  # pypdf raises whatever a damaged file leads it to
        raise PermanentError("%s is damaged: %s" % (document.name, error), "PDF_BROKEN") from error
    return Parsed(title or document.name, "application/pdf", blocks, pages=total)


_PARSERS: Dict[str, Callable[[Document, Progress], Parsed]] = {
    "application/pdf": _parse_pdf,
    "text/html": _parse_html,
    "text/markdown": _parse_markdown,
    "text/plain": _parse_text,
}
