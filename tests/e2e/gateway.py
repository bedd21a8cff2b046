"""What end-to-end tests of svc-gateway have besides the harness (`ron.py`)."""

import json

import ron


def toml(routes, keys=()):
    """The section [gateway]: `routes` are dictionaries, one for each row, `keys` what else is set,
    by the key's name behind the section's."""
    settings = {"bind": "127.0.0.1:0", "admin": "127.0.0.1:0", **dict(keys)}
    lines = [f"gateway.{key} = {value(setting)}" for key, setting in settings.items()]
    for route in routes:
        lines += ["", "[[gateway.routes]]"]
        lines += [f"{key} = {value(setting)}" for key, setting in route.items()]
    return "\n".join(lines) + "\n"


def value(setting):
    """As TOML; texts, numbers, booleans and lists of them are written there as in JSON."""
    return json.dumps(setting)


class Server(ron.Process):
    """One `ron gateway` process in front of `routes`: rows with `prefix`, `upstream` and whatever
    else a row has. `keys` are settings of [gateway]."""

    def __init__(self, routes, keys=(), **more):
        super().__init__(["gateway"], ["svc-gateway"], config=toml(routes, keys), **more)
