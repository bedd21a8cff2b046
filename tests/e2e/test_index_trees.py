"""Trees under names: put, restored, updated, listed and compared, with `ron` and with curl alone;
manifests and directories that want to lead a restore astray; interruptions; many files.

RON_E2E_LARGE=1 makes the case with many files one of 200,000."""

import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

import ron
import storage

MIB = 1 << 20
MANIFEST = "application/vnd.ron.manifest+json"
MANY = 200_000 if os.environ.get("RON_E2E_LARGE") == "1" else 2_000
LINE = re.compile(r"(\S.*)@(\d+)  (b3:[0-9a-f]{64})  \((.*)\)\n")


def noise(size, seed=7):
    return hashlib.shake_128(b"%d" % seed).digest(size)


def canonical(entries):
    """What RFC 8785 makes of a manifest of plain strings and integers."""
    document = {"entries": entries, "ron": "manifest/1"}
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def look(root, times=False):
    """Everything below a directory, as far as a tree keeps it."""
    found = {}
    for path in sorted(pathlib.Path(root).rglob("*")):
        name = str(path.relative_to(root))
        mtime = int(path.lstat().st_mtime) if times else None
        if path.is_symlink():
            found[name] = ("link", os.readlink(path), mtime)
        elif path.is_dir():
            if not any(path.iterdir()):
                found[name] = ("dir", mtime)
        else:
            executable = bool(path.stat().st_mode & 0o100)
            found[name] = ("file", path.read_bytes(), executable, mtime)
    return found


class Proxy:
    """Lets bytes through to a server, slowly if told so, and counts those sent up."""

    def __init__(self, target):
        self.target = target
        self.sent = 0
        self.pause = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.target)
            except OSError:
                return
            threading.Thread(target=self.pump, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, False), daemon=True).start()

    def pump(self, source, sink, up):
        try:
            while data := source.recv(65536):
                if up:
                    self.sent += len(data)
                    time.sleep(self.pause)
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        source.close()

    def close(self):
        self.listener.close()


class Liar:
    """A server on which every name stands for one manifest, whatever that says."""

    def __init__(self, manifest, objects):
        address = ron.b3(manifest)
        bodies = {"/o/" + address: manifest, **{"/o/" + ron.b3(each): each for each in objects}}
        name = json.dumps({"name": "liar", "version": 1, "target": address, "type": MANIFEST,
                           "at": "2026-11-16T16:00:00Z"}).encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # noqa: N802: the library's name
                body = name if self.path.startswith("/names/") else bodies.get(self.path)
                partial = body is not None and self.path in bodies
                if partial and not body:
                    self.send_response(416)
                    self.send_header("Content-Range", "bytes */0")
                elif partial:
                    self.send_response(206)
                    self.send_header("Content-Range", f"bytes 0-{len(body) - 1}/{len(body)}")
                else:
                    self.send_response(404 if body is None else 200)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Case(unittest.TestCase):
    """A server with everything in it, a directory to work in, and `ron` run there."""

    @classmethod
    def setUpClass(cls):
        cls.data = tempfile.mkdtemp(prefix="ron-trees-data-")
        cls.server = storage.Server(data=cls.data, command="up",
                                    sets={"storage.min_free_bytes": "1MiB",
                                          "gateway.drr.rate_limit_rps": 1000000})

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        shutil.rmtree(cls.data, ignore_errors=True)

    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="ron-trees-"))
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.work = self.home / "work"
        self.work.mkdir()

    def environment(self, url=None, token=None):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("RON_")}
        return {**kept, "XDG_STATE_HOME": str(self.home / "state"),
                "RON_URL": url or "http://%s:%d" % self.server.address,
                "RON_TOKEN": token or self.server.token}

    def prepare(self):
        ron.die_with_parent()
        os.umask(0o022)

    def ron(self, *arguments, timeout=120, given=None, **more):
        return subprocess.run([ron.BINARY, *map(str, arguments)], cwd=self.work, input=given,
                              capture_output=True, timeout=timeout * ron.SLOW, check=False,
                              env=self.environment(**more), preexec_fn=self.prepare)

    def good(self, *arguments, **more):
        done = self.ron(*arguments, **more)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout.decode()

    def refused(self, *arguments, code=1, **more):
        done = self.ron(*arguments, **more)
        self.assertEqual((done.returncode, done.stdout), (code, b""), done)
        return done.stderr.decode(errors="replace")

    def put(self, path, name, *flags, **more):
        """The version, the address and what the line says about it."""
        line = LINE.fullmatch(self.good("put", path, "--name", name, *flags, **more))
        self.assertEqual(line[1], name)
        return int(line[2]), line[3], line[4]

    def write(self, name, data=b"", mode=0o644):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        path.chmod(mode)
        return path

    def sample(self, root="site"):
        """A tree with one of everything."""
        self.write(f"{root}/index.html", "<h1>hi</h1>")
        self.write(f"{root}/bin/run", "#!/bin/sh\n", 0o755)
        self.write(f"{root}/empty-file")
        self.write(f"{root}/Grüße/日本語 🎉.txt", "unicode")
        self.write(f"{root}/a\"b\\c 100%?#&+.txt", "marks")
        self.write(f"{root}/a-b", "stands between a and a/b")
        self.write(f"{root}/a/b", "b")
        self.write(f"{root}/large.bin", noise(3 * MIB + 17))
        os.makedirs(self.work / root / "nothing/in here")
        os.symlink("bin/run", self.work / root / "start")
        os.symlink("../index.html", self.work / root / "bin/home")
        os.symlink("no/such/file", self.work / root / "dangling")
        return self.work / root

    def counted(self):
        metrics = self.server.metrics()

        def requests(endpoint, *codes):
            return sum(metrics.value("http_requests_total", service="svc-storage", endpoint=endpoint,
                                     code=code) for code in codes)

        # `ron` gets pieces, which are ranges; the rest of what a GET's route answers are HEADs.
        return (requests("PUT /o/{addr}", "200", "201"), requests("GET /o/{addr}", "200", "404"),
                requests("GET /o/{addr}", "206", "416"))

    def bodies(self):
        """How many objects were sent, asked for and fetched so far. Counters move just after an
        answer has left, so they are read until they stand."""
        seen = [None]

        def stands():
            before, seen[0] = seen[0], self.counted()
            return before == seen[0]

        ron.wait_until("counters stand", stands, pause=0.1)
        return seen[0]

    def store_manifest(self, entries, raw=None):
        body = raw if raw is not None else canonical(entries)
        return self.server.put(body)

    def try_name(self, name, address):
        with self.server.connect() as connection:
            document = json.dumps({"target": address, "type": MANIFEST}).encode()
            return connection.ask("PUT", "/names/" + urllib.parse.quote(name),
                                  [self.server.auth, ("Content-Type", "application/json")], document)

    def name_raw(self, name, address):
        answer = self.try_name(name, address)
        self.assertIn(answer.status, (200, 201), answer.body)


