"""docs/specification says where each requirement is fulfilled: every place it names must be there.

A place is a file and something in it, or a name in docs/generated (docs/specification/README.md has
the forms). A row without a place says `differs:` or `missing:`, and why. The specifications
themselves are not needed.

Run by ctest; by hand: specification_test.py, or specification_test.py --open for the rows that
differ or miss something.
"""
import dataclasses
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = "docs/specification"
# Each page and the number of its specification's last section.
SECTIONS = {"storage": 17, "gateway": 17, "index": 18, "registry": 17, "edge": 17}
HEADER = ["§", "what is asked", "where it is"]
VERDICTS = ("differs:", "missing:")
REASON_WORDS = 4
METRICS_SECTION = 9

SPAN = re.compile(r"`([^`]+)`")
METRIC = re.compile(r"(?P<name>[a-z][a-z0-9_]*)(?:\{(?P<labels>[a-z_,]+)\})?")
CHANNEL = re.compile(r"(?P<service>svc-[a-z]+) (?P<name>[a-z_]+)(?:\((?P<capacity>\d+)\))?")
MEMBER = re.compile(r"(?P<service>svc-[a-z]+) (?P<name>[a-z_-]+)")
KEY = re.compile(r"(?P<name>[a-z0-9_.\[\]]+)(?:=(?P<default>.+))?")


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def is_rule(cells):
    return all(cell and set(cell) <= set("-: ") for cell in cells)


def holds(text, symbol):
    """Whether the text has the symbol, and not as a part of a longer word."""
    return re.search(r"(?<!\w)" + re.escape(symbol) + r"(?!\w)", text) is not None


def python_class(text, name):
    found = re.search(rf"^class {re.escape(name)}\b.*?(?=^class |\Z)", text, re.M | re.S)
    return found.group() if found else ""


class Generated:
    """The names in docs/generated."""

    def __init__(self, root):
        self.metrics, self.keys, self.aliases, self.errors = {}, {}, set(), set()
        self.tasks, self.channels, self.locks = set(), {}, set()
        self._read_metrics(root / "docs/generated/metrics.md")
        self._read_keys(root / "docs/generated/config.md")
        self._read_errors(root / "docs/generated/errors.md")
        self._read_concurrency(root / "docs/generated/concurrency.md")

    @staticmethod
    def _rows(page):
        for line in page.read_text().splitlines():
            if line.startswith("|") and not is_rule(cells_of(line)):
                yield cells_of(line)

    def _read_metrics(self, page):
        for cells in self._rows(page):
            for name in SPAN.findall(cells[0]):
                self.metrics[name] = set(SPAN.findall(cells[2]))

    def _read_keys(self, page):
        for cells in self._rows(page):
            for name in SPAN.findall(cells[0]):
                self.keys[name] = cells[2].strip("`").strip('"')
        for line in page.read_text().splitlines():
            if line.startswith("- `"):
                self.aliases.add(SPAN.findall(line)[0])
            if "is another spelling of" in line:
                other, name = (each.removesuffix("X") for each in SPAN.findall(line)[:2])
                self.aliases |= {other + key.removeprefix(name) for key in self.keys
                                 if key.startswith(name)}

    def _read_errors(self, page):
        for cells in self._rows(page):
            self.errors.update(SPAN.findall(cells[1]))

    def _read_concurrency(self, page):
        service = kind = ""
        for line in page.read_text().splitlines():
            if line.startswith("## "):
                service = line[3:].strip()
            elif line.startswith("### "):
                kind = line[4:].strip()
            elif line.startswith("|"):
                self._take(service, kind, cells_of(line))

    def _take(self, service, kind, cells):
        if is_rule(cells) or cells[0] in ("kind", "name", "rank"):
            return
        if kind == "Tasks":
            self.tasks.add((service, cells[0]))
        elif kind == "Channels":
            self.channels[service, cells[0]] = cells[2]
        elif kind == "Locks":
            self.locks.add((service, cells[1]))


