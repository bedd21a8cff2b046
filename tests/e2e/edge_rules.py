"""Rules of RFC 9111 (and 5861), those that svc-edge claims and others, each as a trial that any
cache in front of an `origin.Origin` can be put to: it passes, or a sentence says what it did
instead.

Times are real; a trial that needs an answer to grow old waits for it, so all run side by side.
"""

import dataclasses
import http.client
import math
import threading
import time

import origin
import ron
from origin import Answer, Resource

FRESH_S = math.ceil(2 * ron.SLOW)  # of what is to grow old; dates have whole seconds
OLD_S = FRESH_S + 1.4  # nginx counts whole ones, too
RULES = []


class Broken(AssertionError):
    """What a cache did instead."""


@dataclasses.dataclass
class Rule:
    name: str
    section: str
    text: str
    trial: object
    claimed: bool  # by svc-edge; what it does not claim is in the table, too


def rule(section, text, claimed=True):
    def add(trial):
        RULES.append(Rule(trial.__name__, section, text, trial, claimed))
        return trial
    return add


class Reply:
    def __init__(self, response, body):
        self.status, self.body = response.status, body
        self.headers = response.headers

    def get(self, name):
        return self.headers.get(name)


class Trial:
    """One cache at one path of its origin. `cache` has `origin`, `address` and `path_of`."""

    def __init__(self, cache, name):
        self.cache, self.origin = cache, cache.origin
        self.path = "/rule/" + name.replace("_", "-")

    def say(self, *ways):
        self.origin.say(self.path, *ways)

    def get(self, *fields, method="GET", query="", status=200, body=None):
        """Asks the cache; `fields` are `Name: value`. Checks what came unless told not to."""
        connection = http.client.HTTPConnection(*self.cache.address, timeout=ron.REPLY_S)
        try:
            connection.request(method, self.cache.path_of(self.path + query),
                               headers=dict(each.split(": ", 1) for each in fields))
            response = connection.getresponse()
            reply = Reply(response, response.read())
        finally:
            connection.close()
        if status is not None and reply.status != status:
            raise Broken(f"status {reply.status}, not {status}")
        if body is not None and reply.body != body:
            raise Broken(f"body {reply.body[:40]!r}, not {body[:40]!r}")
        return reply

    def asked(self, count):
        found = self.origin.count(self.path)
        if found != count:
            raise Broken(f"the origin was asked {found} times, not {count}")

    def last(self):
        return self.origin.asked(self.path)[-1]

    def grows_old(self):
        time.sleep(OLD_S)

    def check(self, holds, otherwise):
        if not holds:
            raise Broken(otherwise)


def judge(cache):
    """What came of every rule, by name: None, or what was done instead."""
    found = {}

    def run(each):
        try:
            each.trial(Trial(cache, each.name))
            found[each.name] = None
        except Broken as broken:
            found[each.name] = str(broken)
        except (OSError, http.client.HTTPException) as error:
            found[each.name] = f"{type(error).__name__}: {error}"

    threads = [threading.Thread(target=run, args=(each,), daemon=True) for each in RULES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60 * ron.SLOW)
    return {each.name: found.get(each.name, "no end") for each in RULES}


FOR_LONG = "Cache-Control: max-age=60"
FOR_SHORT = f"Cache-Control: max-age={FRESH_S}"


# How long an answer is good.

@rule("4.2.1", "`max-age`: answered without the origin while it lasts, then asked again")
def max_age(trial):
    trial.say(Resource(b"one", FOR_SHORT))
    for _ in range(3):
        trial.get(body=b"one")
    trial.asked(1)
    trial.grows_old()
    trial.get(body=b"one")
    trial.asked(2)


@rule("5.2.2.10", "`s-maxage` goes before `max-age`")
def s_maxage(trial):
    trial.say(Resource(b"one", "Cache-Control: max-age=60, s-maxage=0"))
    trial.get()
    trial.get()
    trial.asked(2)


@rule("5.2.2.10", "`s-maxage` goes before a shorter `max-age`, too")
def s_maxage_longer(trial):
    trial.say(Resource(b"one", "Cache-Control: max-age=0, s-maxage=60"))
    trial.get()
    trial.get()
    trial.asked(1)


@rule("5.3", "`max-age` goes before `Expires`")
def max_age_before_expires(trial):
    trial.say(Resource(b"one", FOR_LONG, "Expires: " + origin.http_date(-3600)))
    trial.get()
    trial.get()
    trial.asked(1)