class RoundTrip(Case):
    def test_a_directory_comes_back_as_it_was(self):
        site = self.sample()
        version, address, said = self.put("site", "trip/v1")
        self.assertEqual(version, 1)
        self.assertRegex(said, r"\A8 files, 8 new, 3\.\d+ MiB sent\Z")
        said = self.ron("get", "trip/v1", "-o", "copy")
        self.assertEqual((said.returncode, said.stdout), (0, b""), said)
        self.assertEqual(look("/".join((str(self.work), "copy"))), look(site))
        self.assertIn("12 of 12 entries in copy: 8 files fetched", said.stderr.decode())
        self.assertEqual([str(path) for path in (self.work / "copy").rglob("*.ron-part")], [])
        self.assertEqual(self.put("copy", "trip/again")[1], address)

    def test_the_manifest_is_the_one_of_the_contract(self):
        self.write("t/b.html", "b")
        self.write("t/a/run", "r", 0o755)
        os.symlink("b.html", self.work / "t/c")
        os.mkdir(self.work / "t/d")
        expected = canonical([
            {"address": ron.b3(b"r"), "exec": True, "length": 1, "path": "a/run",
             "type": "application/octet-stream"},
            {"address": ron.b3(b"b"), "length": 1, "path": "b.html",
             "type": "text/html; charset=utf-8"},
            {"link": "b.html", "path": "c"},
            {"dir": True, "path": "d"}])
        _, address, _ = self.put("t", "contract/t")
        self.assertEqual(address, ron.b3(expected))
        self.assertEqual(self.good("get", address).encode(), expected)

    def test_times_are_kept_if_asked_for(self):
        site = self.sample()
        for number, path in enumerate(sorted(site.rglob("*"))):
            os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number), follow_symlinks=False)
        _, plain, _ = self.put("site", "times/plain")
        _, timed, _ = self.put("site", "times/timed", "--times")
        self.assertNotEqual(plain, timed)
        self.good("get", "times/timed", "-o", "copy")
        self.assertEqual(look(self.work / "copy", times=True), look(site, times=True))
        os.utime(site / "index.html", (5, 5))
        self.assertEqual(self.put("site", "times/plain")[2], "8 files, unchanged, 0 new, 0 B sent")

    def test_a_single_file_has_a_name_and_a_type(self):
        self.write("logo.svg", "<svg/>")
        self.assertEqual(self.put("logo.svg", "single/logo")[2], "1 file, 1 new, 6 B sent")
        self.assertRegex(self.good("name", "get", "single/logo"), r"  image/svg\+xml  ")
        self.assertEqual(self.good("get", "single/logo"), "<svg/>")
        self.good("get", "single/logo@1", "-o", "copy.svg")
        self.assertEqual((self.work / "copy.svg").read_bytes(), b"<svg/>")
        self.put("-", "single/stdin", "--type", "text/x-log", given=noise(3 * MIB))
        self.assertRegex(self.good("name", "get", "single/stdin"), r"  text/x-log  ")
        self.good("get", "single/stdin", "-o", "long")
        self.assertEqual((self.work / "long").read_bytes(), noise(3 * MIB))

    def test_an_empty_directory_is_a_tree(self):
        os.mkdir(self.work / "void")
        self.assertEqual(self.put("void", "void/v")[2], "0 files, 0 new, 33 B sent")
        self.good("get", "void/v", "-o", "copy")
        self.assertEqual(look(self.work / "copy"), {})

    def test_names_in_every_script(self):
        self.write("t/x", "1")
        for name in ("names/Grüße", "names/日本語/🎉 v2", "names/100%?#&+=", "names/a@b"):
            self.put("t", name)
            self.good("get", name, "-o", "out")
            self.assertEqual(self.good("get", name + "/x"), "1")
            self.assertIn(name, self.good("name", "ls", "names/", "-r"))

    def test_a_part_of_a_tree(self):
        site = self.sample()
        self.put("site", "part/v1")
        self.assertEqual(self.good("get", "part/v1/index.html"), "<h1>hi</h1>")
        self.good("get", "part/v1@1/Grüße", "-o", "part")
        self.assertEqual(look(self.work / "part"), look(site / "Grüße"))
        done = self.ron("get", "part/v1/bin", "-o", "bin")  # its link leads out of this part
        self.assertEqual(done.returncode, 1)
        self.assertIn("bin/home: the link leads out of the tree", done.stderr.decode())
        self.assertEqual(look(self.work / "bin"), {"run": ("file", b"#!/bin/sh\n", True, None)})

    def test_the_longest_name_is_meant(self):
        self.write("t/v2/x", "of the tree docs")
        self.write("u/x", "of the tree docs/v2")
        self.put("t", "longest")
        self.assertEqual(self.good("get", "longest/v2/x"), "of the tree docs")
        self.put("u", "longest/v2")
        self.assertEqual(self.good("get", "longest/v2/x"), "of the tree docs/v2")
        self.assertEqual(self.good("get", "longest@1/v2/x"), "of the tree docs")


