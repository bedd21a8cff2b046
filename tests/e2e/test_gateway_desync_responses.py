"""Upstreams with hostile answers behind the gateway: a client gets exactly the right answer, a
typed error or an answer that visibly breaks off; and those behind it get their own.

The table is desync_replies.py; what is a finding, desync_scripted.py says.
"""

import collections
import contextlib
import unittest

import desync_naive
import desync_replies
import desync_scripted
import gateway

ROUTES = 60  # of one gateway
KEYS = {
    "server.max_rps": 1000000,
    "drr.rate_limit_rps": 1000000,
    "upstream.deadline": "1s",
    "upstream.probe_path": "/probe/t9999",
}


def kinds(found):
    """How often each kind of finding."""
    return collections.Counter(each.split(":")[0] for all_of in found.values() for each in all_of)


class Stage(contextlib.ExitStack):
    """The upstreams of some replies."""

    def __init__(self, replies):
        super().__init__()
        self.upstreams = [self.enter_context(contextlib.closing(
            desync_scripted.Scripted(reply, number))) for number, reply in enumerate(replies)]


class HostileResponses(unittest.TestCase):
    def test_the_table_is_large_and_its_names_are_unique(self):
        names = [reply.name for reply in desync_replies.build()]
        self.assertEqual(sorted(set(names)), sorted(names))
        self.assertGreaterEqual(len(names), 60)

    def test_clients_get_the_right_answer_or_none(self):
        replies = desync_replies.build()
        for at in range(0, len(replies), ROUTES):
            with Stage(replies[at:at + ROUTES]) as stage:
                found = self.found(stage)
            for name, findings in found.items():
                with self.subTest(reply=name):
                    self.fail("; ".join(findings))

    def found(self, stage):
        routes = [{"prefix": "/" + upstream.prefix, "open": True,
                   "upstream": "http://%s:%d" % upstream.address} for upstream in stage.upstreams]
        # One core: whoever comes next takes the connection that was used before.
        with gateway.Server(routes, KEYS, cores=1) as server:
            found = desync_scripted.play(server.address, stage.upstreams)
            with server.connect() as connection:
                self.assertEqual(connection.ask("GET", "/healthz").status, 200)
        return found

    def test_a_connection_that_is_in_order_serves_all_clients(self):
        """Else nothing could be left behind for the next."""
        def two(table):
            table.right("in order", desync_replies.sized(desync_replies.GOOD))
            table.right("out of order", desync_replies.sized(desync_replies.GOOD) + "more")

        with Stage(desync_replies.build(two)) as stage:
            self.assertEqual(self.found(stage), {})
            first, second = [[(connection, asked[0]) for connection, asked in upstream.served
                              if asked != "t9999"] for upstream in stage.upstreams]
        self.assertEqual([letter for _, letter in first], ["t", "o", "n", "n"])
        self.assertEqual(len({connection for connection, _ in first}), 1, first)
        self.assertEqual(second[0][0], second[1][0], second)
        self.assertNotEqual(second[1][0], second[2][0], second)


class ProxiesThatMustBeCaught(unittest.TestCase):
    """The same with a proxy that gets it wrong: the test can fail."""

    def found(self, proxy_class, *groups):
        with Stage(desync_replies.build(*groups)) as stage:
            proxy = stage.enter_context(contextlib.closing(proxy_class(
                {upstream.prefix: upstream.address for upstream in stage.upstreams})))
            return desync_scripted.play(proxy.address, stage.upstreams, quiet=0)

    def test_one_that_copies_bytes(self):
        count = kinds(self.found(desync_naive.Pipe))
        self.assertGreater(count["mixed"], 100, count)
        self.assertGreater(count["wrong"], 10, count)

    def test_one_that_shares_a_connection(self):
        found = self.found(desync_naive.LengthWins, desync_replies.too_much)
        count = kinds(found)
        self.assertGreater(count["next"], 10, count)
        self.assertIn("X-Smuggled", str(found["behind a length, later: an answer"]))


if __name__ == "__main__":
    unittest.main()
