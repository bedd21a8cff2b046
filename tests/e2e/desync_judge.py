"""The verdict on a hostile request: what the client was told against what the upstream saw.

A finding is a sentence; its first word says what was broken.

  more      more requests reached the upstream than the proxy accepted
  smuggled  a request, field or body arrived that the client never sent as such
  lenient   a message went on that can be read in several ways, or is not for an upstream
  broken    an upstream did not understand what the proxy sent, or it was not canonical
  answer    the client got bytes that are not exactly one answer for each request, in order
  lost      a good message was not served
  next      the honest request of another client did not get its own answer
"""

import collections
import json

import desync_parser as parser
from desync_run import then_is_right
from desync_table import BAD, OWN, mark

HOP_BY_HOP = {"keep-alive", "te", "trailer", "upgrade"}
SAID_BY_THE_PROXY = ("host", "x-forwarded-for", "x-forwarded-proto", "forwarded", "x-corr-id")


class Answers:
    """What the client received, taken apart. `accepted` counts what may have gone on: answers of
    the upstream, and failures that are not refusals."""

    def __init__(self, message, outcome):
        self.findings = []
        self.upstream = []  # markers of the upstream's own answers, in order
        self.accepted = 0
        if not outcome.ended:
            self.findings.append("answer: the connection did not end")
        try:
            responses, rest = parser.read_responses(outcome.received, message.to_head)
        except parser.Malformed as error:
            self.findings.append(f"answer: {error}")
            return
        if message.reads and not outcome.received:
            self.findings.append("answer: there was none")
        if rest:
            self.findings.append(f"answer: cut in {rest[:120]!r}")
        for number, response in enumerate(responses):
            self._take(response, message.to_head and number == 0)

    def _take(self, response, to_head):
        if response.get("x-upstream"):
            self.accepted += 1
            self.upstream.append(response.get("x-saw"))
            body = b"" if to_head else b"saw %s" % (response.get("x-saw") or "").encode()
            if response.status == 200 and response.body != body:
                self.findings.append(f"answer: the body {response.body[:80]!r} is another's")
        elif response.status >= 400:
            self.accepted += response.status >= 500 and response.status not in (501, 505)
            if not to_head and not is_envelope(response):
                self.findings.append(f"answer: {response.status} without an envelope")


def is_envelope(response):
    try:
        error = json.loads(response.body)["error"]
    except (ValueError, KeyError, TypeError):
        return False
    return bool(error["code"]) and error["corr_id"] == response.get("x-corr-id")


class Case:
    """One message to one upstream: `seen` is what one observer took for requests of it."""

    def __init__(self, message, number, prefix, outcome):
        self.message = message
        self.number = number
        self.outcome = outcome
        self.readings = dict(message.readings(prefix, number))
        self.own, self.bad = mark(OWN, number), mark(BAD, number)
        self.answers = Answers(message, outcome)

    def findings(self, seen, canonical):
        """`canonical`: every byte is known, so that form can be judged as well as meaning."""
        found = list(self.answers.findings)
        found += self._told()
        whole = [each for each in seen if each.complete]
        for each in seen:
            found += self._judge(each) if each.complete else self._judge_cut(each)
            if canonical and each.complete:
                found += form(each)
        if len(whole) > self.answers.accepted:
            found.append(f"more: {len(whole)} seen, {self.answers.accepted} accepted")
        for each, times in collections.Counter(each.mark for each in whole).items():
            if times > 1:
                found.append(f"more: {each} seen {times} times")
        if self.message.must:
            arrived = [each.mark for each in whole]
            missing = [each for each in self.readings if each not in arrived]
            if missing or self.answers.upstream != list(self.readings):
                found.append(f"lost: {missing or self.answers.upstream}")
        if not then_is_right(self.outcome, self.number):
            found.append(f"next: {self.outcome.then[:200]!r}")
        return found

    def _told(self):
        """Answers are for requests of this message, in their order, each once."""
        order = iter(self.readings)
        if not all(each in order for each in self.answers.upstream):
            return [f"answer: the upstream's answers are for {self.answers.upstream}"]
        return []

    def _judge(self, each):
        if each.mark not in self.readings:
            yield f"{self._kind(each)}: the request {each.method[:20]} {each.target[:80]!r}"
            return
        if each.body != self.readings[each.mark]:
            yield f"smuggled: the body {each.body[:120]!r}"
        yield from self._fields(each)

    def _judge_cut(self, each):
        if each.error:
            yield f"broken: {each.error}"
        elif each.mark not in self.readings and not (self.message.cut and each.mark == self.own):
            yield f"{self._kind(each)}: the beginning of {each.method[:20]} {each.target[:80]!r}"
        yield from self._fields(each)

    def _kind(self, each):
        return "lenient" if each.mark[0] in "on" else "smuggled"

    def _fields(self, each):
        for name, value in each.fields:
            if self.bad in name or self.bad in value:
                yield f"smuggled: the field {name}: {value[:80]}"


def form(seen):
    """A request that was written anew: nothing for one hop only, what is the proxy's to say said
    once."""
    counts = collections.Counter(name for name, _ in seen.fields)
    for name, value in seen.fields:
        if name in HOP_BY_HOP or name.startswith("proxy-"):
            yield f"broken: the field {name} is for one hop"
        if name == "connection" and value.lower() not in ("close", "keep-alive"):
            yield f"broken: Connection: {value}"
    for name in SAID_BY_THE_PROXY:
        if counts[name] != 1:
            yield f"broken: {name} is there {counts[name]} times"
    if counts["x-forwarded-host"] > 1:  # none if the client named none, as it may in HTTP/1.0
        yield "broken: x-forwarded-host twice"


def judge(run, upstreams):
    """{(prefix, message's name): findings} of all that was sent; what nobody sent is under
    (prefix, None)."""
    verdicts = collections.defaultdict(list)
    for prefix, outcomes in run.outcomes.items():
        observers = [upstreams.by_prefix[prefix], *filter(None, [upstreams.behind.get(prefix)])]
        cases = [Case(message, number, prefix, outcome)
                 for number, (message, outcome) in enumerate(zip(run.messages, outcomes))]
        for observer in observers:
            seen = collections.defaultdict(list)
            for each in observer.seen():
                seen[each.mark and int(each.mark[1:])].append(each)
            for case in cases:
                mine = [each for each in seen.pop(case.number, []) if each.mark[0] != "t"]
                findings = case.findings(mine, canonical=observer.name == "recorder")
                verdicts[prefix, case.message.name] += findings
            strangers = [each for rest in seen.values() for each in rest]
            for each in strangers:
                if each.mark and each.mark[0] == "t":
                    continue  # the proxy's own, which asks how an upstream is
                verdicts[prefix, None].append(
                    f"{'broken' if each.error else 'smuggled'}: {each.method} {each.target[:80]!r}"
                    f" at {observer.name} {each.error}")
    return {key: sorted(set(found)) for key, found in verdicts.items() if found}