class Updates(Case):
    def test_only_what_changed_is_sent(self):
        for number in range(50):
            self.write(f"t/f{number}", noise(5000, number))
        self.put("t", "update/t")
        self.write("t/f7", "changed")
        self.write("t/new", "new")
        (self.work / "t/f8").unlink()
        before = self.bodies()
        version, _, said = self.put("t", "update/t")
        after = self.bodies()
        self.assertEqual(version, 2)
        self.assertRegex(said, r"\A50 files, 2 new, \S+ KiB sent\Z")
        # Two files and the manifest. Only what is larger than 4 KiB is asked for before it is sent.
        self.assertEqual((after[0] - before[0], after[1] - before[1]), (3, 1))
        self.assertEqual(self.put("t", "update/t")[2], "50 files, unchanged, 0 new, 0 B sent")
        # Under another name nothing is sent but the two small ones.
        before = self.bodies()
        self.assertEqual(self.put("t", "update/other")[2], "50 files, 0 new, 10 B sent")
        after = self.bodies()
        self.assertEqual((after[0] - before[0], after[1] - before[1]), (2, 49))
        before = self.bodies()
        self.assertRegex(self.put("t", "update/resent", "--resend")[2], r"50 files, 0 new, 2\d\d\.\d+ KiB sent")
        self.assertEqual(self.bodies()[0] - before[0], 51)

    def test_history_and_differences(self):
        self.write("t/a", "1")
        self.write("t/sub/b", "1")
        self.put("t", "history/t")
        self.write("t/a", "2")
        self.write("t/c", "3")
        (self.work / "t/sub/b").unlink()
        self.put("t", "history/t")
        done = self.ron("diff", "history/t@1", "history/t@2")
        self.assertEqual((done.returncode, done.stdout.decode()),
                         (1, "M  a\nA  c\nA  sub\nD  sub/b\n"), done)
        self.assertEqual(self.good("diff", "history/t@2", "history/t"), "")
        self.assertIn("history/t@9", self.refused("diff", "history/t@9", "history/t", code=2))
        lines = self.good("name", "history", "history/t").splitlines()
        self.assertEqual([line.split("  ")[0] for line in lines], ["history/t@2", "history/t@1"])
        self.good("get", "history/t@1", "-o", "old")
        self.assertEqual((self.work / "old/a").read_text(), "1")
        self.good("name", "rm", "history/t")
        self.assertIn("nothing is named 'history/t'", self.refused("get", "history/t", "-o", "x"))
        self.assertEqual(self.good("name", "history", "history/t").splitlines()[0].split("  ")[:2],
                         ["history/t@3", "removed"])
        self.assertEqual(self.put("t", "history/t")[0], 4)

    def test_lists(self):
        self.sample()
        self.put("site", "list/v1")
        top = self.good("ls", "list/v1").splitlines()
        self.assertEqual(top, sorted(top, key=lambda each: each.rstrip("/").encode()))
        self.assertEqual(set(top), {"Grüße/", "a/", 'a"b\\c 100%?#&+.txt', "a-b", "bin/", "dangling",
                                    "empty-file", "index.html", "large.bin", "nothing/", "start"})
        self.assertEqual(self.good("ls", "list/v1/nothing"), "in here/\n")
        long = self.good("ls", "list/v1/bin", "--long")
        self.assertRegex(long, r"(?m)^x +10 B  b3:[0-9a-f]{64}  run$")
        self.assertRegex(long, r"(?m)^l +home -> \.\./index\.html$")
        entries = [json.loads(line) for line in self.good("ls", "list/v1", "--json").splitlines()]
        self.assertEqual(len(entries), 12)
        self.assertIn("there is no 'x'", self.refused("ls", "list/v1/x"))
        self.assertIn("did you mean list/v1?", self.refused("ls", "list/v11"))

    def test_two_publishers_do_not_overwrite_each_other(self):
        self.write("t/a", "1")
        self.put("t", "race/t")
        self.write("mine/a", noise(200_000, 1))
        self.write("theirs/a", "theirs")
        errors = self.refused("put", "mine", "--name", "race/t", "--if-version", "7")
        self.assertIn("it is at version 1 and was expected at 7; nothing was overwritten", errors)
        self.assertIn("(VersionSkew)", errors)
        self.assertIn("expected at none",
                      self.refused("put", "mine", "--name", "race/t", "--if-version", "0"))
        # Both begin at version 1; whoever comes second is told.
        both = [subprocess.Popen([ron.BINARY, "put", each, "--name", "race/t"], cwd=self.work,
                                 env=self.environment(), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, preexec_fn=self.prepare)
                for each in ("mine", "theirs")]
        results = [(*each.communicate(timeout=60), each.returncode) for each in both]
        versions = self.good("name", "history", "race/t").splitlines()
        won = [each for each in results if each[2] == 0]
        self.assertEqual(len(versions), 1 + len(won), results)
        for out, error, code in results:
            if code != 0:
                self.assertIn(b"nothing was overwritten", error)

    def test_a_lost_answer_to_the_last_request_is_no_conflict(self):
        self.write("t/a", "1")
        target = self.server.put(b"there already")
        self.good("name", "set", "lost/t", target, "--if-version", "0")
        # The same again, as a client does whose first answer got lost.
        self.assertIn("lost/t@1", self.good("name", "set", "lost/t", target, "--if-version", "0"))
        other = self.server.put(b"another")
        self.assertIn("(VersionSkew", self.refused("name", "set", "lost/t", other, "--if-version", "0"))

    def test_a_get_into_an_older_copy_fetches_what_changed(self):
        site = self.sample()
        self.put("site", "older/t")
        self.good("get", "older/t", "-o", "copy")
        self.write("site/index.html", "<h1>new</h1>")
        (site / "bin/run").chmod(0o644)
        (site / "start").unlink()
        os.symlink("index.html", site / "start")
        self.write("copy/mine", "not in the tree")
        self.put("site", "older/t")
        before = self.bodies()[2]
        said = self.ron("get", "older/t", "-o", "copy")
        self.assertEqual(said.returncode, 0, said)
        self.assertIn("1 files fetched, 7 were there already", said.stderr.decode())
        self.assertEqual(self.bodies()[2] - before, 2)  # the manifest and the file
        expected = look(site)
        expected["mine"] = ("file", b"not in the tree", False, None)
        self.assertEqual(look(self.work / "copy"), expected)