@rule("5.3", "`Expires` in the future is kept until then")
def expires(trial):
    trial.say(Resource(b"one", "Expires: " + origin.http_date(60)))
    trial.get()
    trial.get()
    trial.asked(1)


@rule("5.3", "`Expires` in the past is old at once")
def expired(trial):
    trial.say(Resource(b"one", "Expires: " + origin.http_date(-60)))
    trial.get()
    trial.get()
    trial.asked(2)


@rule("5.3", "`Expires: 0` and what else is no date is old at once")
def expires_malformed(trial):
    trial.say(Resource(b"one", "Expires: 0"))
    trial.get()
    trial.get()
    trial.asked(2)


@rule("4.2.1", "a `max-age` that is no number is old at once")
def max_age_malformed(trial):
    trial.say(Resource(b"one", "Cache-Control: max-age=soon"))
    trial.get()
    trial.get()
    trial.asked(2)


@rule("4.2.2", "with `Last-Modified` alone: a tenth of its age")
def heuristic(trial):
    trial.say(Resource(b"one", modified=origin.http_date(-10 * 86400)))
    trial.get()
    trial.get()
    trial.asked(1)


@rule("4.2.3", "the `Age` it came with counts")
def age_counts(trial):
    trial.say(Resource(b"one", "Cache-Control: max-age=100", "Age: 200"))
    trial.get()
    trial.get()
    trial.asked(2)


@rule("5.1", "answers from the cache say their `Age`, with the one they came with")
def age_said(trial):
    trial.say(Resource(b"one", "Cache-Control: max-age=600", "Age: 50"))
    trial.get()
    time.sleep(1.2)
    age = trial.get().get("Age") or ""
    trial.check(age.isdigit() and 51 <= int(age) <= 51 + 4 * ron.SLOW, f"Age {age!r}")


# What is kept.

@rule("5.2.2.5", "`no-store` is never kept")
def no_store(trial):
    trial.say(Resource(b"one", "Cache-Control: no-store, max-age=60"))
    trial.get()
    trial.get()
    trial.asked(2)
    trial.check(trial.last().get("if-none-match") is None, "a copy was kept and validated")


@rule("5.2.2.7", "`private` is never kept")
def private(trial):
    trial.say(Resource(b"one", "Cache-Control: private, max-age=60"))
    trial.get()
    trial.get()
    trial.asked(2)


@rule("7.3", "an answer with `Set-Cookie` is not kept")
def cookie(trial):
    trial.say(Resource(b"one", FOR_LONG, "Set-Cookie: id=1"))
    trial.get()
    trial.get()
    trial.asked(2)


@rule("7.3", "unless it says `public`")
def cookie_for_all(trial):
    trial.say(Resource(b"one", "Cache-Control: public, max-age=60", "Set-Cookie: id=1"))
    trial.get()
    trial.get()
    trial.asked(1)


@rule("5.2.1.5", "what was asked for with `no-store` is not kept")
def request_no_store(trial):
    trial.say(Resource(b"one", FOR_LONG))
    trial.get("Cache-Control: no-store")
    trial.get()
    trial.asked(2)


@rule("4.1", "`Vary`: a copy for each value of the field")
def vary(trial):
    def way(peer, request):
        text = (request.get("accept-language") or "-").encode()
        return Answer(text, FOR_LONG, "Vary: Accept-Language", f'ETag: "{text.decode()}"')(
            peer, request)

    trial.say(way)
    for _ in range(2):
        trial.get("Accept-Language: de", body=b"de")
        trial.get("Accept-Language: en", body=b"en")
    trial.asked(2)


@rule("4.1", "`Vary: *` is never answered from a copy")
def vary_all(trial):
    trial.say(Resource(b"one", FOR_LONG, "Vary: *"))
    trial.get()
    trial.get()
    trial.asked(2)


@rule("2", "another query is another resource")
def query(trial):
    def way(peer, request):
        text = request.target.partition("?")[2].encode()
        return Answer(text, FOR_LONG, f'ETag: "{text.decode()}"')(peer, request)

    trial.say(way)
    for _ in range(2):
        for each in (b"a=1", b"a=2", b"a=1&b=2"):
            trial.get(query="?" + each.decode(), body=each)
    trial.asked(3)


