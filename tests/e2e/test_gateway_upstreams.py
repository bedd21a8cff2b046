"""What the gateway learns about its upstreams and does about it: breakers, retries within a budget,
ejection and return, probes, and what operators take out."""

import threading
import time
import unittest

import ron
from gateway_case import Case, tenant
from gateway_nginx import Nginx
from gateway_origin import Origin


class Moody(Origin):
    """An upstream that serves or fails as `well` says. It counts what it is asked for under /x and
    answers whoever asks how it is."""

    def __init__(self, name="", well=True):
        super().__init__(x=self.way)
        self.name, self.well = name, well
        self.held = threading.Event()  # answers wait for it
        self.held.set()

    def way(self, peer, request):
        peer.read_body(request)
        self.held.wait(ron.REPLY_S)
        if not self.well:
            return False
        peer.answer(self.name.encode())
        return None

    def asked(self, method=None):
        return [head.method for head, _ in self.requests if method in (None, head.method)]


class Upstreams(Case):
    def moody(self, *moods):
        """One upstream for each, which is well or not."""
        all_of_them = [Moody(str(number), well) for number, well in enumerate(moods)]
        for each in all_of_them:
            self.addCleanup(each.close)
        return all_of_them

    def front(self, upstreams, keys=(), **more):
        urls = [each.url for each in upstreams]
        return self.start([{"prefix": "/x", "upstream": urls, "open": True}], keys, **more)


class Breaker(Upstreams):
    KEYS = {"breaker.min_volume": 4, "breaker.error_percent": 50, "breaker.window": "10s",
            "breaker.open_for": "400ms", "breaker.probes": 2}
    LONGEST_S = 0.6  # open_for and up to half of it

    def setUp(self):
        [self.upstream] = self.moody(False)
        self.server = self.front([self.upstream], self.KEYS)
        ron.wait_until("the first probe", lambda: self.state() == "closed")

    def state(self):
        """As the metrics and the operators' page agree on it."""
        metrics = self.server.metrics()
        states = [state for state in ("closed", "open", "half_open")
                  if metrics.value("breaker_state", target="x.0", state=state) == 1]
        self.assertEqual(len(states), 1, states)
        return states[0]

    def post(self):
        return self.ask(self.server, "POST", "/x", (), b"once")

    def open(self):
        for _ in range(4):
            self.assertEqual(self.state(), "closed")
            self.refused(self.post(), 502, "UpstreamFail")
        self.assertEqual(self.state(), "open")

    def rest(self):
        time.sleep(self.LONGEST_S + 0.05)

    def test_opens_half_opens_and_closes(self):
        self.open()
        asked = len(self.upstream.requests)
        response = self.moves(self.server, "breaker_open_total", 1, self.post, target="x.0")
        self.refused(response, 503, "BreakerOpen")
        self.assertGreaterEqual(int(response.get("Retry-After")), 1)
        self.assertEqual(self.member(self.server, "x.0")["breaker"], "open")
        self.assertEqual(len(self.upstream.requests), asked, "asked although it has its rest")
        self.upstream.well = True
        self.rest()
        self.assertEqual(self.post().status, 200)
        self.assertEqual(self.state(), "half_open")
        self.assertEqual(self.post().status, 200)
        self.assertEqual(self.state(), "closed")
        self.assertEqual(self.member(self.server, "x.0")["breaker"], "closed")

    def test_one_failure_of_a_trial_opens_it_again(self):
        self.open()
        self.upstream.well = True
        self.rest()
        self.assertEqual(self.post().status, 200)
        self.upstream.well = False
        self.refused(self.post(), 502, "UpstreamFail")
        self.assertEqual(self.state(), "open")
        self.refused(self.post(), 503, "BreakerOpen")

    def test_no_more_trials_at_once_than_declared(self):
        self.open()
        self.upstream.well = True
        self.upstream.held.clear()
        self.rest()
        asked = len(self.upstream.requests)
        waiting = [self.send(self.server, "POST", "/x", (), b"once") for _ in range(8)]
        ron.wait_until("the trials", lambda: len(self.upstream.requests) == asked + 2)
        time.sleep(0.2)
        self.assertEqual(len(self.upstream.requests), asked + 2)
        self.upstream.held.set()
        codes = sorted(connection.read_response().status for connection in waiting)
        self.assertEqual(codes, [200] * 2 + [503] * 6)
        self.assertEqual(self.state(), "closed")

    def test_a_trial_does_not_wait_for_its_clients_body(self):
        self.open()
        self.upstream.well = True
        self.rest()
        asked = len(self.upstream.requests)
        for _ in range(2):
            self.connect(self.server).send(b"POST /x HTTP/1.1\r\nHost: t\r\n"
                                           b"Content-Length: 100000\r\n\r\nthe first part")
        ron.wait_until("both trials", lambda: len(self.upstream.requests) == asked + 2)
        for _ in range(2):
            self.assertEqual(self.post().status, 200)
        self.assertEqual(self.state(), "closed")

    def test_few_failures_do_not_open_it(self):
        self.upstream.well = True
        for _ in range(6):
            self.assertEqual(self.post().status, 200)
        self.upstream.well = False
        for _ in range(5):
            self.refused(self.post(), 502, "UpstreamFail")
        self.assertEqual(self.state(), "closed")  # 5 of 11
        self.refused(self.post(), 502, "UpstreamFail")
        self.assertEqual(self.state(), "open")  # 6 of 12