class WrongTurns(Case):
    def test_what_a_tree_cannot_hold_is_refused_and_nothing_is_named(self):
        for make, why in (
                (lambda at: os.symlink("/etc/passwd", at), "the link leads to an absolute path"),
                (lambda at: os.symlink("../../x", at), "the link leads out of the tree"),
                (lambda at: os.symlink("a/../../x", at), "'..' behind a name"),
                (os.mkfifo, "files, directories and symbolic links only"),
                (lambda at: open(os.fsencode(at) + b"\xff", "w").close(), "is not UTF-8"),
                (lambda at: open(str(at) + "\n", "w").close(), "control character")):
            with self.subTest(why=why):
                shutil.rmtree(self.work / "t", ignore_errors=True)
                self.write("t/fine", "x")
                make(self.work / "t/bad")
                errors = self.refused("put", "t", "--name", "wrong/t")
                self.assertIn(why, errors)
                self.assertIn("nothing was sent and the name was left as it is: 1 entry cannot be in "
                              "a tree (--allow-skipped leaves it out", errors)
        self.assertIn("nothing is named", self.refused("name", "get", "wrong/t"))
        os.mkfifo(self.work / "pipe")
        shutil.move(self.work / "pipe", self.work / "t/pipe")
        for each in list((self.work / "t").iterdir()):
            if each.name.startswith("bad"):
                each.unlink()
        self.assertEqual(self.put("t", "wrong/t", "--allow-skipped")[2].split(", ")[-1], "1 skipped")

    def grow(self):
        """A tree with everything that a tree cannot hold, and what lies outside it."""
        self.write("out/far.html", "far")
        self.write("out/shared/a", "a")
        os.symlink("a", self.work / "out/shared/inside")
        os.symlink("../far.html", self.work / "out/shared/leaves")
        for number in range(40):
            self.write(f"t/f{number:02}", noise(5000, number))
        os.symlink("f00", self.work / "t/kept")
        os.symlink("../out/far.html", self.work / "t/page.html")
        os.symlink(self.work / "out/shared", self.work / "t/shared")
        os.mkfifo(self.work / "t/pipe")

    def test_the_whole_tree_is_checked_before_anything_is_sent(self):
        self.grow()
        os.symlink("/nowhere/at/all", self.work / "t/z-dangling")
        before = self.bodies()
        errors = self.refused("put", "t", "--name", "checked/t")
        for entry in ("page.html", "shared", "pipe", "z-dangling"):
            self.assertIn(f"t/{entry}: ", errors)
        self.assertEqual(errors.splitlines()[-1],
                         "ron put: nothing was sent and the name was left as it is: 4 entries cannot be "
                         "in a tree (--allow-skipped leaves them out, --follow stores what links outside "
                         "lead to)")
        self.assertEqual(self.bodies(), before)
        self.assertIn("nothing is named", self.refused("name", "get", "checked/t"))
        done = self.ron("put", "t", "--name", "checked/t", "--allow-skipped")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(b"(40 files, ", done.stdout)
        self.assertTrue(done.stdout.endswith(b" sent, 4 skipped)\n"), done)
        said = done.stderr.decode().splitlines()
        self.assertEqual(said[-1], "ron put: 4 entries were skipped")
        self.assertEqual(len([line for line in said if ": skipped: " in line]), 4)
        self.good("get", "checked/t", "-o", "copy")
        self.assertEqual(len(look(self.work / "copy")), 41)

    def test_a_long_list_of_what_is_skipped_is_cut(self):
        self.write("t/a", "a")
        for number in range(100):
            os.symlink("/etc/passwd", self.work / f"t/link{number:03}")
        errors = self.refused("put", "t", "--name", "cut/t").splitlines()
        self.assertEqual(len(errors), 22)
        self.assertIn("and 80 more like the above", errors[20])
        self.assertIn("100 entries cannot be in a tree", errors[21])

    def test_links_that_lead_outside_can_be_followed(self):
        self.grow()
        os.symlink("../t", self.work / "t/itself")
        os.symlink("../..", self.work / "out/shared/above")
        os.unlink(self.work / "t/pipe")
        errors = self.refused("put", "t", "--name", "followed/t", "--follow")
        for entry in ("t/itself", "t/shared/above/t"):
            self.assertIn(f"ron put: {entry}: links lead back to a directory that this is in", errors)
        os.unlink(self.work / "t/itself")
        os.unlink(self.work / "out/shared/above")
        self.assertEqual(self.put("t", "followed/t", "--follow")[2].split(",")[0], "43 files")
        self.good("get", "followed/t", "-o", "copy")
        copy = look(self.work / "copy")
        self.assertEqual(copy["page.html"], ("file", b"far", False, None))
        self.assertEqual(copy["shared/a"], ("file", b"a", False, None))
        self.assertEqual(copy["shared/inside"][:2], ("link", "a"))
        self.assertEqual(copy["shared/leaves"], ("file", b"far", False, None))
        self.assertEqual(copy["kept"][:2], ("link", "f00"))
        self.assertIn("text/html", self.good("ls", "followed/t", "--json"))
        # Without a name there are no links in what is stored: all are followed.
        self.assertEqual(len(self.good("put", "t", "--follow").splitlines()), 45)

    def test_no_link_leads_to_the_keys_of_a_server(self):
        keys = pathlib.Path(self.data) / "keys"
        self.write("t/a", "a")
        for target in (keys / "admin.token", next(keys.glob("*.key")), keys, pathlib.Path(self.data),
                       pathlib.Path(self.data) / "storage"):
            os.symlink(target, self.work / "t/link")
            for flags in (["--follow"], ["--follow", "--allow-skipped"]):
                errors = self.refused("put", "t", "--name", "secret/t", *flags)
                self.assertIn("(NotAllowed", errors)
                self.assertIn("1 entry cannot be stored", errors)
            self.assertIn("(NotAllowed", self.refused("put", "t", "--follow", "--list", "list"))
            os.unlink(self.work / "t/link")
        shutil.copytree(keys, self.work / "beside")
        os.symlink("../beside/admin.token", self.work / "t/link")
        self.assertIn("admin token of a server", self.refused("put", "t", "--name", "secret/t", "--follow"))
        self.assertIn("nothing is named", self.refused("name", "get", "secret/t"))

    def test_usage(self):
        self.write("a", "x")
        self.assertIn("--name: a name begins with a namespace", self.refused("put", "a", "--name", "Docs",
                                                                              code=2))
        self.assertIn("which stand for a version", self.refused("put", "a", "--name", "d/v@3", code=2))
        self.assertIn("go with --name", self.refused("put", "a", "--times", code=2))
        self.assertIn("one directory, one file", self.refused("put", "a", "a", "--name", "d", code=2))
        self.assertIn("neither an address", self.refused("get", "B3:nonsense", code=2))
        self.put("a", "usage/file")
        self.assertIn("is not a tree but", self.refused("get", "usage/file/x"))
        self.assertIn("is not a tree but", self.refused("ls", "usage/file"))
        os.mkdir(self.work / "d")
        self.write("d/x", "1")
        self.put("d", "usage/tree")
        self.assertIn("say with -o DIR", self.refused("get", "usage/tree"))
        self.assertIn("there is no 'y' in the tree", self.refused("get", "usage/tree/y"))
        self.assertIn("did you mean usage/tree?", self.refused("get", "usage/tre", "-o", "o"))

    def test_a_token_without_index_write_stores_but_names_nothing(self):
        minted = self.good("token", "mint", "--keys", os.path.join(self.data, "keys"), "--scope",
                           "storage:write", "--tenant", "acme").strip()
        self.write("t/a", "1")
        self.assertIn("(Forbidden", self.refused("put", "t", "--name", "scope/t", token=minted))
        self.assertIn("nothing is named", self.refused("name", "get", "scope/t"))

    def test_resolve_and_providers(self):
        self.write("t/a", "1234")
        _, address, _ = self.put("t", "resolved/t")
        text = self.good("resolve", "resolved/t")
        self.assertIn(address, text)
        self.assertIn("1 entries, 4 bytes", text)
        document = json.loads(self.good("resolve", "resolved/t@1", "--json"))
        self.assertEqual((document["address"], document["version"]), (address, 1))
        self.refused("resolve", "resolved/none")
        self.refused("providers", "b3:" + "0" * 64)
        self.assertIn("64 hex digits", self.refused("providers", "b3:0", code=2))


