"""Pages of HTML, read as a browser reads them."""

import base64
import gzip
from html.parser import HTMLParser


def unpacked(text):
    """Lines that a page carries compressed."""
    return gzip.decompress(base64.b64decode(text)).decode().split("\x1e")


class Page(HTMLParser):
    """Texts of headings, paragraphs of the summary, cells of tables, and every tag with its attributes."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.headings, self.summary, self.tables = [], [], [], []
        self._open, self._in_summary = None, False
        self._rest, self._names, self._is_names = {}, "", False
        self.feed(text)
        for table, rest in self._rest.items():  # as pressing the button does
            names = unpacked(self._names)
            for line in unpacked(rest):
                place, *cells = line.split("\x1f")
                self.tables[table].append([names[int(place)], *cells])

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in_summary |= dict(attrs).get("class") == "summary"
        if tag == "table":
            if "data-rest" in dict(attrs):
                self._rest[len(self.tables)] = dict(attrs)["data-rest"]
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag == "span":
            return
        self._is_names = dict(attrs).get("id") == "names"
        self._open = {"h1": "h", "h2": "h", "h3": "h", "td": "c", "th": "c", "p": "p", "button": "c"}.get(tag)
        if self._open == "h":
            self.headings.append("")
        if self._open == "p" and self._in_summary:
            self.summary.append("")

    def handle_endtag(self, tag):
        if tag == "span":
            return
        self._open = None if tag != "button" else "c"
        self._in_summary &= tag != "div"

    def handle_data(self, data):
        self._names += data if self._is_names else ""
        if self._open == "h":
            self.headings[-1] += data
        if self._open == "c":
            self.tables[-1][-1][-1] += data.strip()
        if self._open == "p" and self._in_summary:
            self.summary[-1] += data