class Hurry(Upstreams):
    """Clients that ask for less time than an upstream has."""

    def test_they_do_not_open_the_breaker_for_others(self):
        def slow(peer, _):
            time.sleep(0.05)
            peer.answer(b"well")

        upstream = Origin(x=slow)
        self.addCleanup(upstream.close)
        server = self.front([upstream], {"breaker.min_volume": 20, "upstream.eject_after": 5})
        for _ in range(30):
            response = self.ask(server, "GET", "/x", [("Request-Timeout", "0.005")])
            self.assertEqual((response.status, response.code), (504, "Timeout"))
        self.assertEqual(self.ask(server, "GET", "/x").body, b"well")
        metrics = server.metrics()
        self.assertEqual(metrics.value("breaker_state", target="x.0", state="open"), 0)
        self.assertEqual(metrics.value("upstream_requests_total", upstream="x.0",
                                       outcome="failed"), 0)

    def test_an_upstream_that_hangs_for_all_its_time_is_to_blame(self):
        upstream = Origin(x=lambda peer, _: not peer.ended(ron.REPLY_S))
        self.addCleanup(upstream.close)
        server = self.front([upstream], {"breaker.min_volume": 4, "upstream.deadline": "200ms"})
        for _ in range(4):
            self.refused(self.ask(server, "GET", "/x"), 504, "Timeout")
        self.refused(self.ask(server, "GET", "/x"), 503, "BreakerOpen")


class Slots(Upstreams):
    """Of an upstream that does one request at a time, with two tenants."""

    def test_nobody_waits_for_a_body_that_drips(self):
        [upstream] = self.moody(True)
        server = self.front([upstream], {"upstream.concurrency": 1, "upstream.deadline": "20s",
                                         "read_timeout": "5m", "server.request_deadline": "5m"})
        polite, dripping = (tenant(server, name) for name in ("polite", "dripping"))
        self.assertEqual(self.ask(server, "GET", "/x", [polite]).status, 200)
        seen = len(upstream.requests)
        head = "%s /x HTTP/1.1\r\nHost: t\r\n" + "%s: %s\r\n" % dripping
        drips = []
        for method, framing in (("GET", "Content-Length: 1000"), ("POST", "Content-Length: 100000"),
                                ("PUT", "Transfer-Encoding: chunked")) * 4:
            connection = self.connect(server)
            connection.send((head % method + framing + "\r\n\r\n").encode()
                            + (b"1\r\nb\r\n" if "chunked" in framing else b"b"))
            drips.append((connection, b"1\r\nb\r\n" if "chunked" in framing else b"b"))
        ron.wait_until("the large ones", lambda: len(upstream.requests) == seen + 8)
        for _ in range(10):
            self.assertEqual(self.ask(server, "GET", "/x", [polite]).status, 200)
            for connection, drip in drips:
                connection.send(drip)
        self.assertEqual(len(upstream.asked()), seen + 8 + 10, "a small one was sent unfinished")

    def test_a_body_that_lost_its_slot_arrives_whole(self):
        upstream = Origin(x=lambda peer, request: peer.answer(peer.read_body(request)[0]))
        self.addCleanup(upstream.close)
        server = self.front([upstream], {"upstream.concurrency": 1, "upstream.deadline": "20s"})
        polite, slow = (tenant(server, name) for name in ("polite", "slow"))
        self.assertEqual(self.ask(server, "GET", "/x", [polite]).status, 200)
        body = bytes(range(256)) * 1000
        connection = self.connect(server)
        connection.send(b"POST /x HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n%s: %s\r\n\r\n"
                        % (len(body), slow[0].encode(), slow[1].encode()))
        step = len(body) // 4
        for at in range(0, len(body), step):
            connection.send(body[at:at + step])
            time.sleep(0.2)
            if at + step < len(body):
                self.assertEqual(self.ask(server, "GET", "/x", [polite]).status, 200)
        response = connection.read_response()
        self.assertEqual((response.status, response.body == body), (200, True))


