"""The client commands against a real server, and against servers that lie, stop or give up."""

import fcntl
import json
import os
import pathlib
import random
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest

import client_stand_ins
import ron
import storage

MIB = 1 << 20
SIZES = (0, 1, 1023, 1024, 1025, 65535, 65536, 65537, MIB - 1, MIB, MIB + 1, 5 * MIB + MIB // 2)


def noise(size, seed=7):
    return random.Random(seed * 1000003 + size).randbytes(size)


class Case(unittest.TestCase):
    """A directory to work in, and `ron` run there with a home of its own."""

    server = None

    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="ron-cli-"))
        self.addCleanup(shutil.rmtree, self.home)
        self.state = self.home / "state"
        self.work = self.home / "work"
        self.work.mkdir()

    def environment(self, url=None, token=True):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("RON_")}
        kept["XDG_STATE_HOME"] = str(self.state)
        if url or self.server:
            kept["RON_URL"] = url or "http://%s:%d" % self.server.address
        if token and self.server:
            kept["RON_TOKEN"] = self.server.token
        return kept

    def ron(self, *arguments, given=None, url=None, token=True, umask=0o022):
        def prepare():
            ron.die_with_parent()
            os.umask(umask)

        return subprocess.run([ron.BINARY, *map(str, arguments)], cwd=self.work, input=given,
                              capture_output=True, timeout=120 * ron.SLOW, check=False,
                              env=self.environment(url, token), preexec_fn=prepare)

    def good(self, *arguments, **more):
        done = self.ron(*arguments, **more)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def refused(self, *arguments, **more):
        """The complaints of a command that fails."""
        done = self.ron(*arguments, **more)
        self.assertEqual(done.returncode, 1, done)
        return done.stderr.decode()

    def write(self, name, data):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def left_behind(self):
        """Hidden files: parts of downloads."""
        return sorted(path.name for path in self.work.rglob(".*"))


class WithServer(Case):
    SETS = {"storage.server.max_rps": 1000000}

    @classmethod
    def setUpClass(cls):
        cls.server = storage.Server(sets=cls.SETS)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()