class Hostile(Case):
    """Manifests and directories that want something written elsewhere."""

    def setUp(self):
        super().setUp()
        self.outside = self.home / "outside"
        self.outside.mkdir()
        (self.outside / "canary").write_text("alive")
        self.target = self.work / "deep/target"
        self.target.mkdir(parents=True)
        self.address = self.server.put(b"hostile")
        self.addCleanup(lambda: self.assertFalse(os.path.exists("/tmp/ron-escaped")))

    def file(self, path):
        return {"address": self.address, "length": 7, "path": path, "type": "text/plain"}

    def check_canary(self):
        self.assertEqual([each.name for each in self.outside.iterdir()], ["canary"])
        self.assertEqual((self.outside / "canary").read_text(), "alive")
        self.assertEqual([each.name for each in self.work.iterdir()], ["deep"])
        self.assertEqual([each.name for each in (self.work / "deep").iterdir()], ["target"])

    def test_no_manifest_leads_out_of_the_directory(self):
        out = str(self.outside)
        deep = "/".join(["d"] * 300)
        cases = {
            "parent": [self.file("../escaped")],
            "far parent": [self.file("a/../../../escaped")],
            "absolute": [self.file("/tmp/ron-escaped")],
            "dot": [self.file("./x")],
            "empty segment": [self.file("a//x")],
            "trailing slash": [self.file("a/")],
            "empty": [self.file("")],
            "link, then below it": [{"link": out, "path": "l"}, self.file("l/x")],
            "relative link, then below it": [{"link": "../..", "path": "l"}, self.file("l/x")],
            "inner link, then below it": [{"link": "d", "path": "l"}, self.file("l/x")],
            "something between link and below": [{"link": "d", "path": "l"}, self.file("l-"),
                                                 self.file("l/x")],
            "link through a link": [{"link": "..", "path": "d/up"},
                                    {"link": "d/up/../..", "path": "l"}],
            "absolute link": [{"link": "/etc", "path": "l"}],
            "twice": [self.file("x"), self.file("x")],
            "link and file in one place": [{"link": "y", "path": "x"}, self.file("x")],
            "not sorted": [self.file("b"), self.file("a")],
            "control": [self.file("a\x1b[31m")],
            "newline": [self.file("a\nb")],
            "zero": [self.file("a\x00b")],
            "too deep": [self.file(deep)],
            "long segment": [self.file("x" * 256)],
            "long path": [self.file("/".join(["x" * 200] * 25))],
            "unknown key": [{**self.file("x"), "mode": 0o4755}],
            "setuid in disguise": [{**self.file("x"), "exec": 2}],
            "directory that is none": [{"dir": False, "path": "x"}],
            "negative length": [{**self.file("x"), "length": -1}],
            "header injection": [{**self.file("x"), "type": "a/b\r\nSet-Cookie: x"}],
        }
        for what, entries in cases.items():
            manifest = canonical(entries)
            # Our server gives it no name; another one may.
            refusal = self.try_name("hostile/manifest", self.store_manifest(None, manifest))
            self.assertEqual((refusal.status, refusal.json()["error"]["code"]), (400, "Malformed"), what)
            with Liar(manifest, [b"hostile"]) as liar:
                for force in ([], ["--force"]):
                    with self.subTest(what=what, force=force):
                        errors = self.refused("get", "liar", "-o", self.target, *force, url=liar.url)
                        self.assertIn("is no manifest", errors)
                        self.assertEqual(list(self.target.iterdir()), [])
                        self.check_canary()
        # The same server with a sound one, so that it is the manifests that were refused.
        with Liar(canonical([self.file("x")]), [b"hostile"]) as liar:
            self.good("get", "liar", "-o", self.target, url=liar.url)
        self.assertEqual(look(self.target), {"x": ("file", b"hostile", False, None)})
        self.check_canary()

    def test_other_texts_are_no_manifest(self):
        for number, raw in enumerate((b"", b"{}", b"[]", b"null", b"\xff", b"{\"entries\":[",
                                      canonical([self.file("x")]) + b"\n",
                                      canonical([self.file("x")]).replace(b"\"path\"", b"\"p\\u0061th\""),
                                      json.dumps({"ron": "manifest/1", "entries": []}).encode(),
                                      b"[" * 100_000, noise(100_000))):
            address = self.store_manifest(None, raw)
            self.assertIn("is no manifest", self.refused("get", address + "/x", "-o", self.target))
            self.check_canary()

    def test_a_name_of_an_unfinished_download_is_no_way_to_swap_files(self):
        part = f".file.{self.address[3:19]}.ron-part"
        swapped = self.server.put(b"swapped")
        self.name_raw("hostile/part", self.store_manifest(
            [{"address": swapped, "length": 7, "path": part, "type": "a/b"}, self.file("file")]))
        for _ in range(2):
            self.good("get", "hostile/part", "-o", self.target)
            self.assertEqual(look(self.target), {"file": ("file", b"hostile", False, None),
                                                 part: ("file", b"swapped", False, None)})
            (self.target / "file").unlink()

    def test_entries_named_like_part_files_are_in_nobodys_way(self):
        large = noise(5 * MIB)
        address = self.server.upload(large)
        part = f".file.{self.address[3:19]}.ron-part"
        large_part = f".large.{address[3:19]}.ron-part"
        entries = [{"link": "large", "path": part}, {"link": "file", "path": large_part},
                   {"dir": True, "path": large_part.replace(".ron-part", ".1.ron-part")},
                   self.file("file"),
                   {"address": address, "length": len(large), "path": "large", "type": "a/b"}]
        entries.sort(key=lambda each: each["path"].encode())
        self.name_raw("hostile/parts", self.store_manifest(entries))
        expected = {"file": ("file", b"hostile", False, None),
                    "large": ("file", large, False, None),
                    part: ("link", "large", None), large_part: ("link", "file", None),
                    large_part.replace(".ron-part", ".1.ron-part"): ("dir", None)}
        for _ in range(2):  # the second time the entries are there when the files are restored
            self.good("get", "hostile/parts", "-o", self.target)
            self.assertTrue(look(self.target) == expected)
            (self.target / "file").unlink()
            (self.target / "large").unlink()
        # Without its tree, where it says nothing of the entries.
        self.good("get", address, "-o", self.target / "large")
        self.good("get", "hostile/parts", "-o", self.target)
        self.assertTrue(look(self.target) == expected)
        self.check_canary()

    def test_what_interrupted_restores_have_left_is_removed(self):
        self.name_raw("hostile/left", self.store_manifest([self.file("d/file"), self.file("file")]))
        other = "0123456789abcdef"
        own = {f".file.{other}.ron-part", f"d/.file.{other}.ron-part",
               f"d/.file.{other}.3.ron-part"}
        others = {f".nofile.{other}.ron-part", ".file.ron-part", f"e/.file.{other}.ron-part"}
        for name in own | others:
            (self.target / name).parent.mkdir(exist_ok=True)
            (self.target / name).write_bytes(b"a beginning")
        link = f".file.{other}.4.ron-part"
        os.symlink(self.outside / "canary", self.target / link)
        self.good("get", "hostile/left", "-o", self.target)
        self.assertEqual(set(look(self.target)), {"d/file", "file", link} | others)
        self.check_canary()

    def test_a_part_file_with_other_bytes_is_begun_again(self):
        large = noise(9 * MIB)
        address = self.server.upload(large)
        entry = {"address": address, "length": len(large), "path": "large", "type": "a/b"}
        self.name_raw("hostile/spoilt", self.store_manifest([entry]))
        part = self.target / f".large.{address[3:19]}.ron-part"
        part.write_bytes(b"x" * (6 * MIB))
        self.good("get", "hostile/spoilt", "-o", self.target)
        self.assertTrue((self.target / "large").read_bytes() == large)
        self.assertFalse(part.exists())

    def test_names_of_devices_and_cases_are_names(self):
        entries = [self.file(path) for path in
                   sorted(["CON", "NUL", "aux.txt", "dev/null", "Readme", "readme", "README",
                           "C:\\x", "-rf", "~", "$HOME", "*", "a" * 255])]
        self.name_raw("hostile/devices", self.store_manifest(entries))
        self.good("get", "hostile/devices", "-o", self.target)
        self.assertEqual(sorted(look(self.target)), sorted(entry["path"] for entry in entries))
        self.check_canary()

    def test_links_that_are_there_lead_nowhere(self):
        names = ["file", "dir/x", "dangling", "d/e/f", ".ron-link-0"]
        self.name_raw("hostile/present", self.store_manifest(
            [self.file(path) for path in sorted(names)] + [{"link": "file", "path": "link"}]))
        part = f".file.{self.address[3:19]}.ron-part"

        def plant():
            shutil.rmtree(self.target)
            self.target.mkdir()
            os.symlink(self.outside / "canary", self.target / "file")
            os.symlink(self.outside, self.target / "dir")
            os.symlink(self.outside / "new", self.target / "dangling")
            os.symlink(self.outside / "canary", self.target / part)
            os.mkdir(self.target / "d")
            os.symlink("../../../../outside", self.target / "d/e")

        plant()
        done = self.ron("get", "hostile/present", "-o", self.target)
        self.assertEqual(done.returncode, 1)
        for path in ("file", "dir", "dangling", "d/e"):
            self.assertIn("symbolic link; --force replaces it", done.stderr.decode())
            self.assertTrue((self.target / path).is_symlink(), path)
        self.check_canary()
        plant()
        self.good("get", "hostile/present", "-o", self.target, "--force")
        restored = look(self.target)
        for path in names:
            self.assertEqual(restored[path], ("file", b"hostile", False, None), path)
        self.check_canary()

    def test_a_large_file_goes_through_no_link_either(self):
        data = noise(5 * MIB)
        address = self.server.upload(data)
        entry = {"address": address, "length": len(data), "path": "dir/large", "type": "a/b"}
        self.name_raw("hostile/large", self.store_manifest([entry]))
        os.symlink(self.outside, self.target / "dir")
        self.refused("get", "hostile/large", "-o", self.target)
        self.check_canary()
        self.good("get", "hostile/large", "-o", self.target, "--force")
        self.assertEqual((self.target / "dir/large").read_bytes(), data)
        self.check_canary()

    def test_a_manifest_that_lies_about_its_files(self):
        missing = "b3:" + "0" * 64
        self.name_raw("hostile/lies", self.store_manifest([
            {**self.file("longer"), "length": 8}, {**self.file("missing"), "address": missing},
            self.file("right"), {**self.file("shorter"), "length": 0}]))
        done = self.ron("get", "hostile/lies", "-o", self.target)
        self.assertEqual(done.returncode, 1)
        self.assertIn("longer: the manifest says that it has 8 bytes, and it has 7",
                      done.stderr.decode())
        self.assertIn("(NotFound", done.stderr.decode())
        self.assertEqual(look(self.target), {"right": ("file", b"hostile", False, None)})

    def test_a_small_file_that_is_a_large_object_fills_no_memory(self):
        address = self.server.upload(noise(6 * MIB))
        self.name_raw("hostile/bomb", self.store_manifest(
            [{"address": address, "length": 5, "path": "x", "type": "a/b"}]))
        self.assertIn("larger than 1.00 MiB", self.refused("get", "hostile/bomb", "-o", self.target))
        self.assertEqual(look(self.target), {})