class Retries(Upstreams):
    KEYS = {"retry.max_tries": 3, "retry.base": "20ms", "retry.cap": "100ms", "retry.budget": 0.2}
    RESERVE = 10  # tokens a budget begins with

    def retried(self, server):
        return server.metrics().value("backoff_retries_total", op="upstream")

    def test_reading_is_tried_three_times_with_pauses(self):
        [upstream] = self.moody(False)
        server = self.front([upstream], self.KEYS)
        for method in ("GET", "DELETE", "PUT"):
            with self.subTest(method):
                before, began = len(upstream.requests), time.monotonic()
                self.refused(self.ask(server, method, "/x"), 502, "UpstreamFail")
                self.assertEqual(len(upstream.requests) - before, 3)
                self.assertGreater(time.monotonic() - began, 0.02 + 0.04)
        self.assertEqual(self.retried(server), 6)

    def test_a_stale_connection_costs_one_of_the_tries(self):
        [upstream] = self.moody(True)
        server = self.front([upstream], self.KEYS)
        self.assertEqual(self.ask(server, "GET", "/x").status, 200)
        upstream.well = False
        before = len(upstream.requests)
        self.refused(self.ask(server, "GET", "/x"), 502, "UpstreamFail")
        self.assertEqual(len(upstream.requests) - before, 3)

    def test_writing_is_never_repeated(self):
        [upstream] = self.moody(False)
        server = self.front([upstream], self.KEYS)
        for method, body in (("POST", b"once"), ("POST", b""), ("PATCH", b"once")):
            with self.subTest(method, body=body):
                before = len(upstream.asked(method))
                # On a new connection, and on one that was kept.
                self.refused(self.ask(server, method, "/x", (), body), 502, "UpstreamFail")
                upstream.well = True
                self.assertEqual(self.ask(server, "GET", "/x").status, 200)
                upstream.well = False
                self.refused(self.ask(server, method, "/x", (), body), 502, "UpstreamFail")
                self.assertEqual(len(upstream.asked(method)) - before, 2)
        self.assertEqual(self.retried(server), 0)

    def test_a_body_that_was_begun_is_not_sent_again(self):
        [upstream] = self.moody(False)
        server = self.front([upstream], self.KEYS)
        self.refused(self.ask(server, "PUT", "/x", (), b"a body that streams"), 502, "UpstreamFail")
        self.assertEqual(upstream.asked(), ["PUT"])

    def test_another_member_answers(self):
        bad, good = self.moody(False, True)
        server = self.front([bad, good], {**self.KEYS, "retry.budget": 1})
        for _ in range(10):
            self.assertEqual(self.ask(server, "GET", "/x").body, b"1")
        self.assertGreater(len(bad.requests), 0)
        self.assertEqual(self.retried(server), len(bad.requests))
        self.assertEqual(len(good.requests), 10)

    def test_a_refused_connection_is_repeatable_whatever_was_to_be_sent(self):
        bad, good = self.moody(False, True)
        bad.close()
        server = self.front([bad, good], {**self.KEYS, "retry.budget": 1})
        for _ in range(6):
            self.assertEqual(self.ask(server, "POST", "/x", (), b"once").body, b"1")
        self.assertEqual(good.asked(), ["POST"] * 6)
        self.assertEqual(bad.requests, [])

    def test_the_budget_holds(self):
        [upstream] = self.moody(False)
        server = self.front([upstream], {**self.KEYS, "retry.base": "1ms", "retry.budget": 0.1})
        asked = 100
        for _ in range(asked):
            self.refused(self.ask(server, "GET", "/x"), 502, "UpstreamFail")
        metrics = server.metrics()
        retries = metrics.value("backoff_retries_total", op="upstream")
        self.assertEqual(len(upstream.requests), asked + retries)
        self.assertLessEqual(retries, self.RESERVE + 0.1 * asked)
        self.assertGreaterEqual(retries, 0.1 * asked)
        denied = metrics.value("upstream_retries_denied_total", upstream="x.0")
        self.assertGreaterEqual(denied, asked - retries)
        self.assertEqual(metrics.value("upstream_requests_total", upstream="x.0", outcome="failed"),
                         asked + retries)

    def test_no_try_begins_behind_the_deadline(self):
        [upstream] = self.moody(False)
        server = self.front([upstream], {**self.KEYS, "retry.base": "400ms", "retry.cap": "2s",
                                         "upstream.deadline": "600ms", "retry.max_tries": 10})
        began = time.monotonic()
        response = self.ask(server, "GET", "/x")
        self.assertLess(time.monotonic() - began, 0.7 + 1 * ron.SLOW)
        self.assertIn((response.status, response.code), ((502, "UpstreamFail"), (504, "Timeout")))
        self.assertLessEqual(len(upstream.requests), 2)

    def test_an_answer_is_handed_through_whatever_it_says(self):
        upstream = Origin(x=lambda peer, _: peer.answer(b"down", status="503 Service Unavailable"))
        self.addCleanup(upstream.close)
        server = self.front([upstream], self.KEYS)
        response = self.moves(server, "upstream_requests_total", 1,
                              lambda: self.ask(server, "GET", "/x"), upstream="x.0",
                              outcome="unavailable")
        self.assertEqual((response.status, response.body), (503, b"down"))
        self.assertEqual(len(upstream.requests), 1)


