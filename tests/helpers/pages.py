"""Pages of HTML, read as a browser reads them."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Texts of headings, paragraphs of the summary, cells of tables, and every tag with its attributes."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.headings, self.summary, self.tables = [], [], [], []
        self._open, self._in_summary = None, False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in_summary |= dict(attrs).get("class") == "summary"
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag == "span":
            return
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
        if self._open == "h":
            self.headings[-1] += data
        if self._open == "c":
            self.tables[-1][-1][-1] += data.strip()
        if self._open == "p" and self._in_summary:
            self.summary[-1] += data