class Objects(WithServer):
    def test_every_size_has_the_address_b3sum_gives_and_comes_back_equal(self):
        for size in SIZES:
            with self.subTest(size=size):
                data = noise(size)
                self.write("file", data)
                address = ron.b3(data)
                self.assertEqual(self.good("put", "file"), f"{address}  file\n".encode())
                self.assertEqual(self.good("get", address), data)
                self.good("get", address, "-o", "copy")
                self.assertEqual((self.work / "copy").read_bytes(), data)
                self.assertEqual(self.good("put", "-", given=data), f"{address}  -\n".encode())
        self.assertEqual(self.left_behind(), [])

    def test_results_come_in_the_order_of_the_arguments(self):
        names = [f"f{i}" for i in range(40)]
        sizes = [3 * MIB if i % 10 == 0 else i for i in range(40)]
        for name, size in zip(names, sizes):
            self.write(name, noise(size, seed=size))
        lines = self.good("put", *names).decode().splitlines()
        expected = subprocess.run(["b3sum", *names], cwd=self.work, capture_output=True, check=True)
        self.assertEqual(lines, ["b3:" + each for each in expected.stdout.decode().splitlines()])

    def test_a_file_that_cannot_be_read_does_not_stop_the_others(self):
        self.write("a", b"a")
        self.write("b", b"b")
        done = self.ron("put", "a", "none", "b")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.decode(), f"{ron.b3(b'a')}  a\n{ron.b3(b'b')}  b\n")
        self.assertRegex(done.stderr.decode(), r"\Aron put: none: [^\n]+ \(NotFound\)\n\Z")

    def test_a_refusal_names_the_file_the_code_and_the_correlation_id(self):
        self.write("a", b"a")
        self.assertRegex(self.refused("put", "a", token=False),
                         r"\Aron put: a: [^\n]+ \(Unauthorized, corr [0-9A-Z]{26}\)\n\Z")

    def test_the_token_is_found_beside_the_data_directory(self):
        self.write("a", b"token finding")
        self.write("ron-data/keys/admin.token", self.server.token.encode() + b"\n")
        self.good("put", "a", token=False)
        self.write("elsewhere/keys/admin.token", b"nonsense")
        done = self.ron("put", "--data", "elsewhere", "a", token=False)
        self.assertEqual(done.returncode, 2, done)
        self.assertNotIn(b"nonsense", done.stderr)
        self.write("mine.token", self.server.token.encode())
        self.good("put", "--token", "mine.token", "--data", "elsewhere", "a", token=False)

    def test_a_file_gets_the_mode_of_a_new_file(self):
        address = self.server.put(b"mode")
        for umask, mode in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
            self.good("get", address, "-o", "file", umask=umask)
            self.assertEqual(stat.S_IMODE((self.work / "file").stat().st_mode), mode)
            (self.work / "file").unlink()

    def test_an_argument_may_be_a_link(self):
        self.write("real", b"linked")
        (self.work / "link").symlink_to("real")
        self.assertEqual(self.good("put", "link").decode(), f"{ron.b3(b'linked')}  link\n")

    def test_ranges(self):
        data = noise(9 * MIB)
        self.write("file", data)
        address = self.good("put", "file").decode().split()[0]
        for text, wanted in (("0-0", data[:1]), ("5-10", data[5:11]), ("100-", data[100:]),
                             ("0-99999999", data), (f"{4 * MIB - 1}-{8 * MIB}",
                                                    data[4 * MIB - 1:8 * MIB + 1])):
            with self.subTest(range=text):
                self.assertEqual(self.good("get", address, "--range", text), wanted)
        self.good("get", address, "--range", "1-3", "-o", "cut")
        self.assertEqual((self.work / "cut").read_bytes(), data[1:4])
        self.assertIn("RangeNotSatisfiable", self.refused("get", address, "--range", "99999999-"))
        for text in ("5", "-5", "5-4", "a-b", ""):
            self.assertEqual(self.ron("get", address, f"--range={text}").returncode, 2, text)

    def test_stat_and_rm(self):
        there = self.server.put(b"to be removed")
        gone = ron.b3(b"never stored")
        done = self.ron("stat", there, gone)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.decode(),
                         f'{there}  present  13  "{there}"\n{gone}  missing\n')
        rows = [json.loads(line) for line in self.ron("stat", "--json", there, gone).stdout.split(b"\n")
                if line]
        self.assertEqual(rows, [
            {"address": there, "present": True, "length": 13, "etag": f'"{there}"'},
            {"address": gone, "present": False}])
        done = self.ron("rm", there, gone)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.decode(), f"{there}  removed\n{gone}  missing\n")
        self.assertEqual(self.good("rm", "--force", there).decode(), f"{there}  missing\n")
        self.assertIn("NotFound", self.refused("get", there, "-o", "file"))
        self.assertEqual(list(self.work.iterdir()), [])

    def test_verify_reads_what_it_is_given(self):
        data = noise(6 * MIB)
        self.write("large", data)
        large = self.good("put", "large").decode().split()[0]
        small = self.server.put(b"small")
        self.assertEqual(self.good("verify", small, large).decode(),
                         f"checked 2 objects, {len(data) + 5} bytes, 0 corrupt\n")
        gone = ron.b3(b"never stored")
        done = self.ron("verify", small, gone)
        self.assertEqual(done.returncode, 1)
        self.assertIn(gone, done.stderr.decode())
        self.assertIn("1 missing", done.stdout.decode())

    def test_without_addresses_the_server_is_looked_at(self):
        admin = ("--admin-url", "http://%s:%d" % self.server.admin)
        self.server.put(b"looked at")
        self.assertIn("volume 1 ", self.good("stat", *admin).decode())
        self.assertIn("volumes 1\n", self.good("stat", "--all", *admin).decode())
        self.assertTrue(json.loads(self.good("stat", "--json", *admin))["amnesia"])
        self.assertIn("Unauthorized", self.refused("stat", *admin, token=False))

    def test_bad_usage_is_exit_code_two(self):
        address = ron.b3(b"")
        for arguments in (("put",), ("get",), ("get", "b3:12"), ("rm",), ("stat", "x"),
                          ("verify", "x"), ("get", address, "--list", "l", "-o", "d"),
                          ("get", "--list", "l"), ("put", "--jobs", "0", "f"),
                          ("put", "--url", "ftp://x", "f"), ("get", address, "--url", "http://h:x"),
                          ("stat", "--json", "--all")):
            self.assertEqual(self.ron(*arguments).returncode, 2, arguments)

    def test_nothing_is_drawn_where_there_is_no_terminal(self):
        self.write("file", noise(3 * MIB))
        done = self.ron("put", "file")
        self.assertEqual(done.stderr, b"")


