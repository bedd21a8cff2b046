"""A short form of each durability test; the long ones have make targets of their own."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import crash  # noqa: E402
import full_disk  # noqa: E402
import rot  # noqa: E402


class Durability(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="ron-durability-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def quietly(self, _):
        pass

    def test_a_killed_server_keeps_what_it_acknowledged(self):
        totals = crash.run(8, 6, "test", self.directory, report=self.quietly)
        self.assertGreater(totals["operations"], 100)

    def test_a_flipped_bit_is_never_served(self):
        totals = rot.run(24, 30, "test", self.directory, report=self.quietly)
        self.assertGreater(totals["in_objects"], 0)
        self.assertGreater(totals["in_index"], 0)
        self.assertGreater(totals["in_tail"], 0)

    @unittest.skipUnless(full_disk.can_mount(), "needs root to mount small file systems")
    def test_a_full_or_failing_disk_refuses_writes_and_recovers(self):
        full_disk.run(full_disk.HARMLESS, self.directory, report=self.quietly)


if __name__ == "__main__":
    unittest.main()
