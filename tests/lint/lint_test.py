#!/usr/bin/env python3
"""Shows that every lint can fail, and that none fails on clean code.

The fixtures mark each line that must be reported with `expect: rule`; what the lints report is
compared with the marks, line by line, in both directions.
"""

import pathlib
import re
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FIXTURES = HERE / "fixtures"
EXPECT = re.compile(r"expect: ([a-z-]+)")
FINDING = re.compile(r"^([^:\n]+):(\d+):\d+: error: .*\[([^\],]+)", re.MULTILINE)


def marks(folder):
    """{(file, line, rule)} of every mark below a folder."""
    found = set()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path != folder / "README.md":
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for rule in EXPECT.findall(line):
                    found.add((path.relative_to(folder).as_posix(), number, rule))
    return found


def lint(root):
    """({(file, line, rule)}, exit code) of tools/lint over a tree."""
    done = subprocess.run([ROOT / "tools/lint", "--root", root], capture_output=True, text=True)
    found = set()
    for line in done.stdout.splitlines():
        path, number, rule, sentence = line.split(":", 3)
        assert len(sentence.split()) > 4, f"a finding says what to do: {line}"
        found.add((path, int(number), rule.strip()))
    return found, done.returncode


def tidy(path):
    """({(file, line, check)}, exit code) of clang-tidy with our configuration over one fixture."""
    config = f"--config-file={ROOT}/.clang-tidy"
    command = ["clang-tidy-19", config, "--quiet", path, "--", "-std=c++23"]
    done = subprocess.run(command, capture_output=True, text=True)
    found = set()
    for match in FINDING.finditer(done.stdout):
        found.add((pathlib.Path(match[1]).name, int(match[2]), match[3]))
    return found, done.returncode


class HouseRules(unittest.TestCase):
    def test_reports_exactly_the_marked_lines(self):
        expected = marks(FIXTURES / "tree")
        found, code = lint(FIXTURES / "tree")
        self.assertEqual(code, 1)
        self.assertEqual(sorted(expected - found), [], "marked, not reported")
        self.assertEqual(sorted(found - expected), [], "reported, not marked")

    def test_every_rule_has_a_fixture(self):
        command = [ROOT / "tools/lint", "--rules"]
        listed = subprocess.run(command, capture_output=True, text=True).stdout
        rules = {line.split(":")[0] for line in listed.splitlines()}
        marked = {rule for _, _, rule in marks(FIXTURES / "tree")}
        generated = {"file-length", "line-length", "function-length"}
        self.assertEqual(rules, marked | generated)

    def lint_one(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "src").mkdir()
            (root / "src/sample.cc").write_text(text)
            return lint(root)

    def test_line_length(self):
        self.assertEqual(self.lint_one("//" + "x" * 98 + "\n"), (set(), 0))
        found, code = self.lint_one("\n//" + "x" * 99 + "\n")
        self.assertEqual((found, code), ({("src/sample.cc", 2, "line-length")}, 1))

    def test_file_length(self):
        self.assertEqual(self.lint_one("\n" * 600), (set(), 0))
        found, code = self.lint_one("\n" * 601)
        self.assertEqual((found, code), ({("src/sample.cc", 601, "file-length")}, 1))

    def test_function_length(self):
        heads = [
            "void f() {",
            "template <class T>\nvoid f(T a) {",
            "struct S {\nint f(int a) const noexcept {",
            "namespace n {\nS::S(int a)\n: a_{a}, b_{1} {",
            "TEST(F, G) {",
        ]
        for head in heads:
            tail = "}\n" + ("};\n" if "struct" in head else "}\n" if "namespace" in head else "")
            self.assertEqual(self.lint_one(head + "\n" + "a();\n" * 78 + tail), (set(), 0), head)
            found, code = self.lint_one(head + "\n" + "a();\n" * 79 + tail)
            finding = ("src/sample.cc", head.count("\n") + 1, "function-length")
            self.assertEqual((found, code), ({finding}, 1), head)
        self.assertEqual(self.lint_one("struct S {\n" + "int a;\n" * 100 + "};\n"), (set(), 0))
        table = "const int kAll[] = {\n" + "1,\n" * 100 + "};\n"
        self.assertEqual(self.lint_one(table), (set(), 0))


class ClangTidy(unittest.TestCase):
    def test_reports_exactly_the_marked_lines(self):
        for path in sorted((FIXTURES / "tidy").glob("*.cc")):
            with self.subTest(path.name):
                expected = {mark for mark in marks(FIXTURES / "tidy") if mark[0] == path.name}
                found, code = tidy(path)
                self.assertEqual(sorted(expected - found), [], "marked, not reported")
                self.assertEqual(sorted(found - expected), [], "reported, not marked")
                self.assertEqual(code != 0, bool(expected))


if __name__ == "__main__":
    unittest.main()
