"""Cuts text into overlapping chunks, at the best place near the wanted size."""

from dataclasses import dataclass
from typing import Iterator, List, Tuple

# From the kindest place to cut to the least kind.
_BREAKS = ("\n\n", "\n", ". ", "? ", "! ", "; ", ", ", " ")


@dataclass(frozen=True)
class Block:
    """A run of text under one heading, or on one page."""

    heading: str
    text: str


@dataclass(frozen=True)
class Chunk:
    number: int
    heading: str
    text: str


def split(blocks: List[Block], size: int, overlap: int) -> List[Chunk]:
    chunks: List[Chunk] = []
    for heading, text in _joined(blocks):
        for piece in _pieces(text, size, overlap):
            chunks.append(Chunk(len(chunks), heading, piece))
    return chunks


def _joined(blocks: List[Block]) -> Iterator[Tuple[str, str]]:
    """Neighbours under the same heading are one text: or each paragraph would become a chunk."""
    heading, texts = "", []  # type: str, List[str]
    for block in blocks:
        if block.heading != heading and texts:
            yield heading, "\n\n".join(texts)
            texts = []
        heading = block.heading
        texts.append(block.text)
    if texts:
        yield heading, "\n\n".join(texts)


def _pieces(text: str, size: int, overlap: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = _end(text, start, size)
        piece = text[start:end].strip()
        if piece:
            yield piece
        if end >= len(text):
            return
        # Always forward, however large the overlap is against a short piece.
        start = max(start + 1, _word_start(text, end - overlap, end))


def _end(text: str, start: int, size: int) -> int:
    limit = start + size
    if limit >= len(text):
        return len(text)
    for mark in _BREAKS:
        at = text.rfind(mark, start + size // 2, limit)
        if at >= 0:
            return at + len(mark)
    return limit


def _word_start(text: str, at: int, end: int) -> int:
    space = text.find(" ", max(0, at), end)
    return space + 1 if 0 <= space < end - 1 else end if space >= 0 else max(0, at)