class Places:
    """Says what is wrong with a place; nothing if it is there."""

    def __init__(self, root):
        self.root = root
        self.generated = Generated(root)
        self.kinds = {"metric": self._metric, "key": self._key, "error": self._error,
                      "channel": self._channel, "task": self._task, "lock": self._lock}
        self._texts = {}

    def wrong(self, place):
        kind, _, rest = place.partition(" ")
        if kind in self.kinds:
            return self.kinds[kind](rest)
        path, colon, symbol = place.partition(":")
        if not colon or not symbol:
            return "is no place: write path:symbol, or a kind and a name"
        return self._symbol(path, symbol)

    def _text(self, path):
        if path not in self._texts:
            file = self.root / path
            self._texts[path] = file.read_text(errors="replace") if file.is_file() else None
        return self._texts[path]

    def _symbol(self, path, symbol):
        text = self._text(path)
        if text is None:
            return f"there is no file {path}"
        first, dot, second = symbol.partition(".")
        found = holds(text, symbol)
        if dot and path.endswith("_test.cc"):
            found = re.search(rf"\(\s*{re.escape(first)}\s*,\s*{re.escape(second)}\s*\)", text)
        elif dot and path.endswith(".py"):
            found = re.search(rf"^\s+def {re.escape(second)}\(", python_class(text, first), re.M)
        return None if found else f"{path} does not have {symbol}"

    def _metric(self, text):
        asked = METRIC.fullmatch(text)
        have = self.generated.metrics.get(asked["name"]) if asked else None
        if have is None:
            return "no such metric in docs/generated/metrics.md"
        lacking = set((asked["labels"] or "").split(",")) - have - {""}
        return f"the metric has no label {', '.join(sorted(lacking))}" if lacking else None

    def _key(self, text):
        asked = KEY.fullmatch(text)
        if asked and asked["default"] is None and asked["name"] in self.generated.aliases:
            return None
        default = self.generated.keys.get(asked["name"]) if asked else None
        if default is None:
            return "no such key in docs/generated/config.md"
        if asked["default"] not in (None, default):
            return f"the key's default is {default}"
        return None

    def _error(self, text):
        return None if text in self.generated.errors else "no such code in docs/generated/errors.md"

    def _channel(self, text):
        asked = CHANNEL.fullmatch(text)
        capacity = self.generated.channels.get((asked["service"], asked["name"])) if asked else None
        if capacity is None:
            return "no such channel in docs/generated/concurrency.md"
        if asked["capacity"] not in (None, capacity):
            return f"the channel's capacity is {capacity}"
        return None

    def _member(self, text, members, what):
        asked = MEMBER.fullmatch(text)
        if asked and (asked["service"], asked["name"]) in members:
            return None
        return f"no such {what} in docs/generated/concurrency.md"

    def _task(self, text):
        return self._member(text, self.generated.tasks, "task")

    def _lock(self, text):
        return self._member(text, self.generated.locks, "lock")


@dataclasses.dataclass
class Row:
    line: int
    section: str
    asked: str
    where: str

    @property
    def number(self):
        found = re.match(r"\d+", self.section)
        return int(found.group()) if found else None

    @property
    def is_open(self):
        return self.where.startswith(VERDICTS)


def rows_of(text):
    """The rows of a page's tables, and what is wrong with their form."""
    rows, wrong = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            continue
        cells = cells_of(line)
        if cells == HEADER or is_rule(cells):
            continue
        if len(cells) != len(HEADER):
            wrong.append((number, f"{len(cells)} columns, and not {len(HEADER)}"))
        else:
            rows.append(Row(number, *cells))
    return rows, wrong


def wrong_with_row(row, places):
    if row.number is None:
        yield "the first column is no section"
    if not row.asked:
        yield "nothing is asked"
    if not row.where:
        yield "it does not say where"
    spans = SPAN.findall(row.where)
    for place in spans:
        why = places.wrong(place)
        if why:
            yield f"`{place}`: {why}"
    if row.is_open:
        reason = SPAN.sub(" ", row.where.partition(":")[2])
        if len(re.findall(r"\w+", reason)) < REASON_WORDS:
            yield "it gives no reason"
    elif row.where and not spans:
        yield "it names no place"
    if row.number == METRICS_SECTION and not row.is_open:
        yield from wrong_with_metrics(row, spans, places)