class Trees(WithServer):
    def grow(self):
        """A tree with the names that make trouble."""
        files = {"tree/a": b"a", "tree/b/c": b"c", "tree/b/empty": b"", "tree/large": noise(3 * MIB),
                 "tree/two words": b"2", "tree/line\nbreak": b"n", "tree/back\\slash": b"s",
                 "tree/\xc3\xa4": b"u"}
        for name, data in files.items():
            self.write(name, data)
        for i in range(300):
            files[f"tree/many/f{i:03}"] = noise(i, seed=3)
            self.write(f"tree/many/f{i:03}", files[f"tree/many/f{i:03}"])
        (self.work / "tree/link").symlink_to("a")
        os.mkfifo(self.work / "tree/pipe")
        return files

    def test_a_tree_goes_in_and_comes_out(self):
        files = self.grow()
        done = self.ron("put", "--list", "tree.list", "tree")
        self.assertEqual((done.returncode, done.stdout), (1, b""), done)
        self.assertIn(b"tree/link: skipped: a symbolic link", done.stderr)
        self.assertIn(b"tree/pipe: skipped: not a regular file", done.stderr)
        self.assertIn(b"ron put: 2 entries skipped", done.stderr.splitlines()[-1])
        self.good("put", "--allow-skipped", "--list", "tree.list", "tree")
        self.good("get", "--list", "tree.list", "-o", "copy/there")
        for name, data in files.items():
            self.assertEqual((self.work / "copy/there" / name).read_bytes(), data, name)
        copied = [path for path in (self.work / "copy").rglob("*") if path.is_file()]
        self.assertEqual(len(copied), len(files))
        self.assertEqual(self.left_behind(), [])

    def test_the_lines_are_those_of_b3sum_in_order_of_names(self):
        self.grow()
        done = self.ron("put", "-q", "--allow-skipped", "tree")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        names = sorted(str(path.relative_to(self.work)).encode()
                       for path in (self.work / "tree").rglob("*")
                       if path.is_file() and not path.is_symlink())
        names.sort(key=lambda name: name.split(b"/"))
        expected = subprocess.run([b"b3sum", *names], cwd=self.work, capture_output=True, check=True)
        wanted = [line.replace(b"\\", b"\\b3:", 1) if line.startswith(b"\\") else b"b3:" + line
                  for line in expected.stdout.splitlines()]
        self.assertEqual(done.stdout.splitlines(), wanted)

    def test_absolute_paths_are_listed_so_that_they_can_be_fetched(self):
        self.write("tree/a", b"absolute")
        self.good("put", "--list", "list", str(self.work / "tree"))
        inside = str(self.work / "tree/a").lstrip("/")
        self.assertEqual((self.work / "list").read_text(), f"{ron.b3(b'absolute')}  {inside}\n")

    def test_a_list_cannot_lead_out_of_the_directory(self):
        address = self.server.put(b"trap")
        for name in ("../trap", "/tmp/ron-trap", "a/../../trap", "a/.."):
            self.write("list", f"{address}  {name}\n{address}  fine\n".encode())
            self.assertIn("list:1: ", self.refused("get", "--list", "list", "-o", "out"))
            self.assertEqual((self.work / "out/fine").read_bytes(), b"trap")
        self.assertEqual(sorted(path.name for path in self.work.iterdir()), ["list", "out"])

    def test_what_is_missing_does_not_stop_the_rest(self):
        here, gone = self.server.put(b"here"), ron.b3(b"gone away")
        self.write("list", f"{gone}  gone\n{here}  a/here\n".encode())
        self.assertRegex(self.refused("get", "--list", "list", "-o", "out"),
                         r"\Aron get: gone: [^\n]+NotFound[^\n]+\n\Z")
        self.assertEqual((self.work / "out/a/here").read_bytes(), b"here")
        self.assertEqual(self.left_behind(), [])


