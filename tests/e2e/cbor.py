"""CBOR (RFC 8949) as far as registries need it: numbers, texts, bytes, lists and maps, encoded as
section 4.2.1 wants it, and decoded without a look at the product's own decoder."""


def _head(major, number):
    if number < 24:
        return bytes([major << 5 | number])
    for info, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if number < 1 << 8 * size:
            return bytes([major << 5 | info]) + number.to_bytes(size, "big")
    raise ValueError(number)


def encode(value):
    if value is None:
        return b"\xf6"
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        text = value.encode()
        return _head(3, len(text)) + text
    if isinstance(value, (list, tuple)):
        return _head(4, len(value)) + b"".join(map(encode, value))
    items = sorted((encode(key), encode(each)) for key, each in value.items())
    return _head(5, len(items)) + b"".join(key + each for key, each in items)


def _take(data, at):
    major, info = data[at] >> 5, data[at] & 31
    at += 1
    if major == 7:
        return {20: False, 21: True, 22: None}[info], at
    number = info
    if info >= 24:
        size = {24: 1, 25: 2, 26: 4, 27: 8}[info]
        number = int.from_bytes(data[at:at + size], "big")
        at += size
    if major == 0:
        return number, at
    if major == 1:
        return -1 - number, at
    if major in (2, 3):
        raw = bytes(data[at:at + number])
        if len(raw) != number:
            raise ValueError("cut off")
        return raw if major == 2 else raw.decode(), at + number
    if major == 4:
        items = []
        for _ in range(number):
            item, at = _take(data, at)
            items.append(item)
        return items, at
    if major == 5:
        found = {}
        for _ in range(number):
            key, at = _take(data, at)
            found[key], at = _take(data, at)
        return found, at
    raise ValueError(f"major type {major}")


def decode(data):
    """One item and nothing behind it."""
    value, at = _take(data, 0)
    if at != len(data):
        raise ValueError("bytes behind the item")
    return value
