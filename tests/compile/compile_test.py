#!/usr/bin/env python3
"""Mistakes that the types are there to prevent: each fixture fails to compile, for its own reason.

usage: compile_test.py COMPILER SOURCE_DIRECTORY

The first line of a fixture says what is expected: `// compiles`, or `// fails: PATTERN` with what
the compiler must say.
"""
import pathlib
import re
import subprocess
import sys


def check(compiler, sources, fixture):
    """None if the fixture behaves as its first line says, else what is wrong."""
    expected = fixture.read_text().splitlines()[0]
    done = subprocess.run(
        [compiler, "-std=c++23", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", sources, str(fixture)],
        capture_output=True, text=True)
    if expected == "// compiles":
        return None if done.returncode == 0 else f"does not compile:\n{done.stderr}"
    pattern = re.fullmatch(r"// fails: (.+)", expected)
    if not pattern:
        return f"the first line is neither '// compiles' nor '// fails: PATTERN': {expected}"
    if done.returncode == 0:
        return "compiles"
    errors = "\n".join(line for line in done.stderr.splitlines() if " error: " in line)
    return None if re.search(pattern[1], errors) else f"fails for another reason:\n{errors}"


def main():
    compiler, sources = sys.argv[1:]
    fixtures = sorted((pathlib.Path(__file__).parent / "fixtures").glob("*.cc"))
    assert fixtures, "no fixtures"
    wrong = {fixture.name: why for fixture in fixtures if (why := check(compiler, sources, fixture))}
    for name, why in wrong.items():
        print(f"{name}: {why}", file=sys.stderr)
    print(f"{len(fixtures) - len(wrong)} of {len(fixtures)} fixtures as expected")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
