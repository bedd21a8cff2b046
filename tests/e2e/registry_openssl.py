"""svc-registry as people have it who sign with `openssl` alone; see `registry.py` for the rest."""

import base64
import json
import pathlib
import subprocess
import tempfile

import ron


class Signer:
    """A signer's key as people have it, used with `openssl` alone."""

    def __init__(self, pem):
        self.pem = pathlib.Path(pem)
        der = subprocess.run(["openssl", "pkey", "-in", str(pem), "-pubout", "-outform", "DER"],
                             capture_output=True, check=True).stdout
        self.public = der[-32:]
        self.id = ron.b3(self.public)[3:19]

    @classmethod
    def make(cls, directory, name):
        pem = pathlib.Path(directory) / f"{name}.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(pem)],
                       capture_output=True, check=True)
        return cls(pem)

    def value(self, name, **more):
        """As it stands in a list of signers."""
        return {"name": name, "public_key": base64.b64encode(self.public).decode(), **more}

    def sign(self, text):
        # pkeyutl wants to know the length before: a file, no pipe.
        with tempfile.NamedTemporaryFile() as file:
            file.write(text.encode())
            file.flush()
            return subprocess.run(
                ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", str(self.pem), "-in", file.name],
                capture_output=True, check=True).stdout


class Server(ron.Process):
    """One `ron registry` process on the directory `data`, which outlives it, or in memory."""

    def __init__(self, data=None, **more):
        where = ["--data", data] if data else ["--amnesia"]
        more["sets"] = {"registry.server.max_rps": 1000000, **more.get("sets", {})}
        super().__init__(["registry", *where], ["svc-registry"], **more)
        self.data = pathlib.Path(data) if data else None

    def signers(self):
        """Those of the first start, while their keys are still there."""
        return [Signer(pem) for pem in sorted((self.data / "keys/signers").glob("*.pem"))]

    def ask(self, method, path, document=None):
        body = None if document is None else json.dumps(document).encode()
        with self.connect() as connection:
            return connection.ask(method, path, [self.auth, ("Content-Type", "application/json")],
                                  body)

    def get(self, path):
        response = self.ask("GET", path)
        assert response.status == 200, (path, response.status, response.body)
        return response

    def propose(self, change, **more):
        response = self.ask("POST", "/registry/proposals", {"change": change, **more})
        assert response.status == 202, (response.status, response.body)
        return response.json()

    def approve(self, proposal, signer):
        signature = base64.b64encode(signer.sign(proposal["sign"])).decode()
        return self.ask("POST", "/registry/approvals/" + proposal["proposal"],
                        {"signer": signer.id, "signature": signature})

    def change(self, change, signers, **more):
        """Proposes, approves and commits; returns the new HEAD."""
        proposal = self.propose(change, **more)
        for signer in signers:
            response = self.approve(proposal, signer)
            assert response.status == 200, (response.status, response.body)
        response = self.ask("POST", "/registry/commit/" + proposal["proposal"], {})
        assert response.status == 201, (response.status, response.body)
        return response.json()

    def one_is_enough(self):
        """A version that lowers the threshold to 1, for logs of many versions; returns who approves
        the rest."""
        signers = self.signers()
        self.change({"kind": "signers", "threshold": 1, "signers": [
            signer.value(f"signer-{number}") for number, signer in enumerate(signers)]}, signers[:2])
        return signers[:1]

    def checkpoint(self):
        """A signed one that covers HEAD."""
        with self.connect_admin() as connection:
            response = connection.ask("POST", "/admin/registry/checkpoint", [self.auth], b"")
        assert response.status == 200, (response.status, response.body)
        return response.json()["note"]

    def vkey(self):
        return self.get("/registry/checkpoints").json()["vkey"]
