"""README.md and docs/*.md do what they say: each guide's console blocks run in order, in an empty
directory and a network of its own, and print what the guide shows."""

import pathlib
import shutil
import tempfile
import time
import unittest

import guides
import ron

ROOT = guides.REPOSITORY
MOST_MARKED = 0.35  # of all blocks: a guide that is not run is not known to be true


def titles():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


class Guides(unittest.TestCase):
    ran = 0
    marked = 0

    @classmethod
    def tearDownClass(cls):
        print(f"guides: {cls.ran} blocks ran, {cls.marked} are marked as not run")

    def follow(self, path):
        blocks = guides.blocks_of(path.read_text())
        if all(block.not_run or block.file for block in blocks):
            Guides.marked += sum(bool(block.not_run) for block in blocks)
            return
        home = tempfile.mkdtemp(prefix="ron-guide-")
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        shell = guides.Shell(home)
        self.addCleanup(shell.close)
        values = guides.Values()
        for block in blocks:
            if block.not_run:
                Guides.marked += 1
                continue
            if block.file:
                (shell.work / block.file).write_text(values.replace(block.text))
            for command in block.commands:
                self.check(path, shell, values, block, command)
            Guides.ran += not block.file

    def check(self, path, shell, values, block, command):
        where = f"{path.relative_to(ROOT)}:{command.line}: {command.text}\n"
        if shell.stand_in(command.text).rstrip().endswith("&"):
            shell.serve(command, values)
            return
        kinds = guides.NUMBERS_TOO if block.numbers_differ else guides.VOLATILE
        end = time.monotonic() + ron.REPLY_S
        code, lines = shell.run(command, values)
        while command.is_question() and not values.matches(command.shown, lines, kinds):
            if time.monotonic() > end:
                break
            time.sleep(0.1)
            code, lines = shell.run(command, values)
        printed = "\n".join(lines)
        if code != 0 and not command.may_fail():
            self.fail(f"{where}exit code {code}, which the guide does not say\n{printed}")
        if command.shown and not values.matches(command.shown, lines, kinds):
            shown = "\n".join(command.shown)
            self.fail(f"{where}--- shown\n{shown}\n--- printed\n{printed}")


def case(path):
    return lambda self: self.follow(path)


for each in titles():
    setattr(Guides, "test_" + each.stem.lower().replace("-", "_"), case(each))


class Rules(unittest.TestCase):
    """What the suite itself relies on."""

    def test_most_blocks_run(self):
        blocks = [block for path in titles() for block in guides.blocks_of(path.read_text())
                  if not block.file]
        marked = [block for block in blocks if block.not_run]
        self.assertGreater(len(blocks), 50)
        self.assertLess(len(marked), MOST_MARKED * len(blocks), [block.not_run for block in marked])

    def test_a_block_is_commands_and_what_they_print(self):
        block, marked = guides.blocks_of(
            "```console\n$ one \\\n  two\nshown\n$ f() {\n> x\n> }\n$ server &\nlistening\n```\n"
            "<!-- not run by tests: needs the moon -->\n```console\n$ fly\n```\n```\nnone\n```\n")
        self.assertEqual([(each.text, each.shown) for each in block.commands],
                         [("one \\\n  two", ["shown"]), ("f() {\nx\n}", []),
                          ("server &", ["listening"])])
        self.assertEqual((block.not_run, marked.not_run), ("", "needs the moon"))

    def test_values_are_those_of_the_run(self):
        values, kinds = guides.Values(), guides.VOLATILE
        shown, actual = "b3:" + "a1" * 32, "b3:" + "b2" * 32
        self.assertTrue(values.matches([f"d@1  {shown}  (2 files, 363 B sent)"],
                                       [f"d@1  {actual}  (2 files, 1.50 KiB sent)"], kinds))
        self.assertEqual(values.replace(f"ron rm {shown}"), f"ron rm {actual}")
        self.assertFalse(values.matches([shown], ["b3:" + "c3" * 32], kinds), "it is another by now")
        self.assertTrue(values.matches(["a", "b"], ["b", "a"], kinds))
        self.assertFalse(values.matches(["2 files"], ["3 files"], kinds))
        self.assertFalse(values.matches(["a"], ["a", "b"], kinds))
        self.assertTrue(values.matches(["a", "…", "d"], ["a", "b", "c", "d"], kinds))
        self.assertTrue(values.matches(["free: …, done"], ["free: 76, done"], kinds))
        self.assertFalse(values.matches(["free: …, done"], ["free: 76, failed"], kinds))


if __name__ == "__main__":
    unittest.main()
