"""What an upstream took for a request, and the answer that all upstreams give."""

import dataclasses

from desync_table import MARK


@dataclasses.dataclass
class Seen:
    """A request as its recipient understood it. `path` is the target as it was normalised, if it
    was; `complete`: it came to its end; `error`: why it was not understood, or not to its end."""

    method: str
    target: str
    fields: list = dataclasses.field(default_factory=list)  # (name in lower case, value)
    body: bytes = b""
    path: str = ""
    complete: bool = True
    error: str = ""

    @property
    def mark(self):
        """Whose it is: by its path, else by the field that requests without one have."""
        said = [value for name, value in self.fields if name == "x-marker"]
        for text in (self.path or self.target, *said):
            found = MARK.search(text)
            if found:
                return found[0]
        return None


def saw(mark, upstream, to_head=False):
    """The answer, as bytes."""
    body = f"saw {mark}"
    return (f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nX-Upstream: {upstream}\r\n"
            f"X-Saw: {mark}\r\n\r\n{'' if to_head else body}").encode()