class Uploads(WithServer):
    def interrupted(self, name, parts):
        """Kills a put once so many parts are through; the proxy that watched."""
        with client_stand_ins.Proxy(self.server.address, hold_after=parts) as proxy:
            # The key of what is remembered holds the URL, so both go by the same proxy port.
            process = subprocess.Popen([ron.BINARY, "put", name], cwd=self.work,
                                       env=self.environment(proxy.url),
                                       preexec_fn=ron.die_with_parent)
            self.assertTrue(proxy.held.wait(ron.REPLY_S))
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            yield proxy

    def received(self, upload):
        with self.server.connect() as connection:
            response = connection.ask("GET", "/uploads/" + upload, [self.server.auth])
            self.assertEqual(response.status, 200, response.body)
            return {part for first, last in response.json()["arrived"]
                    for part in range(first, last + 1)}

    def test_an_upload_that_was_killed_is_continued(self):
        data = noise(20 * MIB)
        self.write("file", data)
        for first in self.interrupted("file", 7):
            states = list((self.state / "ron/uploads").iterdir())
            self.assertEqual([stat.S_IMODE(path.stat().st_mode) for path in states], [0o600])
            passed = set(first.parts)
            first.start_anew()
            there = self.received(json.loads(states[0].read_text())["upload"])
            self.assertEqual((there, len(there)), (passed, 7))
            self.assertEqual(self.good("put", "file", url=first.url).decode(),
                             f"{ron.b3(data)}  file\n")
            self.assertEqual(sorted(first.parts), sorted(set(range(20)) - there))
        self.assertEqual(list((self.state / "ron/uploads").iterdir()), [])
        self.assertEqual(self.good("get", ron.b3(data)), data)

    def test_a_changed_file_is_uploaded_from_its_beginning(self):
        self.write("file", noise(8 * MIB))
        for first in self.interrupted("file", 3):
            data = noise(8 * MIB, seed=8)
            self.write("file", data)
            first.start_anew()
            self.good("put", "file", url=first.url)
            self.assertEqual(sorted(first.parts), list(range(8)))
        self.assertEqual(self.good("get", ron.b3(data)), data)

    def test_without_resume_nothing_is_remembered(self):
        self.write("file", noise(3 * MIB))
        self.good("put", "--no-resume", "file")
        self.assertFalse(self.state.exists())

    def test_a_file_that_changes_while_it_is_read_is_not_stored(self):
        data = noise(20 * MIB, seed=9)
        path = self.write("file", data)
        with client_stand_ins.Proxy(self.server.address, hold_after=4) as proxy:
            process = subprocess.Popen([ron.BINARY, "put", "file"], cwd=self.work,
                                       env=self.environment(proxy.url), stderr=subprocess.PIPE,
                                       preexec_fn=ron.die_with_parent)
            self.assertTrue(proxy.held.wait(ron.REPLY_S))
            with open(path, "r+b") as file:
                file.write(b"changed")
            proxy.release()
            _, complaint = process.communicate(timeout=ron.REPLY_S)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"ron put: file: the file changed while it was read", complaint)
        self.assertEqual(self.ron("stat", ron.b3(data)).returncode, 1)
        self.assertEqual(list((self.state / "ron/uploads").iterdir()), [])

    def test_standard_input_waits_in_a_file_without_a_name(self):
        spool = self.home / "spool"
        spool.mkdir()
        data = noise(3 * MIB + 5)
        self.assertEqual(self.good("put", "--spool", spool, "-", given=data).decode(),
                         f"{ron.b3(data)}  -\n")
        self.assertEqual(list(spool.iterdir()), [])
        self.assertIn("none/.ron-spool", self.refused("put", "--spool", "none", "-", given=data))


