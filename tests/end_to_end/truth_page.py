"""What a page says, read by nothing of the program: its sentences with their ids and values, and its tables."""

import html.parser
import json
import re

NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
UNCLOSED = {"meta", "br"}


def number(text):
    """The one number of a value: 1,234 or 12 % or -0.4."""
    found = NUMBER.findall(text)
    assert len(found) == 1, text
    return float(found[0].replace(",", "")) * (-1 if text.startswith("-") else 1)


def percent(share):
    return f"{100 * share:.{1 if share < 0.0995 else 0}f} %"


def rounded(value, decimals):
    return f"{value:.{decimals}f}"


def counted(count, one):
    return f"{count:,} {one}{'' if count == 1 else 's'}"


def within(low, high):
    return lambda value: low <= number(value) <= high


def bounds(words):
    """Of a bin: 3, 4-7 or 20+."""
    low, _, high = words.removesuffix("+").partition("-")
    return int(low), None if words.endswith("+") else int(high or low)


class Sentence:
    def __init__(self, attributes, place):
        self.id = attributes["data-id"]
        self.values = json.loads(attributes.get("data-values", "[]"))
        self.is_estimate = "data-estimate" in attributes
        self.place = place
        self.text = ""

    def unexplained(self):
        """The numbers of the text that are in none of the values."""
        known = {number for value in self.values for number in NUMBER.findall(value)}
        return [number for number in NUMBER.findall(self.text) if number not in known]

    def __repr__(self):
        return f"{self.id} in {self.place}: {self.text!r} with {self.values}"


class Table:
    def __init__(self):
        self.columns, self.rows = [], []

    def records(self):
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class Page(html.parser.HTMLParser):
    """Sentences in their order; tables by their id, or by the figure whose twin they are; what has no id though it should."""

    def __init__(self, text):
        super().__init__()
        self.sentences, self.tables, self.unnamed = [], {}, []
        self.open, self.section, self.figure, self.cell = [], "top", "", None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag in UNCLOSED:
            return
        attributes = dict(attributes)
        if tag == "section":
            self.section = attributes["id"]
        elif tag == "article":
            self.figure = attributes.get("id", "").removeprefix("figure-")
        elif tag == "table":
            self.table = self.tables[attributes.get("id") or self.figure] = Table()
        elif tag == "tr":
            self.row = []
        elif tag in ("th", "td"):
            self.cell = ""
        said = Sentence(attributes, f"{self.section} {self.figure}".strip()) if "data-id" in attributes else None
        if said:
            self.sentences.append(said)
        self.open.append((tag, said))

    def handle_startendtag(self, tag, attributes):
        pass  # within pictures

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data
        said = next((said for _, said in self.open if said), None)
        tags = {tag for tag, _ in self.open}
        if said:
            said.text += data
        elif data.strip() and tags & {"p", "li"} and not tags & {"nav", "b"}:
            self.unnamed.append(data)

    def handle_endtag(self, tag):
        while self.open.pop()[0] != tag:
            pass
        if tag in ("th", "td"):
            self.row.append(self.cell)
            self.cell = None
        elif tag == "tr" and self.open[-1][0] == "thead":
            self.table.columns = self.row
        elif tag == "tr":
            self.table.rows.append(self.row)
        elif tag == "article":
            self.figure = ""