class Ejection(Upstreams):
    KEYS = {"upstream.eject_after": 3, "upstream.eject_for": "600ms", "retry.max_tries": 3,
            "retry.base": "1ms", "retry.budget": 1}

    def healthy(self, server, member):
        return server.metrics().value("upstream_healthy", upstream=member)

    def test_a_member_that_fails_is_left_alone_and_returns(self):
        bad, good = self.moody(False, True)
        server = self.front([bad, good], self.KEYS)
        self.assertEqual([self.healthy(server, name) for name in ("x.0", "x.1")], [1, 1])
        ron.wait_until("the ejection", lambda: (
            self.assertEqual(self.ask(server, "GET", "/x").body, b"1"),
            self.member(server, "x.0")["state"] == "ejected")[1])
        self.assertEqual(len(bad.requests), 3)
        metrics = server.metrics()
        self.assertEqual(metrics.value("upstream_ejections_total", upstream="x.0"), 1)
        self.assertEqual(metrics.value("upstream_returns_total", upstream="x.0"), 0)
        self.assertEqual([self.healthy(server, name) for name in ("x.0", "x.1")], [0, 1])
        for _ in range(5):
            self.assertEqual(self.ask(server, "GET", "/x").body, b"1")
        self.assertEqual(len(bad.requests), 3, "asked although it is ejected")
        server.wait_log("upstream ejected", what="x.0")

        bad.well = True
        time.sleep(0.65)
        answers = {self.ask(server, "GET", "/x").body for _ in range(6)}
        self.assertEqual(answers, {b"0", b"1"})
        metrics = server.metrics()
        self.assertEqual(metrics.value("upstream_returns_total", upstream="x.0"), 1)
        self.assertEqual(metrics.value("upstream_healthy", upstream="x.0"), 1)
        server.wait_log("upstream back", what="x.0")

    def test_at_most_half_are_ejected(self):
        members = self.moody(False, False, False, False)
        server = self.front(members, {**self.KEYS, "upstream.eject_for": "1m"})
        for _ in range(20):
            self.refused(self.ask(server, "GET", "/x"), 502, "UpstreamFail")
        states = [self.member(server, f"x.{number}")["state"] for number in range(4)]
        self.assertEqual(states.count("ejected"), 2, states)
        self.assertEqual(server.metrics().value("upstream_ejections_total"), 2)


