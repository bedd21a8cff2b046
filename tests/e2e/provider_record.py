"""Provider records, made and signed without the product's code: who has an object, for how long,
said by a node with its key. And where the lanes of a DHT keep them."""

import time

import cbor
import ron

HOUR_MS = 3600 * 1000


def now_ms():
    return int(time.time() * 1000)


def record(key, address, url="http://127.0.0.1:1", region="", seq=1, expires=None, sign=None,
           **more):
    """The bytes of a record of an address (`b3:…`), signed by `key`, a signing.Key; it holds for
    an hour unless `expires` says until when. `sign` signs in its place, `more` replaces fields
    after that."""
    fields = {"addr": bytes.fromhex(address.removeprefix("b3:")), "url": url, "node": key.public,
              "region": region, "seq": seq,
              "expires": now_ms() + HOUR_MS if expires is None else expires}
    fields["sig"] = (sign or key).sign(b"ron-provider/v1\n" + cbor.encode(fields))
    return cbor.encode({**fields, **more})


def lane_text(lane, address):
    """What the key of an address in a lane is the hash of."""
    return b"ron-lane/v1" + bytes([lane]) + bytes.fromhex(address.removeprefix("b3:"))


def lane_key(lane, address):
    return ron.b3(lane_text(lane, address)).removeprefix("b3:")[:40]