class Interrupted(Case):
    def start(self, *arguments, url):
        return subprocess.Popen([ron.BINARY, *map(str, arguments)], cwd=self.work,
                                env=self.environment(url=url), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, preexec_fn=self.prepare)

    def fill(self, root, seed, files=400):
        """Files that no other test has sent; their bytes."""
        total = 0
        for number in range(files):
            data = noise(20_000, seed + number)
            self.write(f"{root}/d{number % 7}/f{number}", data)
            total += len(data)
        self.write(f"{root}/large", noise(24 * MIB, seed + files))
        return total + 24 * MIB

    def test_a_put_that_is_killed_sends_the_rest_only(self):
        total = self.fill("t", 10_000)
        proxy = Proxy(self.server.address)
        self.addCleanup(proxy.close)
        proxy.pause = 0.02
        first = self.start("put", "t", "--name", "killed/put", url=proxy.url)
        ron.wait_until("half of it was sent", lambda: proxy.sent > total // 2 or first.poll() is not None,
                       60)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        self.assertEqual(first.returncode, -signal.SIGKILL, "it was too fast to be killed")
        self.assertIn("nothing is named", self.refused("name", "get", "killed/put"))
        sent, proxy.pause = proxy.sent, 0
        self.put("t", "killed/put", url=proxy.url)
        rest = proxy.sent - sent
        # What was in flight is sent again, and every file is asked for with a head of its own.
        self.assertLess(rest, total - sent + 17 * MIB + 500 * 1024)
        self.assertLess(rest, total)
        self.good("get", "killed/put", "-o", "copy")
        self.assertEqual(look(self.work / "copy"), look(self.work / "t"))

    def test_a_get_that_is_killed_fetches_the_rest_only(self):
        self.fill("t", 20_000)
        self.put("t", "killed/get")
        for number in range(20):
            got = self.start("get", "killed/get", "-o", "copy", url=None)
            ron.wait_until("some files are there", lambda number=number: got.poll() is not None or sum(
                1 for _ in (self.work / "copy").rglob("*")) > 20 * number, 60)
            got.send_signal(signal.SIGKILL)
            got.communicate()
            for path in (self.work / "copy").rglob("*"):
                if path.is_file() and not path.name.endswith(".ron-part"):
                    self.assertEqual(path.read_bytes(),
                                     (self.work / "t" / path.relative_to(self.work / "copy")).read_bytes())
        before = self.bodies()[2]
        self.good("get", "killed/get", "-o", "copy")
        first = self.bodies()[2] - before
        self.good("get", "killed/get", "-o", "copy")
        self.assertEqual(self.bodies()[2] - before - first, 1)  # the manifest alone
        self.assertEqual(look(self.work / "copy"), look(self.work / "t"))

    def test_two_gets_into_one_directory(self):
        self.fill("t", 30_000, 50)
        self.put("t", "twice/t")
        both = [self.start("get", "twice/t", "-o", "copy", url=None) for _ in range(2)]
        results = [(*each.communicate(timeout=60), each.returncode) for each in both]
        for _, error, code in results:
            if code != 0:
                self.assertIn(b"another process writes", error)
        self.assertIn(0, [code for _, _, code in results])
        self.assertEqual(look(self.work / "copy"), look(self.work / "t"))