@rule("3.3", "an answer that breaks off is not kept")
def incomplete(trial):
    whole = Answer(bytes(100_000), FOR_LONG, 'ETag: "1"')
    trial.say(origin.closed_after(whole, 50_000), whole)
    try:
        first = trial.get(status=None)
        trial.check(first.status >= 500, "half of it passed for all of it")
    except (OSError, http.client.HTTPException):
        pass  # the client was told that it broke off
    trial.get(body=whole.body)


@rule("3.1", "fields of the connection are neither kept nor passed on")
def connection_fields(trial):
    trial.say(Resource(b"one", FOR_LONG, "Connection: X-Hop", "X-Hop: secret", "Keep-Alive: a=1"))
    for _ in range(2):
        reply = trial.get()
        trial.check(reply.get("X-Hop") is None, "a field that Connection names was passed on")
        trial.check("a=1" not in (reply.get("Keep-Alive") or ""), "Keep-Alive was passed on")


@rule("4", "who asks at once waits for one answer")
def collapsed(trial):
    trial.say(origin.after(0.5, Resource(b"one", FOR_LONG)))
    threads = [threading.Thread(target=lambda: trial.get(status=None)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    trial.asked(1)


# Validation.

@rule("4.3.1", "an old copy is validated by its `ETag`")
def validates(trial):
    trial.say(Resource(b"one", FOR_SHORT, etag='"tag"'))
    trial.get()
    trial.grows_old()
    trial.get(body=b"one")
    trial.asked(2)
    trial.check(trial.last().get("if-none-match") == '"tag"', "without If-None-Match")


@rule("4.3.1", "or by its `Last-Modified`")
def validates_by_date(trial):
    date = origin.http_date(-5)
    trial.say(Resource(b"one", FOR_SHORT, etag=None, modified=date))
    trial.get()
    trial.grows_old()
    trial.get(body=b"one")
    trial.asked(2)
    trial.check(trial.last().get("if-modified-since") == date, "without If-Modified-Since")


@rule("4.3.4", "a 304 makes the copy good again, and says for how long")
def freshened(trial):
    resource = Resource(b"one", FOR_SHORT)
    trial.say(resource)
    trial.get()
    trial.grows_old()
    resource.fields = (FOR_LONG,)
    trial.get(body=b"one")
    trial.asked(2)
    trial.grows_old()
    trial.get(body=b"one")
    trial.asked(2)


@rule("4.3.3", "a 200 to a validation takes the copy's place")
def replaced(trial):
    resource = Resource(b"one", FOR_SHORT)
    trial.say(resource)
    trial.get(body=b"one")
    trial.grows_old()
    resource.body, resource.etag, resource.fields = b"two", '"2"', (FOR_LONG,)
    trial.get(body=b"two")
    trial.get(body=b"two")
    trial.asked(2)


@rule("4.3.3", "a 404 to a validation is what the client gets")
def gone(trial):
    trial.say(Resource(b"one", FOR_SHORT), Answer(b"no", status="404 Not Found"))
    trial.get(body=b"one")
    trial.grows_old()
    trial.get(status=404)


@rule("5.2.2.4", "`no-cache` is kept, and validated every time")
def no_cache(trial):
    trial.say(Resource(b"one", "Cache-Control: no-cache, max-age=60"))
    trial.get()
    trial.get(body=b"one")
    trial.asked(2)
    trial.check(trial.last().get("if-none-match") == '"1"', "it was not kept")


@rule("5.2.2.2", "`must-revalidate`: no old copy, not even when the origin fails")
def must_revalidate(trial):
    trial.say(Resource(b"one", f"Cache-Control: max-age={FRESH_S}, must-revalidate"),
              Answer(b"sorry", status="500 Internal Server Error"))
    trial.get()
    trial.grows_old()
    reply = trial.get(status=None)
    trial.check(reply.status >= 500, f"status {reply.status}")


@rule("5.2.2.8", "`proxy-revalidate`: the same")
def proxy_revalidate(trial):
    trial.say(Resource(b"one", f"Cache-Control: max-age={FRESH_S}, proxy-revalidate"),
              Answer(b"sorry", status="500 Internal Server Error"))
    trial.get()
    trial.grows_old()
    reply = trial.get(status=None)
    trial.check(reply.status >= 500, f"status {reply.status}")


@rule("5.2.2.10", "`s-maxage`: the same")
def s_maxage_revalidates(trial):
    trial.say(Resource(b"one", f"Cache-Control: s-maxage={FRESH_S}"),
              Answer(b"sorry", status="500 Internal Server Error"))
    trial.get()
    trial.grows_old()
    reply = trial.get(status=None)
    trial.check(reply.status >= 500, f"status {reply.status}")


@rule("RFC 5861, 4", "`stale-if-error`: an old copy is better than a 500")
def stale_if_error(trial):
    trial.say(Resource(b"one", f"Cache-Control: max-age={FRESH_S}, stale-if-error=60"),
              Answer(b"sorry", status="500 Internal Server Error"))
    trial.get()
    trial.grows_old()
    trial.get(body=b"one")
    trial.asked(2)


@rule("RFC 5861, 4", "and not for longer than it says")
def stale_if_error_ends(trial):
    trial.say(Resource(b"one", "Cache-Control: max-age=1, stale-if-error=1"),
              Answer(b"sorry", status="500 Internal Server Error"))
    trial.get()
    time.sleep(4.2)
    reply = trial.get(status=None)
    trial.check(reply.status >= 500, f"status {reply.status}")


@rule("4.2.4", "an old copy when the connection breaks, if nothing forbids it")
def stale_when_cut_off(trial):
    trial.say(Resource(b"one", FOR_SHORT), origin.reset)
    trial.get()
    trial.grows_old()
    trial.get(body=b"one")


# What clients may say.

@rule("5.2.1.4", "`no-cache` of a request: validated first")
def request_no_cache(trial):
    trial.say(Resource(b"one", FOR_LONG))
    trial.get()
    trial.get("Cache-Control: no-cache", body=b"one")
    trial.asked(2)


@rule("5.2.1.1", "`max-age=0` of a request: validated first")
def request_max_age(trial):
    trial.say(Resource(b"one", FOR_LONG))
    trial.get()
    time.sleep(1.2)  # an age of 0 would do
    trial.get("Cache-Control: max-age=0", body=b"one")
    trial.asked(2)


@rule("5.2.1.3", "`min-fresh`: a copy that is not good for so long is validated")
def request_min_fresh(trial):
    trial.say(Resource(b"one", FOR_LONG))
    trial.get()
    trial.get("Cache-Control: min-fresh=30", body=b"one")
    trial.asked(1)
    trial.get("Cache-Control: min-fresh=600", body=b"one")
    trial.asked(2)


@rule("5.2.1.2", "`max-stale`: an old copy will do")
def request_max_stale(trial):
    trial.say(Resource(b"one", FOR_SHORT))
    trial.get()
    trial.grows_old()
    trial.get("Cache-Control: max-stale=60", body=b"one")
    trial.asked(1)


@rule("5.2.1.7", "`only-if-cached`: 504 rather than asking the origin")
def only_if_cached(trial):
    trial.say(Resource(b"one", FOR_LONG))
    trial.get("Cache-Control: only-if-cached", status=504)
    trial.asked(0)
    trial.get()
    trial.get("Cache-Control: only-if-cached", body=b"one")
    trial.asked(1)


# Answers from a copy.

@rule("4.3.2", "`If-None-Match` is answered 304 from the copy")
def not_modified(trial):
    trial.say(Resource(b"one", FOR_LONG))
    tag = trial.get().get("ETag")
    trial.get("If-None-Match: " + tag, status=304)
    trial.asked(1)


@rule("4.3.2", "`If-Modified-Since` is answered 304 from the copy", claimed=False)
def not_modified_since(trial):
    date = origin.http_date(-3600)
    trial.say(Resource(b"one", FOR_LONG, modified=date))
    trial.get()
    trial.get("If-Modified-Since: " + date, status=304)
    trial.asked(1)


@rule("9110, 14.2", "a range is cut out of the copy")
def part(trial):
    trial.say(Resource(b"0123456789", FOR_LONG))
    trial.get()
    reply = trial.get("Range: bytes=2-4", status=206, body=b"234")
    trial.check(reply.get("Content-Range") == "bytes 2-4/10", "without Content-Range")
    trial.asked(1)


@rule("4", "HEAD is answered from the copy of a GET")
def head(trial):
    trial.say(Resource(b"one", FOR_LONG))
    trial.get()
    reply = trial.get(method="HEAD", body=b"")
    trial.check(reply.get("Content-Length") == "3", "another length")
    trial.asked(1)
