"""What a case of the strictness suite is: raw bytes in, exact answers and connection state out."""

import dataclasses

DIGITS = b"0123456789abcdefghij"  # the object that ranges are cut from
KIB = 1024
MIB = 1024 * KIB
MAX_TARGET = 4 * KIB
MAX_HEAD = 16 * KIB
MAX_FIELDS = 64

OPEN, CLOSED = "open", "closed"
LEFT = "left"  # the client said it sends no more, so the end needs no announcement
HALF_CLOSE = object()  # a step: FIN from the client
CONTINUE = object()  # a step: the server must say 100 before the rest is sent
EACH_BYTE = object()  # a step: everything after it goes out byte by byte

CORR_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@dataclasses.dataclass
class Answer:
    status: int
    code: str | None = None  # of the error envelope
    body: bytes | None = None  # None: not looked at
    headers: dict = dataclasses.field(default_factory=dict)  # None: must be absent
    head_only: bool = False


@dataclasses.dataclass
class Case:
    name: str
    steps: list  # bytes and the markers above
    answers: list
    after: str  # OPEN, CLOSED or LEFT


class Table:
    """Collects cases. `text` is sent as latin-1; {names} are filled in from the world: addresses of
    stored objects, the token."""

    def __init__(self, world):
        self.world = world
        self.cases = []

    def fill(self, step):
        if isinstance(step, str):
            for name, value in self.world.items():
                step = step.replace("{" + name + "}", value)
            step = step.encode("latin-1")
        return step

    def add(self, name, steps, answers, after):
        if not isinstance(steps, list):
            steps = [steps]
        if not isinstance(answers, list):
            answers = [answers]
        answers = [Answer(a) if isinstance(a, int) else a for a in answers]
        self.cases.append(Case(name, [self.fill(step) for step in steps], answers, after))

    def refused(self, name, steps, status=400, code="Malformed"):
        """One error answer, then the end of the connection."""
        self.add(name, steps, Answer(status, code), CLOSED)

    def denied(self, name, steps, status, code, **more):
        """One error answer that leaves the connection usable."""
        self.add(name, steps, Answer(status, code, **more), OPEN)


def get(path, *fields, version="HTTP/1.1", method="GET"):
    return "\r\n".join([f"{method} {path} {version}", "Host: test", *fields, "", ""])


def post(body, *fields):
    """A write with a capability; body as latin-1 text."""
    return get("/o", "Authorization: Bearer {token}", *fields, method="POST") + body


def sized(body, *fields):
    return post(body, f"Content-Length: {len(body)}", *fields)


def chunked(body, *fields):
    return post(body, "Transfer-Encoding: chunked", *fields)


def text(data):
    return data.decode("latin-1")


def build(world, *groups):
    table = Table(world)
    for group in groups:
        group(table)
    for case in table.cases:
        for answer in case.answers:
            answer.headers = {name: value and table.fill(value).decode()
                              for name, value in answer.headers.items()}
    return table.cases
