"""What `make` targets install and configure: running needs less than testing, and testing and
benchmarks add theirs. Nothing is installed here.

Run by ctest; by hand: setup_test.py
"""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONLY_TESTS = {"libgtest-dev", "librapidcheck-dev", "libbenchmark-dev", "clang-tidy-19", "golang-go",
              "prometheus", "spin", "strace", "python3", "haproxy", "gdal-bin", "chromium"}
ONLY_BENCH = {"wrk"}
ONLY_DEMO = {"gdal-bin"}


def packages(group):
    listed = subprocess.run([ROOT / "tools/setup", "--list", group], capture_output=True, text=True,
                            check=True)
    return set(listed.stdout.split())


def commands_of(target, build):
    """What make would run in a tree where nothing was built yet."""
    done = subprocess.run(["make", "-n", target, f"BUILD={build}"], cwd=ROOT, capture_output=True,
                          text=True, check=True)
    return done.stdout


class Setup(unittest.TestCase):
    def test_running_needs_neither_the_tests_nor_the_peers_of_benchmarks(self):
        run = packages("run")
        self.assertLessEqual({"clang-19", "cmake", "librocksdb-dev", "nodejs", "npm"}, run)
        self.assertEqual(run & (ONLY_TESTS | ONLY_BENCH | ONLY_DEMO), set())
        self.assertEqual(packages("demo"), run | ONLY_DEMO)
        self.assertLess(run | ONLY_TESTS, packages("test"))
        self.assertLess(run | ONLY_BENCH, packages("bench"))
        self.assertEqual(packages("test") & ONLY_BENCH, set())
        self.assertEqual(packages("all"), packages("test") | packages("bench"))

    def test_an_unknown_group_is_an_error(self):
        done = subprocess.run([ROOT / "tools/setup", "frob"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("run, demo, test, bench", done.stderr)

    def test_targets_install_their_own_group(self):
        with tempfile.TemporaryDirectory(prefix="ron-setup-") as build:
            run = commands_of("run", build)
            self.assertIn("tools/setup run", run)
            self.assertIn("-DRON_TESTS=OFF", run)
            self.assertNotIn("tools/setup test", run)
            self.assertNotIn("tools/setup all", run)
            self.assertIn("tools/setup test", commands_of("test", build))
            self.assertIn("-DRON_TESTS=ON", commands_of("test", build))
            self.assertIn("tools/setup demo", commands_of("demo-map", build))
            bench = commands_of("bench", build)
            self.assertIn("tools/setup bench", bench)
            self.assertNotIn("tools/setup test", bench)

    def test_without_tests_the_build_knows_nothing_of_their_libraries(self):
        with tempfile.TemporaryDirectory(prefix="ron-setup-") as build:
            subprocess.run(["cmake", "--preset", "release", "-B", build, "-DRON_TESTS=OFF"], cwd=ROOT,
                           capture_output=True, check=True)
            rules = (pathlib.Path(build) / "build.ninja").read_text()
        self.assertIn("build ron: ", rules)
        for library in ("gtest", "rapidcheck", "lbenchmark"):
            self.assertNotIn(library, rules)


if __name__ == "__main__":
    unittest.main()