def wrong_with_metrics(row, spans, places):
    """Each metric that is asked for is named as a place, and has the labels that are asked for."""
    named = {METRIC.match(span.removeprefix("metric "))["name"] for span in spans
             if METRIC.match(span.removeprefix("metric ")) and span.startswith("metric ")}
    for text in SPAN.findall(row.asked):
        asked = METRIC.fullmatch(text)
        if asked is None:
            yield f"`{text}` is no metric: in section {METRICS_SECTION} only metrics are code"
            continue
        if asked["name"] not in named:
            yield f"`{asked['name']}` is asked for and not named where it is"
        elif why := places.wrong("metric " + text):
            yield f"`{text}` is asked for: {why}"


def wrong_with_order(rows, last):
    numbers = [row.number for row in rows if row.number is not None]
    if numbers != sorted(numbers):
        yield 1, "the rows are not in the order of the sections"
    for number in sorted(set(range(1, last + 1)) - set(numbers)):
        yield 1, f"section {number} has no row"
    if not any(row.number == METRICS_SECTION and SPAN.search(row.asked) for row in rows):
        yield 1, "no metric is asked for"


def wrong_with_links(root):
    links = {f"{PAGES}/README.md": [f"{name}.md" for name in SECTIONS],
             "ARCHITECTURE.md": [f"{PAGES}/README.md"], "README.md": [f"{PAGES}/README.md"]}
    for page, targets in links.items():
        text = (root / page).read_text()
        for target in targets:
            if f"({target})" not in text:
                yield f"{page}:1: there is no link to {target}"


def findings(root, sections):
    """What is wrong, as `file:line: sentence`."""
    places = Places(root)
    for name, last in sections.items():
        path = f"{PAGES}/{name}.md"
        rows, wrong = rows_of((root / path).read_text())
        wrong += wrong_with_order(rows, last)
        for row in rows:
            wrong += [(row.line, why) for why in wrong_with_row(row, places)]
        yield from (f"{path}:{line}: {why}" for line, why in sorted(wrong))


class Specification(unittest.TestCase):
    def test_every_place_is_there_and_every_row_says_something(self):
        self.assertEqual(list(findings(ROOT, SECTIONS)), [])

    def test_the_pages_are_linked_and_there_are_no_others(self):
        self.assertEqual(list(wrong_with_links(ROOT)), [])
        self.assertEqual({page.stem for page in (ROOT / PAGES).iterdir()}, {*SECTIONS, "README"})


FIXTURE = {
    "src/a/a.cc": "void Core::run() {}\nconstexpr int kMost = 5;\n",
    "src/a/a_test.cc": "TEST(Core, RunsOnce) {}\n",
    "tests/e2e/test_a.py": "class One:\n    def test_x(self):\n        pass\n\n\n"
                           "class Two:\n    pass\n",
    "docs/generated/metrics.md": "| name | kind | labels | meaning |\n| --- | --- | --- | --- |\n"
                                 "| `asks_total` | counter | `service`, `op` | Asks. |\n",
    "docs/generated/config.md": "`a.b.X` is another spelling of `a.X`; giving both is an error.\n"
                                "- `a.rps`: `a.most`\n\n"
                                "| key | type | default |\n| --- | --- | --- |\n"
                                "| `a.most` | count | `512` |\n"
                                "| `a.wait` | duration | `\"5s\"` |\n",
    "docs/generated/errors.md": "| status | code | retry helps |\n| ---: | --- | --- |\n"
                                "| 429 | `Busy` | yes |\n",
    "docs/generated/concurrency.md":
        "## svc-a\n\n### Tasks\n\n| kind | count |\n| --- | --- |\n| worker | 2 |\n\n"
        "### Channels\n\n| name | kind | capacity |\n| --- | --- | ---: |\n"
        "| work | mpsc | 512 |\n\n"
        "### Locks\n\n| rank | name | guards |\n| ---: | --- | --- |\n| 1 | state_meta | it |\n",
}
GOOD = ("`src/a/a.cc:Core::run`", "`src/a/a.cc:kMost = 5`", "`src/a/a_test.cc:Core.RunsOnce`",
        "`tests/e2e/test_a.py:One.test_x`", "`tests/e2e/test_a.py:Two`", "`metric asks_total`",
        "`metric asks_total{op}`", "`key a.most`", "`key a.most=512`", "`key a.wait=5s`",
        "`key a.rps`", "`key a.b.most`", "`error Busy`", "`channel svc-a work`",
        "`channel svc-a work(512)`", "`task svc-a worker`", "`lock svc-a state_meta`",
        "differs: it is made in another way here", "missing: nobody has written it yet",
        "in time: `src/a/a.cc:kMost`")
