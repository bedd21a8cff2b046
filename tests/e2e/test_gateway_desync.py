"""Hostile requests through the gateway to servers that read them differently: never more requests
out than were accepted, never a smuggled request, field or body.

The tables are desync_framing.py and desync_heads.py; what is a finding, desync_judge.py says.
"""

import collections
import unittest

import desync_framing
import desync_heads
import desync_judge
import desync_naive
import desync_run
import desync_table
import gateway
from desync_seen import Seen
from desync_upstreams import Upstreams

# One client asks as fast as it can, and an upstream is asked for its health in a way of its own.
KEYS = {
    "server.max_rps": 1000000,
    "drr.rate_limit_rps": 1000000,
    "upstream.keep_host": True,
    "upstream.probe_path": "/probe/t9999",
}


def routes(upstreams):
    return [{"prefix": f"/{prefix}", "upstream": "http://%s:%d" % upstream.address, "open": True}
            for prefix, upstream in upstreams.by_prefix.items()]


def verdicts(address, upstreams, messages, **how):
    run = desync_run.Run(address, list(upstreams.by_prefix), messages, **how)
    desync_run.settle([*upstreams.by_prefix.values(), *upstreams.behind.values()])
    return run, desync_judge.judge(run, upstreams)


def kinds(found):
    """How often each kind of finding."""
    return collections.Counter(each.split(":")[0] for all_of in found.values() for each in all_of)


class HostileRequests(unittest.TestCase):
    prefixes = ()  # all upstreams
    pieces = 1

    @classmethod
    def setUpClass(cls):
        cls.messages = desync_table.build(*desync_framing.GROUPS, *desync_heads.GROUPS)
        cls.upstreams = Upstreams(*cls.prefixes)
        cls.addClassCleanup(cls.upstreams.close)
        cls.server = gateway.Server(routes(cls.upstreams), KEYS)
        cls.addClassCleanup(cls.server.close)
        cls.sent, cls.found = verdicts(cls.server.address, cls.upstreams, cls.messages,
                                       pieces=cls.pieces)

    def test_the_table_is_large_and_its_names_are_unique(self):
        names = [message.name for message in self.messages]
        self.assertEqual(sorted(set(names)), sorted(names))
        self.assertGreaterEqual(sum(not message.must for message in self.messages), 200)

    def test_nothing_but_what_was_accepted_goes_on(self):
        for (prefix, name), findings in sorted(self.found.items(), key=str):
            upstream = self.upstreams.by_prefix[prefix].name
            with self.subTest(upstream=upstream, message=name):
                self.fail("; ".join(findings))

    def test_good_messages_are_served_by_every_upstream(self):
        """So that silence is not for want of traffic."""
        good = [message for message in self.messages if message.must]
        for upstream in (*self.upstreams.by_prefix.values(), *self.upstreams.behind.values()):
            whole = [seen for seen in upstream.seen() if seen.complete and seen.mark[0] in "on"]
            self.assertGreaterEqual(len(whole), 2 * len(good), upstream.name)

    def test_what_has_no_reading_is_not_answered_by_an_upstream(self):
        hostile = [number for number, message in enumerate(self.messages) if not message.reads]
        for prefix, outcomes in self.sent.outcomes.items():
            for number in hostile:
                with self.subTest(prefix=prefix, message=self.messages[number].name):
                    self.assertNotIn(b"X-Upstream", outcomes[number].received)

    def test_the_gateway_is_alive(self):
        with self.server.connect() as connection:
            self.assertEqual(connection.ask("GET", "/healthz").status, 200)


class HostileRequestsInPieces(HostileRequests):
    """The same, cut at odd places: what was read once is not read differently the second time."""

    prefixes = ("rw", "nl")
    pieces = 5


class ProxiesThatMustBeCaught(unittest.TestCase):
    """The same run with a proxy that gets it wrong: the test can fail."""

    def found(self, proxy_class, prefixes, *groups):
        upstreams = Upstreams(*prefixes)
        self.addCleanup(upstreams.close)
        proxy = proxy_class({prefix: upstream.address
                             for prefix, upstream in upstreams.by_prefix.items()})
        self.addCleanup(proxy.close)
        return verdicts(proxy.address, upstreams, desync_table.build(*groups), quiet=0)[1]

    def test_one_that_copies_bytes(self):
        found = self.found(desync_naive.Pipe, ["py", "nl", "ha", "rw"],
                           desync_framing.length_and_coding, desync_heads.fields,
                           desync_heads.one_hop, desync_heads.forgeries)
        count = kinds(found)
        self.assertGreater(count["smuggled"], 50, count)
        self.assertGreater(count["broken"], 50, count)
        self.assertGreater(count["lenient"], 50, count)
        self.assertIn("smuggled: the field x-own", str(found["py", "Connection names X-Own"]))
        self.assertIn("smuggled: the field x-forwarded-for",
                      str(found["py", "forged X-Forwarded-For: {}"]))
        self.assertIn("framed twice", str(found["rw", "CL.TE, length first"]))

    def test_one_that_knows_lengths_only_and_shares_a_connection(self):
        found = self.found(desync_naive.LengthWins, ["py", "rw"], desync_framing.codings_alone,
                           desync_framing.lengths)
        count = kinds(found)
        self.assertGreater(count["smuggled"], 20, count)
        self.assertGreater(count["next"], 5, count)
        self.assertGreater(count["answer"], 20, count)

    def test_more_out_than_in(self):
        """Counted, whatever the proxy did: an upstream that saw two requests of one answer."""
        message = desync_table.build(lambda t: t.must("one", desync_table.head()))[0]
        answer = desync_run.Outcome(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nX-Upstream: a\r\n"
                                    b"X-Saw: o0000\r\n\r\nsaw o0000")
        case = desync_judge.Case(message, 0, "rw", answer)
        own, following = Seen("GET", "/rw/o0000"), Seen("GET", "/rw/n0000")
        self.assertIn("more: 2 seen, 1 accepted",
                      list(case.findings([own, following], canonical=False)))
        self.assertIn("more: o0000 seen 2 times", list(case.findings([own, own], canonical=False)))


if __name__ == "__main__":
    unittest.main()
