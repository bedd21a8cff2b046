"""Guides as sessions: the console blocks of a Markdown file, and a shell that runs them in order.

A block is fenced with ```console. A line that begins with `$ ` is a command, and so are the lines
behind it that it goes on with (after a backslash, or beginning with `> `); the other lines are what
it prints. `…` in them stands for anything; a line of nothing else for any number of lines.

What is different each time has to be there, but not with the same value: addresses, identifiers,
keys, times, sizes. Where a guide uses such a value again, in a command or in an output, it is the
one of this run that is meant.

A block whose fence names a file (```json eu.json) is that file. A block that cannot run in a test has a comment in front of it that says why:

    <!-- not run by tests: needs two machines -->
"""

import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import packs
import ron

COMMAND_S = 20 * ron.SLOW
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

MARKER = re.compile(r"<!-- not run by tests: (.+?) -->")
NUMBERS = re.compile(r"<!-- numbers differ in tests: (.+?) -->")
# What a command says when it fails, as `ron` does and as the guide then shows.
COMPLAINT = re.compile(r"ron(?: [a-z]+)*: ")

# Who has an object is known a moment after it was stored: such a question may be asked again.
QUESTION = re.compile(r"ron (resolve|providers) |curl -s [^;>]*/(resolve|providers)/")

# Kinds of what is different each time. Those that are captured by a name are remembered.
VOLATILE = [(kind, re.compile(pattern)) for kind, pattern in (
    ("address", r"b3:[0-9a-f]{64}"),
    ("hash", r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])"),
    ("ulid", r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b"),
    ("-time", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"),
    ("-date", r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"),
    ("signature", r"[A-Za-z0-9+/]{80,}={0,2}"),
    ("vkey", r"ron-registry/[0-9a-f]{16}\+[0-9a-f]{8}\+[A-Za-z0-9+/]+={0,2}"),
    ("key", r"[A-Za-z0-9+/]{43}="),
    ("-size", r"\b\d+(?:\.\d+)? ?(?:B|KiB|MiB|GiB)(?![A-Za-z])"),
    ("-duration", r"\b(?:\d+(?:\.\d+)?(?:ms|us|s|m|h))+\b"),
    ("id", r"\bk?(?=[0-9a-f]*\d)[0-9a-f]{16,32}\b"),
    ("-fingerprint", r"\b(?=[0-9a-f]*\d)[0-9a-f]{8}\b"),
    ("-fraction", r"(?<![\w.])\d+\.\d+(?![\w.])"),
    ("-moment", r"\b1[0-9]{12}\b"),
)]
NUMBERS_TOO = [*(each for each in VOLATILE if each[0] != "-fraction"),
               ("-number", re.compile(r"\d+(?:\.\d+)?"))]


@dataclasses.dataclass
class Command:
    line: int
    text: str
    shown: list

    def may_fail(self):
        return any(COMPLAINT.match(line) for line in self.shown) or self.text.startswith("ron diff")

    def is_question(self):
        return bool(QUESTION.match(self.text)) and " -X " not in self.text

    def is_server(self):
        return self.text.rstrip().endswith("&")


@dataclasses.dataclass
class Block:
    line: int
    commands: list
    not_run: str = ""  # why, or empty
    numbers_differ: bool = False
    file: str = ""  # the block is this file
    text: str = ""


def blocks_of(text):
    """The console blocks and files of a guide, in order."""
    found, lines, before, at = [], text.splitlines(), "", 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.strip() and not line.startswith("```"):
            before = line
            continue
        if not line.startswith("```"):
            continue
        begin = at
        while not lines[at].startswith("```"):
            at += 1
        if line.strip() == "```console":
            marked, numbers = MARKER.search(before), NUMBERS.search(before)
            found.append(Block(begin, commands_of(lines[begin:at], begin + 1),
                               marked[1] if marked else "", bool(numbers)))
        elif len(named := line.removeprefix("```").split()) == 2:
            found.append(Block(begin, [], file=named[1], text="\n".join(lines[begin:at]) + "\n"))
        at += 1
        before = ""
    return found


def commands_of(lines, first):
    commands, goes_on = [], False
    for number, line in enumerate(lines, first):
        if line.startswith("$ "):
            commands.append(Command(number, line[2:], []))
        elif goes_on or (commands and line.startswith("> ") and not commands[-1].shown):
            commands[-1].text += "\n" + line.removeprefix("> ")
        elif commands:
            commands[-1].shown.append(line)
        else:
            raise AssertionError(f"line {number}: a console block begins with a command")
        goes_on = bool(commands) and not commands[-1].shown and commands[-1].text.endswith("\\")
    return commands


def pieces(line, kinds):
    """The line as [(kind or None, text)]."""
    parts = [(None, line)]
    for kind, pattern in kinds:
        split = []
        for known, text in parts:
            if known is not None:
                split.append((known, text))
                continue
            at = 0
            for match in pattern.finditer(text):
                split += [(None, text[at:match.start()]), (kind, match[0])]
                at = match.end()
            split.append((None, text[at:]))
        parts = [(known, text) for known, text in split if text or known]
    return parts


class Values:
    """What the values of a guide are in this run."""

    def __init__(self):
        self.actual = {}

    def replace(self, text):
        for shown, actual in self.actual.items():
            text = text.replace(shown, actual)
        return text

    def line_matches(self, shown, actual, kinds):
        if "…" in shown:
            parts = []
            for part in shown.split("…"):
                parts.append("".join(".+?" if kind else re.escape(text)
                                     for kind, text in pieces(self.replace(part), kinds)))
            return re.fullmatch(".*".join(parts), actual) is not None
        expected, got = pieces(shown, kinds), pieces(actual, kinds)
        if [kind for kind, _ in expected] != [kind for kind, _ in got]:
            return shown == actual
        learned = {}
        for (kind, one), (_, other) in zip(expected, got):
            if kind is None and one != other:
                return False
            if kind is not None and not kind.startswith("-"):
                if self.actual.get(one, other) != other:
                    return False
                learned[one] = other
        self.actual.update(learned)
        return True

    def matches(self, shown, actual, kinds):
        """Whether the lines that came are those that are shown; `…` alone is any number of them.
        What is listed in the order of identifiers comes in another order each time."""
        known = dict(self.actual)
        if self.matches_in_order(shown, actual, kinds):
            return True
        self.actual = known
        left = [line.rstrip() for line in actual]
        if len(left) != len(shown) or "…" in shown:
            return False
        for line in shown:
            found = next((each for each in left if self.line_matches(line.rstrip(), each, kinds)), None)
            if found is None:
                return False
            left.remove(found)
        return True

    def matches_in_order(self, shown, actual, kinds):
        shown = [line.rstrip() for line in shown]
        actual = [line.rstrip() for line in actual]
        while shown and not shown[-1]:
            shown.pop()
        while actual and not actual[-1]:
            actual.pop()
        at = 0
        for number, line in enumerate(shown):
            if line == "…":
                following = shown[number + 1:number + 2]
                if not following:
                    return True
                while at < len(actual) and not self.line_matches(following[0], actual[at], kinds):
                    at += 1
                continue
            if at >= len(actual) or not self.line_matches(line, actual[at], kinds):
                return False
            at += 1
        return at == len(actual)


class Shell:
    """A shell with a network and processes of its own, in an empty directory. Everything that it
    started ends with it."""

    def __init__(self, home):
        self.home = pathlib.Path(home)
        self.work = self.home / "work"
        self.notes = self.home / "notes"
        for folder in (self.work, self.notes, self.home / "bin"):
            folder.mkdir()
        (self.home / "bin/ron").symlink_to(ron.BINARY)
        shutil.copy(REPOSITORY / "LICENSE", self.work)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RON_")}
        environment.update(PATH=f"{self.home}/bin:{environment['PATH']}", HOME=str(self.home),
                           XDG_STATE_HOME=str(self.home / "state"), LC_ALL="C.UTF-8")
        namespaces = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if os.geteuid() != 0:
            namespaces.insert(1, "--map-root-user")
        self.process = subprocess.Popen([*namespaces, "bash", "--norc", "--noprofile"], cwd=self.work,
                                        env=environment, stdin=subprocess.PIPE, text=True,
                                        preexec_fn=ron.die_with_parent)
        self.count = 0
        self.say("ip link set lo up; mount -t tmpfs none /run; set -m")

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stand_in(self, text):
        """What a test does in place of a command that builds or downloads."""
        if "make run" in text:
            return "ron up --set edge.packs_dir=ron-data/maps &"
        if text == "make demo-map":
            (self.work / "ron-data/maps").mkdir(parents=True, exist_ok=True)
            (self.work / "ron-data/maps/world.pmtiles").write_bytes(packs.small_world())
            return "true"
        return text

    def start(self, text):
        """Begins a command; the files with its output and its exit code."""
        self.count += 1
        script = self.notes / f"{self.count}.sh"
        output, code = script.with_suffix(".out"), script.with_suffix(".code")
        script.write_text(self.stand_in(text) + "\n")
        self.say(f". {script} > {output} 2>&1 < /dev/null; echo $? > {code}.new; mv {code}.new {code}")
        return output, code

    def run(self, command, values):
        """(exit code, lines of output)"""
        output, code = self.start(values.replace(command.text))
        try:
            ron.wait_until(f"the end of: {command.text}", code.exists, COMMAND_S)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{output.read_text(errors='replace')}") from None
        return int(code.read_text()), output.read_text(errors="replace").splitlines()

    def serve(self, command, values):
        """Starts a server and waits for the lines that the guide shows of it."""
        output, _ = self.start(values.replace(command.text))

        def said():
            lines = output.read_text(errors="replace").splitlines() if output.exists() else []
            return all(line in lines for line in command.shown)

        end = time.monotonic() + COMMAND_S
        while not said():
            if time.monotonic() > end:
                raise AssertionError(f"{command.text}: {output.read_text(errors='replace')}")
            time.sleep(0.02)