class WithCurl(Case):
    def curl(self, method, path, *more, status=200):
        url = "http://%s:%d%s" % (*self.server.address, path)
        done = subprocess.run(["curl", "-sS", "-X", method, "-w", "\n%{http_code}", "-H",
                               "Authorization: Bearer " + self.server.token, *more, url],
                              capture_output=True, timeout=60, check=True, cwd=self.work)
        body, code = done.stdout.rsplit(b"\n", 1)
        self.assertEqual(int(code), status, body)
        return body

    def test_a_tree_by_hand(self):
        files = {"index.html": b"<h1>by hand</h1>", "Grüße.txt": b"hallo"}
        entries = []
        for path, data in files.items():
            self.write("body", data)
            stored = json.loads(self.curl("POST", "/o", "--data-binary", "@body", status=201))
            entries.append({"address": stored["address"], "length": len(data), "path": path,
                            "type": "text/plain"})
        self.write("manifest", canonical(sorted(entries, key=lambda each: each["path"].encode())))
        manifest = json.loads(self.curl("POST", "/o", "--data-binary", "@manifest", status=201))["address"]
        self.write("name", json.dumps({"target": manifest, "type": MANIFEST, "expected_version": 0}))
        made = json.loads(self.curl("PUT", "/names/hand/v1", "-H", "Content-Type: application/json",
                                    "--data-binary", "@name", status=201))
        self.assertEqual((made["version"], made["target"]), (1, manifest))
        self.curl("PUT", "/names/hand/v1", "-H", "Content-Type: application/json", "--data-binary",
                  "@name", status=409)
        self.good("get", "hand/v1", "-o", "copy")
        self.assertEqual({name: each[1] for name, each in look(self.work / "copy").items()}, files)
        # And back, the same way.
        current = json.loads(self.curl("GET", "/names/hand/v1"))
        document = json.loads(self.curl("GET", "/o/" + current["target"]))
        for entry in document["entries"]:
            self.assertEqual(self.curl("GET", "/o/" + entry["address"]), files[entry["path"]])
        history = json.loads(self.curl("GET", "/names/hand/v1?history=1"))
        self.assertEqual([each["version"] for each in history["versions"]], [1])
        resolved = json.loads(self.curl("GET", "/resolve/hand/v1"))
        self.assertEqual(resolved["manifest"], {"entries": 2, "length": 21})
        self.curl("DELETE", "/names/hand/v1")
        self.curl("GET", "/names/hand/v1", status=404)