class Verify(WithServer):
    def test_all_objects_of_a_server_are_checked_page_by_page(self):
        admin = ("--admin-url", "http://%s:%d" % self.server.admin)
        self.assertEqual(self.good("verify", *admin), b"checked 0 objects, 0 bytes, 0 corrupt\n")
        sizes = list(range(1, 2100)) + [9 * MIB]
        for size in sizes:
            self.write(f"tree/{size:08}", noise(size))
        self.good("put", "--list", "list", "tree")
        self.assertEqual(self.good("verify", *admin).decode(),
                         f"checked {len(sizes)} objects, {sum(sizes)} bytes, 0 corrupt\n")


class VerifyOffline(Case):
    """A data directory, checked without a server."""

    def setUp(self):
        super().setUp()
        self.data = self.home / "data"
        self.objects = {ron.b3(noise(size)): noise(size) for size in (0, 10, 70_000, 9 * MIB)}
        server = storage.Server(sets={"storage.min_free_bytes": "1MiB"}, data=self.data)
        self.addCleanup(server.close)
        self.server = server
        for number, data in enumerate(self.objects.values()):
            self.write(f"file{number}", data)
        self.good("put", *(f"file{number}" for number in range(len(self.objects))))
        self.in_use = self.ron("verify", "--data", self.data)
        self.assertEqual(server.stop(), 0)
        self.server = None
        self.sound = (f"checked {len(self.objects)} objects, {sum(map(len, self.objects.values()))} bytes,"
                      " 0 damaged\n").encode()

    def segments(self):
        return sorted((self.data / "storage/segments").iterdir())

    def test_a_sound_directory_is_read_and_left_as_it_is(self):
        def state():
            return [(path, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(self.data.rglob("*"))]

        before = state()
        for directory in (self.data, self.data / "storage"):
            self.assertEqual(self.good("verify", "--data", directory), self.sound)
        self.assertEqual(state(), before)

    def test_a_running_server_keeps_it_out(self):
        self.assertEqual(self.in_use.returncode, 1)
        self.assertIn(b"a running server uses it", self.in_use.stderr)
        self.assertEqual(self.ron("verify", "--data", self.home / "none").returncode, 1)
        self.assertEqual(self.ron("verify", "--data", self.data, next(iter(self.objects))).returncode, 2)

    def test_a_flipped_bit_is_found_and_its_object_named(self):
        for address, data in self.objects.items():
            if not data:
                continue
            with self.subTest(size=len(data)):
                piece = data[:10]
                path = next(path for path in self.segments() if piece in path.read_bytes())
                place = path.read_bytes().index(piece) + 5
                with open(path, "r+b") as file:
                    file.seek(place)
                    file.write(bytes([data[5] ^ 4]))
                done = self.ron("verify", "--data", self.data)
                self.assertEqual(done.returncode, 1)
                self.assertTrue(done.stdout.endswith(b" 1 damaged\n"), done.stdout)
                self.assertIn(f"ron verify: {address}: ".encode(), done.stderr)
                with open(path, "r+b") as file:
                    file.seek(place)
                    file.write(data[5:6])
        self.assertEqual(self.good("verify", "--data", self.data), self.sound)


class StrangeServers(Case):
    """What a client does when the server is not to be trusted, or not there."""

    def lying(self, objects, **more):
        return client_stand_ins.LyingServer(
            {"/o/" + address: data for address, data in objects.items()}, **more)

    def test_wrong_bytes_never_get_a_name(self):
        for size in (10, 9 * MIB):
            good = noise(size)
            bad = good[:-1] + bytes([good[-1] ^ 1])
            address = ron.b3(good)
            with self.subTest(size=size), self.lying({address: bad}) as server:
                self.write("file", b"what was there before")
                complaint = self.refused("get", address, "-o", "file", url=server.url)
                self.assertIn("IntegrityFail", complaint)
                self.assertEqual((self.work / "file").read_bytes(), b"what was there before")
                self.assertEqual([path.name for path in self.work.iterdir()], ["file"])
                self.assertIn("IntegrityFail", self.refused("get", address, url=server.url))
                self.assertIn("1 corrupt",
                              self.ron("verify", address, url=server.url).stdout.decode())
                self.write("list", f"{address}  one\n".encode())
                self.refused("get", "--list", "list", "-o", "out", url=server.url)
                self.assertEqual(list((self.work / "out").iterdir()), [])
                (self.work / "list").unlink()
                (self.work / "out").rmdir()

    def test_wrong_small_objects_do_not_reach_standard_output(self):
        address = ron.b3(b"good")
        with self.lying({address: b"evil"}) as server:
            done = self.ron("get", address, url=server.url)
        self.assertEqual((done.returncode, done.stdout), (1, b""))

    def test_a_get_that_was_cut_off_is_continued(self):
        data = noise(30 * MIB)
        address = ron.b3(data)
        part = self.work / f".file.{address[3:19]}.ron-part"
        part.write_bytes(data[:18 * MIB + 5])
        with self.lying({address: data}) as server:
            self.good("get", address, "-o", "file", url=server.url)
            self.assertEqual(min(server.ranges)[0], 16 * MIB, "whole pieces are not fetched again")
        self.assertEqual((self.work / "file").read_bytes(), data)
        self.assertEqual(self.left_behind(), [])

    def test_a_damaged_part_is_not_continued(self):
        data = noise(30 * MIB)
        address = ron.b3(data)
        part = self.work / f".file.{address[3:19]}.ron-part"
        for there in (b"x" * (18 * MIB), data + b"more", b"y" * (40 * MIB)):
            part.write_bytes(there)
            with self.lying({address: data}) as server:
                self.good("get", address, "-o", "file", url=server.url)
            self.assertEqual((self.work / "file").read_bytes(), data)
            self.assertEqual(self.left_behind(), [])

    def test_two_cannot_fetch_to_the_same_place_at_once(self):
        data = noise(10)
        address = ron.b3(data)
        with self.lying({address: data}) as server:
            with open(self.work / f".file.{address[3:19]}.ron-part", "wb") as part:
                fcntl.flock(part, fcntl.LOCK_EX)
                self.assertIn("Busy", self.refused("get", address, "-o", "file", url=server.url))
                self.assertFalse((self.work / "file").exists())
            self.good("get", address, "-o", "file", url=server.url)
        self.assertEqual((self.work / "file").read_bytes(), data)

    def test_a_directory_in_the_way_is_told_before_anything_is_fetched(self):
        (self.work / "there").mkdir()
        self.assertIn("is a directory", self.refused("get", ron.b3(b""), "-o", "there",
                                                     url="http://127.0.0.1:1"))

    def test_an_interrupt_ends_a_command_that_waits_for_input(self):
        process = subprocess.Popen([ron.BINARY, "put", "-"], cwd=self.work, stdin=subprocess.PIPE,
                                   env=self.environment("http://127.0.0.1:1"),
                                   preexec_fn=ron.die_with_parent)
        # Signals are taken from when they are blocked for the loop.
        ron.wait_until("blocked SIGINT", lambda: int(re.search(
            r"SigBlk:\t(\w+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1], 16) & 2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(ron.REPLY_S), 130)
        process.stdin.close()

    def test_a_refusal_with_retry_after_is_tried_again(self):
        address = ron.b3(b"later")
        for status in (429, 503):
            with self.lying({address: b"later"}, refuse=[status]) as server:
                self.assertEqual(self.good("get", address, url=server.url), b"later")

    def test_a_server_that_gives_up_in_the_middle_is_an_error_and_not_a_short_file(self):
        data = noise(100000)
        address = ron.b3(data)
        with self.lying({address: data}, give_up_after=5000) as server:
            self.refused("get", address, "-o", "file", url=server.url)
        self.assertEqual(list(self.work.iterdir()), [])

    def test_no_server_is_told_soon_and_in_one_line(self):
        done = self.ron("get", ron.b3(b""), url="http://127.0.0.1:1")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), r"\Aron get: b3:[^\n]+cannot connect[^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