WRONG = ("`src/a/b.cc:Core::run`", "`src/a/a.cc:Core::ru`", "`src/a/a.cc`", "`src/a/a.cc:`",
         "`src/a/a_test.cc:Core.RunsTwice`", "`src/a/a_test.cc:Other.RunsOnce`",
         "`tests/e2e/test_a.py:Two.test_x`", "`tests/e2e/test_a.py:One.test_`",
         "`metric ask_total`", "`metric asks_total{kind}`", "`key a.least`", "`key a.most=5`",
         "`key a.b.least`", "`error Full`", "`channel svc-a works`", "`channel svc-b work`",
         "`channel svc-a work(5)`", "`task svc-a work`", "`lock svc-a state`", "`asks_total`",
         "", "here and there", "differs:", "missing: soon", "differs: `src/a/a.cc:kMost`",
         "differs: it is made in another way by `src/a/a.cc:kLeast`")


class Checker(unittest.TestCase):
    """That the check can fail: each mistake alone, in a tree that is right otherwise."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ron-specification-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for path, text in FIXTURE.items():
            self.write(path, text)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def found(self, *rows, last=1):
        """What is found in a page of these rows and of one on metrics, which is right."""
        metrics = "| 9 | `asks_total{op}` | `metric asks_total` |"
        rest = [f"| {number} | x | `error Busy` |" for number in range(2, last + 1)]
        head = ["# a", "", "| § | what is asked | where it is |", "| --- | --- | --- |"]
        self.write(f"{PAGES}/a.md", "\n".join([*head, *rows, *rest, metrics, ""]))
        return list(findings(self.root, {"a": last}))

    def test_what_is_there_is_believed(self):
        for where in GOOD:
            with self.subTest(where):
                self.assertEqual(self.found(f"| 1 I-1 | it is so | {where} |"), [])

    def test_a_planted_mistake_is_found(self):
        for where in WRONG:
            with self.subTest(where):
                self.assertEqual(len(self.found(f"| 1 | it is so | {where} |")), 1)

    def test_each_row_has_its_columns(self):
        good = "| 1 | x | `error Busy` |"
        for row in ("| 1 | x | `error Busy` | more |", "| 1 | `error Busy` |",
                    "| 1 |  | `error Busy` |", "| one | x | `error Busy` |"):
            with self.subTest(row):
                self.assertEqual(len(self.found(row, good)), 1)

    def test_sections_are_complete_and_in_order(self):
        self.assertEqual(self.found("| 1 | x | `error Busy` |", last=8), [])
        self.assertEqual(len(self.found("| 2 | x | `error Busy` |", last=2)), 1)
        self.assertEqual(len(self.found("| 3 | x | `error Busy` |", "| 1 | x | `error Busy` |",
                                        last=3)), 1)

    def test_metrics_are_covered(self):
        self.assertEqual(self.found("| 1 | x | `error Busy` |", "| 9 | `gone_total` | missing: "
                                    "nothing counts it yet, sorry |"), [])
        for row in ("| 9 | `gone_total` | `error Busy` |", "| 9 | `asks_total` | `error Busy` |",
                    "| 9 | `asks_total{kind}` | `metric asks_total` |",
                    "| 9 | `Core::run` | `metric asks_total` |"):
            with self.subTest(row):
                self.assertEqual(len(self.found("| 1 | x | `error Busy` |", row)), 1)


def print_open():
    for name in SECTIONS:
        rows, _ = rows_of((ROOT / PAGES / f"{name}.md").read_text())
        still_open = [row for row in rows if row.is_open]
        print(f"{name}: {len(rows)} rows, {len(still_open)} of them open")
        for row in still_open:
            print(f"  {row.section}: {row.asked}\n      {row.where}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--open"]:
        print_open()
    else:
        unittest.main()