class Many(Case):
    def test_many_files(self):
        root = self.work / "many"
        for number in range(MANY):
            path = root / f"d{number % 97}" / f"é{number % 13}" / f"f{number}.txt"
            if number < 97 * 13 * 2:
                path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"content of %d\n" % number)
        spent = {}

        def timed(what, *arguments):
            begun = time.monotonic()
            out = self.good(*arguments, timeout=1500)
            spent[what] = time.monotonic() - begun
            return out

        line = timed("put", "put", "many", "--name", "many/t")
        self.assertIn(f"({MANY} files, {MANY} new, ", line)
        timed("get", "get", "many/t", "-o", "copy")
        self.assertEqual(sum(1 for path in (self.work / "copy").rglob("*") if path.is_file()), MANY)
        done = subprocess.run(["diff", "-r", "many", "copy"], cwd=self.work, capture_output=True,
                              check=False, timeout=900)
        self.assertEqual((done.returncode, done.stdout[:1000]), (0, b""))
        (root / "d0" / "é0" / "f0.txt").write_bytes(b"changed")
        self.assertIn(f"({MANY} files, 1 new, ", timed("update", "put", "many", "--name", "many/t"))
        timed("update a copy", "get", "many/t", "-o", "copy")
        done = self.ron("diff", "many/t@1", "many/t@2")
        self.assertEqual((done.returncode, done.stdout.decode()), (1, "M  d0/é0/f0.txt\n"))
        self.assertEqual(timed("list", "ls", "many/t", "-r").count("\n"), MANY)
        print(f"{MANY} files:", ", ".join(f"{what} {each:.1f} s" for what, each in spent.items()))


if __name__ == "__main__":
    unittest.main()