class Probes(Upstreams):
    def test_a_dead_member_is_found_without_a_request(self):
        nginx = Nginx({"x/file": b"nginx"})
        self.addCleanup(nginx.close)
        server = self.start([{"prefix": "/x", "upstream": nginx.url, "open": True}],
                            {"upstream.probe_interval": "50ms", "upstream.probe_timeout": "100ms"})
        self.assertEqual(self.ask(server, "GET", "/x/file").body, b"nginx")
        for stop, start in ((nginx.kill, nginx.run), (nginx.hang, nginx.go_on)):
            with self.subTest(stop.__name__):
                failures = server.metrics().value("upstream_probe_failures_total", upstream="x.0")
                stop()
                server.wait_metric("upstream_healthy", 0, upstream="x.0")
                self.assertEqual(self.member(server, "x.0")["state"], "down")
                self.assertGreaterEqual(server.metrics().value("upstream_probe_failures_total",
                                                               upstream="x.0"), failures + 2)
                response = self.ask(server, "GET", "/x/file")
                self.refused(response, 502, "UpstreamFail")
                self.assertGreaterEqual(int(response.get("Retry-After")), 1)
                unready = ron.wait_until("unready", lambda: (
                    (r := self.ask(server, "GET", "/readyz")).status == 503 and r))
                self.assertEqual(unready.json()["missing"], ["upstream: x"])
                server.wait_log("upstream down", what="x.0")
                start()
                server.wait_metric("upstream_healthy", 1, upstream="x.0")
                self.assertEqual(self.ask(server, "GET", "/x/file").body, b"nginx")
                ron.wait_until("ready", lambda: self.ask(server, "GET", "/readyz").status == 200)


class Drained(Upstreams):
    def setUp(self):
        self.members = self.moody(True, True)
        self.server = self.front(self.members)

    def answers(self):
        return {self.ask(self.server, "GET", "/x").body for _ in range(6)}

    def order(self, name, what, **more):
        return self.admin(self.server, "POST", f"/admin/upstreams/{name}/{what}", **more)

    def test_one_member(self):
        self.assertEqual(self.answers(), {b"0", b"1"})
        said = self.order("x.0", "drain")
        self.assertEqual((said.status, said.json()), (200, {"name": "x.0", "drained": True}))
        self.assertEqual(self.answers(), {b"1"})
        self.assertEqual(self.member(self.server, "x.0")["state"], "drained")
        self.server.wait_log("upstream drained", what="x.0")
        said = self.order("x.0", "undrain")
        self.assertEqual((said.status, said.json()), (200, {"name": "x.0", "drained": False}))
        self.assertEqual(self.answers(), {b"0", b"1"})

    def test_a_whole_group_while_a_request_is_under_way(self):
        for member in self.members:
            member.held.clear()
        under_way = self.send(self.server, "GET", "/x")
        ron.wait_until("the request",
                       lambda: sum(len(member.requests) for member in self.members) == 1)
        self.assertEqual(self.order("x", "drain").status, 200)
        response = self.ask(self.server, "GET", "/x")
        self.refused(response, 503, "Degraded")
        self.assertGreaterEqual(int(response.get("Retry-After")), 1)
        for member in self.members:
            member.held.set()
        self.assertEqual(under_way.read_response().status, 200)
        self.assertEqual(self.order("x", "undrain").status, 200)
        self.assertEqual(self.answers(), {b"0", b"1"})

    def test_who_may_and_what_there_is(self):
        self.refused(self.order("y", "drain"), 404, "NotFound")
        self.refused(self.order("x", "drain", headers=[]), 401, "Unauthorized")
        narrow = ron.attenuate(self.server.token, "scope = storage:write")
        self.refused(self.order("x", "drain", headers=[("Authorization", f"Bearer {narrow}")]), 403,
                     "Forbidden")
        self.assertEqual(self.answers(), {b"0", b"1"})


if __name__ == "__main__":
    unittest.main()
