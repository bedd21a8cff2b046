"""Where fills may go: addresses are checked after names are resolved, at every connection and every
redirect. It runs in a network of its own, which has an address that counts as another machine's and
a name server that says what a test says."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

import dht
import origin
from edge import LiveCase
from origin import Resource

DAY = "Cache-Control: max-age=86400"
# Another machine's, as far as anybody can tell.
PUBLIC = "93.184.215.14"
FORBIDDEN = ("127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
             "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255")


class Resolver:
    """A name server that says what a test says: `names` are lists of addresses, one list for each
    question, the last again and again."""

    def __init__(self):
        self.names, self.questions = {}, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                question, client = self.socket.recvfrom(4096)
            except OSError:
                return
            self.socket.sendto(self._answer(question), client)

    def _answer(self, question):
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += question[at] + 1
        name, kind = ".".join(labels).lower(), int.from_bytes(question[at + 1:at + 3], "big")
        end = at + 5
        known = self.names.get(name)
        addresses = []
        if known and kind == 1:
            self.questions.append(name)
            addresses = known.pop(0) if len(known) > 1 else known[0]
        flags = b"\x81\x80" if known else b"\x81\x83"
        answers = b"".join(b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04" +
                           socket.inet_aton(each) for each in addresses)
        return (question[:2] + flags + b"\x00\x01" + len(addresses).to_bytes(2, "big") +
                b"\x00\x00\x00\x00" + question[12:end] + answers)


class Egress(LiveCase):
    """With edge.egress.allow_private off."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.resolver = Resolver()
        cls.of_both = cls.authority.issue("public", "DNS:origin.example,DNS:other.example")

    def setUp(self):
        super().setUp()
        self.public = self.origin_at(PUBLIC, "origin.example")
        self.resolver.names = {"origin.example": [[PUBLIC]]}
        self.public.say("/a", Resource(b"public", DAY))

    def origin_at(self, host, name, port=0):
        made = origin.Origin(self.authority, host=host, name=name, port=port, issued=self.of_both)
        self.addCleanup(made.close)
        return made

    def fenced(self, *names, **more):
        allow = [self.public.authority, *(f"{name}:{self.public.port}" for name in names)]
        return self.start({**self.live_sets(), "egress.allow_private": "false",
                           "allow": json.dumps(allow), "fill.max_tries": 1, **more})

    def not_allowed(self, server, host, path="/a"):
        self.moves(server, "edge_rejects_total", 1, lambda: self.refused(
            server.fetch(f"/edge/assets/{host}:{self.public.port}{path}"), 403, "NotAllowed"),
            reason="not_allowed")

    def test_a_public_origin(self):
        server = self.fenced()
        response = server.asset(self.public, "/a")
        self.assertEqual((response.status, response.body), (200, b"public"), response.body)

    def test_names_of_addresses_that_are_not_public(self):
        server = self.fenced("other.example")
        for address in FORBIDDEN:
            with self.subTest(address):
                self.resolver.names["other.example"] = [[address]]
                self.not_allowed(server, "other.example")

    def test_a_name_of_both_kinds(self):
        """Either it is refused, or only the public one is connected to."""
        server = self.fenced("other.example")
        here = self.origin_at("127.0.0.1", "other.example", self.public.port)
        here.say("/a", Resource(b"inside", DAY))
        for order in ([PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC]):
            self.resolver.names["other.example"] = [order]
            response = server.fetch(f"/edge/assets/other.example:{self.public.port}/a")
            self.assertIn((response.status, response.code), ((200, None), (403, "NotAllowed")))
        self.assertEqual(here.connections, 0)

    def test_answers_that_change(self):
        """What was looked up is what is connected to: a second look finds nothing better."""
        here = self.origin_at("127.0.0.1", "other.example", self.public.port)
        here.say("/a", Resource(b"inside", DAY))
        here.say("/b", Resource(b"inside", DAY))
        self.public.say("/b", Resource(b"public", DAY))
        server = self.fenced("other.example")
        self.resolver.names["other.example"] = [[PUBLIC], ["127.0.0.1"]]
        self.assertEqual(server.fetch(
            f"/edge/assets/other.example:{self.public.port}/a").body, b"public")
        self.public.kill()  # so that a new connection is needed, and a new look
        self.not_allowed(server, "other.example", "/b")
        self.assertEqual(here.connections, 0)

    def test_redirects_inside(self):
        here = self.new_origin()
        here.say("/a", Resource(b"inside", DAY))
        self.resolver.names["other.example"] = [["127.0.0.1"]]
        server = self.fenced("other.example", allow=json.dumps([
            self.public.authority, here.authority, f"127.0.0.1:{here.port}",
            f"other.example:{here.port}"]))
        for number, to in enumerate((here.url("/a"), f"https://127.0.0.1:{here.port}/a",
                                     f"https://other.example:{here.port}/a")):
            with self.subTest(to):
                self.public.say(f"/{number}", origin.redirect(to))
                self.not_allowed(server, "origin.example", f"/{number}")
        self.assertEqual(here.connections, 0)

    def test_an_address_in_the_url(self):
        server = self.fenced(allow=json.dumps([
            f"{each}:{self.public.port}" for each in FORBIDDEN]))
        for address in FORBIDDEN:
            with self.subTest(address):
                self.not_allowed(server, address)


def in_own_network():
    """A network and name servers of its own, so that there is a public address to fill from."""
    if os.environ.get(dht.INSIDE) != "1":
        words = ["unshare", "--net", "--mount", *([] if os.geteuid() == 0 else ["-r"])]
        os.environ[dht.INSIDE] = "1"
        os.execvp("unshare", [*words, sys.executable, *sys.argv])
    home = tempfile.mkdtemp(prefix="ron-e2e-resolver-")
    with open(home + "/resolv.conf", "w", encoding="ascii") as file:
        file.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    for words in (["ip", "link", "set", "lo", "up"], ["ip", "addr", "add", PUBLIC, "dev", "lo"],
                  ["mount", "--bind", home + "/resolv.conf", "/etc/resolv.conf"]):
        subprocess.run(words, check=True)


if __name__ == "__main__":
    in_own_network()
    unittest.main()
