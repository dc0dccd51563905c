"""The text of an HTML page, as somebody would read it aloud."""

from html.parser import HTMLParser
from typing import Any, Iterator, List, Tuple

_SKIPPED = {"script", "style", "noscript", "template", "svg", "iframe", "object", "select", "textarea"}
_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "html", "li", "main", "nav", "ol", "p",
    "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul",
}  # fmt: skip


class HtmlText(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self._parts: List[Tuple[int, str]] = []
        self._text: List[str] = []
        self._level = 0
        self._skipped: List[str] = []
        self._in_title = False
        self._pre = 0

    @property
    def headings(self) -> List[str]:
        return [text for level, text in self._parts if level]

    def parts(self) -> Iterator[Tuple[int, str]]:
        """(level, heading) and (0, text), in the order of the page."""
        self._flush()
        yield from self._parts

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in _SKIPPED:
            self._skipped.append(tag)
        elif tag == "title" and not self.title:
            self._in_title = True
        elif tag in _HEADINGS:
            self._flush()
            self._level = _HEADINGS[tag]
        elif tag in ("td", "th"):
            self._text.append(" ")
        elif tag in _BLOCKS:
            self._text.append("\n")
            self._pre += tag == "pre"

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        # `<script/>` has no end tag that would follow.
        if tag not in _SKIPPED:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED:
            # Pages in the wild close what they never opened.
            if tag in self._skipped:
                del self._skipped[self._skipped.index(tag) :]
        elif tag == "title":
            self._in_title = False
        elif tag in _HEADINGS:
            self._flush()
        elif tag in _BLOCKS:
            self._text.append("\n")
            self._pre = max(0, self._pre - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = " ".join((self.title + data).split())
        elif not self._skipped:
            self._text.append(data if self._pre else _folded(data))

    def _flush(self) -> None:
        lines = [line.strip() if self._level else line.rstrip() for line in "".join(self._text).split("\n")]
        text = (" " if self._level else "\n").join(line for line in lines if line.strip()).strip()
        if text:
            self._parts.append((self._level, text))
        self._text, self._level = [], 0


def _folded(data: str) -> str:
    """White space as a browser shows it, with what separates words kept at both ends."""
    words = " ".join(data.split())
    if not words:
        return " " if data else ""
    return (" " if data[0].isspace() else "") + words + (" " if data[-1].isspace() else "")
