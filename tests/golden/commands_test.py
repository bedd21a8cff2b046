"""What the commands of `ron` answer: exit codes, errors of one line, help with examples.

Run by ctest; by hand: commands_test.py --ron build/release/ron
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

OPTIONS = None
COMMANDS = ("config", "diff", "doctor", "edge", "gateway", "get", "help", "index", "key", "ls", "name", "pack",
            "providers", "put", "registry", "resolve", "rm", "site", "stat", "storage", "token", "topology", "up", "verify",
            "version")
PACK = ("add", "convert", "info", "ls", "rm", "tile", "verify")
SITE = ("add", "ls", "rm")
NAME = ("get", "history", "ls", "rm", "set")
REGISTRY = ("approve", "commit", "head", "init", "log", "proof", "proposals", "propose", "reject", "show", "state",
            "supersede", "verify", "withdraw")


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ron-commands-")
        self.addCleanup(shutil.rmtree, self.folder)

    def run_ron(self, *arguments, environment=None, given=""):
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("RON_")}
        return subprocess.run([OPTIONS.ron, *arguments], capture_output=True, text=True,
                              timeout=60, cwd=self.folder, input=given,
                              env={**inherited, **(environment or {})})

    def refused(self, status, *arguments, **more):
        """The one line of a refusal, without its `ron: `."""
        done = self.run_ron(*arguments, **more)
        self.assertEqual(done.returncode, status, done)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Aron: [^\n]+\n\Z")
        return done.stderr[5:-1]

    def answer(self, *arguments, **more):
        done = self.run_ron(*arguments, **more)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    # Usage.

    def test_what_there_is_no_command_for_is_answered_with_those_there_are(self):
        there_are = ", ".join(COMMANDS)
        self.assertTrue(self.refused(2).startswith("say what to do: " + there_are))
        self.assertEqual(self.refused(2, "nothing-like-it"),
                         "no command 'nothing-like-it' in this build; there are " + there_are)
        self.assertIn("no command 'name hist' in this build", self.refused(2, "name", "hist"))
        self.assertIn("name needs a command: get, history, ls, rm, set", self.refused(2, "name"))
        self.assertIn("pack needs a command: add, convert, info, ls, rm, tile, verify", self.refused(2, "pack"))
        self.assertIn("no command 'registry hed' in this build (did you mean head?); there are "
                      "approve, commit, head, init, log", self.refused(2, "registry", "hed"))
        self.assertIn("did you mean storage?", self.refused(2, "stroage"))
        self.assertEqual(self.refused(2, "token", "mnt"),
                         "no command 'token mnt' in this build (did you mean mint?); "
                         "there are attenuate, inspect, mint")
        self.assertIn("token needs a command: attenuate, inspect, mint", self.refused(2, "token"))

    def test_bad_options_are_bad_usage(self):
        self.assertIn("no option --frob", self.refused(2, "storage", "--frob=1"))
        self.assertIn("no option --frob", self.refused(2, "--frob"))
        self.assertIn("--log-level", self.refused(2, "storage", "--log-level", "loud"))
        self.assertIn("--log-format", self.refused(2, "storage", "--log-format", "xml"))
        self.assertIn("--format", self.refused(2, "config", "show", "--format", "yaml"))
        self.assertIn("--scope", self.refused(2, "token", "mint", "--keys", "k"))
        self.assertIn("--admin-url excludes --static",
                      self.refused(2, "topology", "--static", "--url", "http://[::1]:1"))
        self.assertIn("does not begin with http://", self.refused(2, "topology", "--url", "nonsense"))

    def test_surplus_words_are_not_repeated(self):
        for arguments in (("token", "attenuate", "hunter2"), ("token", "inspect", "a", "hunter2"),
                          ("storage", "--set", "log.level=info", "hunter2")):
            self.assertNotIn("hunter2", self.refused(2, *arguments))

    def test_help_shows_examples(self):
        for command in (["put"], ["get"], ["stat"], ["rm"], ["verify"], ["up"], ["storage"], ["token", "mint"], ["token", "attenuate"],
                        ["token", "inspect"], ["key", "gen"], ["key", "show"], ["config", "check"],
                        ["config", "show"], ["topology"], ["doctor"], ["registry"],
                        ["ls"], ["diff"], ["resolve"], ["providers"], *(["name", name] for name in NAME),
                        *(["pack", name] for name in PACK), *(["site", name] for name in SITE),
                        *(["registry", name] for name in REGISTRY)):
            text = self.answer(*command, "--help")
            self.assertIn("ron " + " ".join(command), text.split("Example", 1)[1], command)
        self.assertIn("First steps:", self.answer("--help"))

    def test_help_is_a_command_too(self):
        self.assertEqual(self.answer("help"), self.answer("--help"))
        self.assertEqual(self.answer("help", "put"), self.answer("put", "--help"))
        self.assertEqual(self.answer("help", "token", "mint"), self.answer("token", "mint", "--help"))
        self.assertIn("did you mean put?", self.refused(2, "help", "putt"))
        self.assertIn("no command 'token frob'", self.refused(2, "help", "token", "frob"))

    def test_version(self):
        self.assertRegex(self.answer("version"), r"\Aron \d+\.\d+\.\d+\n\Z")
        self.assertEqual(self.answer("--version"), self.answer("version"))

    # A start that fails.

    def test_a_failed_start_names_the_key_or_file(self):
        self.write("taken", "")
        self.assertIn("taken", self.refused(1, "storage", "--data", "taken"))
        self.assertIn("none.toml", self.refused(1, "storage", "--config", "none.toml"))
        self.assertIn("storage.max_conns", self.refused(1, "storage", "--set", "storage.max_cons=1"))
        self.assertIn("auth.keys_dir",
                      self.refused(1, "storage", "--amnesia", "--set", "auth.keys_dir=none"))
        self.assertIn("storage.bind", self.refused(1, "storage", "--amnesia", "--bind", "x:1"))
        self.assertIn("auth.deny", self.refused(1, "storage", "--amnesia", "--set", "auth.deny=x"))

    def test_every_problem_has_its_line(self):
        self.write("ron.toml", "[storage]\nmax_conns = 0\nmax_rps = 3\n")
        done = self.run_ron("storage", "--config", "ron.toml")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.split("\n"), [
            "ron: ron.toml:3: storage.max_rps: unknown key; did you mean storage.server.max_rps?",
            "ron: ron.toml:2: storage.max_conns: 0 is too small; allowed 1 to 1000000", ""])

    # Configuration.

    def test_config_check(self):
        self.assertRegex(self.answer("config", "check"), r"\Aok: \d+ keys, 0 of them set\n\Z")
        self.write("ron.toml", "[storage.storage]\namnesia = true\n")
        self.assertIn(" 2 of them set", self.answer(
            "config", "check", "--config", "ron.toml", "--set", "storage.server.max_rps=9"))
        self.assertEqual(
            self.refused(1, "config", "check", "--config", "ron.toml",
                         environment={"RON_STORAGE__CAHCE_BYTES": "1GiB"}),
            "env RON_STORAGE__CAHCE_BYTES: storage.cahce_bytes: unknown key; "
            "did you mean RON_STORAGE__CACHE_BYTES?")
        self.assertIn("auth.deny", self.refused(1, "config", "check", "--set", "auth.deny=x"))

    def test_near_misses_in_the_environment_name_the_right_variable(self):
        for given, right in (("RON_STORAGE_CACHE_BYTES", "RON_STORAGE__CACHE_BYTES"),
                             ("RON_LOG_LEVEL", "RON_LOG__LEVEL"),
                             ("RON_COMMIT_WINDOW", "RON_STORAGE__COMMIT_WINDOW")):
            for command in (("storage",), ("config", "show")):
                self.assertEqual(self.refused(1, *command, environment={given: "1"}),
                                 f"env {given}: unknown variable; did you mean {right}?")
            self.assertIn(right, self.run_ron("doctor", environment={given: "1"}).stdout)
        # A key that several services have: the one in front is meant.
        self.assertIn("RON_GATEWAY__SERVER__MAX_RPS",
                      self.refused(1, "config", "show", environment={"RON_MAX_RPS": "1"}))
        self.assertIn("did you mean RON_URL?",
                      self.refused(2, "stat", environment={"RON_URI": "http://127.0.0.1:1"}))
        others = {"RON_BINARY": "x", "RON_E2E_SLOW": "1", "RON_URL": "x", "RON_TOKEN": "x",
                  "RON_ADMIN_URL": "x", "RON_EDGE__MODE": "live"}
        self.answer("config", "check", environment=others)

    def test_config_show_says_where_values_come_from(self):
        self.write("ron.toml", "[storage.storage]\ncache_bytes = \"1GiB\"\n")
        arguments = ("config", "show", "--config", "ron.toml", "--set", "log.level=warn")
        environment = {"RON_STORAGE__STORAGE__AMNESIA": "true"}
        text = self.answer(*arguments, environment=environment)
        self.assertRegex(text, r"\nstorage\.cache_bytes +1GiB +ron\.toml:2\n")
        self.assertRegex(text, r"\nstorage\.amnesia +true +env RON_STORAGE__STORAGE__AMNESIA\n")
        self.assertRegex(text, r"\nlog\.level +warn +flag\n")
        shown = json.loads(self.answer(*arguments, "--format", "json", environment=environment))
        self.assertEqual(shown["storage.cache_bytes"],
                         {"value": "1GiB", "source": "ron.toml:2", "reload": "hot"})

    def test_config_show_writes_a_file_that_means_the_same(self):
        settings = ("--set", "storage.amnesia=true", "--set", "storage.server.max_rps=9")
        self.write("made.toml", self.answer("config", "show", *settings, "--format", "toml"))

        def values(*arguments):
            shown = json.loads(self.answer("config", "show", *arguments, "--format", "json"))
            return {key: entry["value"] for key, entry in shown.items()}

        self.assertEqual(values("--config", "made.toml"), values(*settings))

    def test_both_spellings_of_a_key_are_an_error(self):
        self.assertIn("is given twice", self.refused(
            1, "storage", "--amnesia", "--set", "storage.storage.amnesia=true"))

    # Topology and doctor.

    def test_topology_as_declared(self):
        self.assertIn("listener -> get-worker, put-worker", self.answer("topology", "--static"))
        declared = json.loads(self.answer("topology", "--static", "--format", "json"))
        self.assertEqual(declared[0]["service"], "svc-storage")
        self.assertTrue(self.answer("topology", "--static", "--format", "mermaid")
                        .startswith("flowchart LR\n"))
        self.assertIn("http://127.0.0.1:1: ",
                      self.refused(1, "topology", "--url", "http://127.0.0.1:1"))

    def test_doctor_says_what_to_do(self):
        free = ("--set", "storage.bind=127.0.0.1:0", "--set", "storage.admin=127.0.0.1:0")
        done = self.run_ron("doctor", *free, "--set", "auth.keys_dir=none")
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stdout, r"(?m)^fail  keys .*ron key gen")
        self.run_ron("key", "gen", "--keys", "keys")
        done = self.run_ron("doctor", *free, "--set", "storage.amnesia=true", "--set",
                            "auth.keys_dir=keys", "--set", "storage.server.max_inflight=1",
                            "--set", "storage.max_conns=8", "-v")
        self.assertEqual(done.returncode, 0, done)
        for line in done.stdout.strip().split("\n"):
            self.assertRegex(line, r"\A(ok  |warn)  ")
        self.assertRegex(done.stdout, r"(?m)^ok +memory .*storage\.cache_bytes")
        self.assertRegex(done.stdout, r"(?m)^ok +keys +1 usable, active k[0-9a-f]{16}$")

    # The registry, where no server is needed.

    def test_a_log_is_begun_once_with_signers_of_ones_choice(self):
        for name in ("alice", "bob", "carol"):
            said = self.answer("key", "gen", "--signer", name, "--out", name + ".pem")
            self.assertRegex(said, rf"\Asigner [0-9a-f]{{16}}  {name}\npublic key [A-Za-z0-9+/]{{43}}=\n")
            secret = os.path.join(self.folder, name + ".pem")
            self.assertEqual(os.stat(secret).st_mode & 0o777, 0o600)
            with open(secret, encoding="utf-8") as file:
                self.assertNotIn(file.read().split("\n")[1], said + self.answer("key", "show", name + ".pem"))
            self.assertEqual(self.answer("key", "show", name + ".pem").split("  ")[:2],
                             self.answer("key", "show", name + ".pub").split("  ")[:2])
        self.assertIn("not replaced", self.refused(1, "key", "gen", "--signer", "eve", "--out", "bob.pem"))
        init = ("registry", "init", "--signer", "alice.pub", "--signer", "bob.pub", "--signer", "carol.pub")
        self.assertIn("threshold must be at least 1 and less than the number of signers",
                      self.refused(2, *init, "--threshold", "3"))
        self.assertIn("is a secret key; give the public one, alice.pub", self.refused(
            2, "registry", "init", "--signer", "alice.pem", "--threshold", "1"))
        said = self.answer(*init, "--threshold", "2")
        self.assertRegex(said, r"\Alog b3:[0-9a-f]{64} in ron-data/registry\nthreshold 2\n")
        self.assertEqual(sorted(re.findall(r"(?m)^signer [0-9a-f]{16}  (\w+)$", said)),
                         ["alice", "bob", "carol"])
        self.assertIn("there is a log already", self.run_ron(*init, "--threshold", "2").stderr)
        done = self.run_ron("registry", "verify", "--data", "ron-data")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("versions 0 to 0", done.stdout)

    def test_the_registrys_commands_say_what_is_missing(self):
        self.assertIn("ron registry proposals lists them",
                      self.refused(2, "registry", "commit", "nonsense"))
        self.write("body.json", "{nonsense")
        self.assertIn("'body.json' is no JSON document", self.refused(1, "registry", "propose", "body.json"))
        self.assertIn("say a version, a proposal's id or type/id", self.refused(2, "registry", "show", "nonsense"))
        self.assertIn("there is no log", self.run_ron("registry", "verify", "--data", ".").stderr)
        self.assertIn("--vkey: ", self.refused(2, "registry", "verify", "--vkey", "nonsense"))

    # Secrets.

    def test_tokens_come_from_files_standard_input_and_the_environment(self):
        self.answer("key", "gen", "--keys", "keys")
        token = self.answer("token", "mint", "--keys", "keys", "--scope", "storage:write")
        self.assertEqual(self.answer("token", "mint", "--keys", "keys", "--scope", "storage:write",
                                     "--out", "t"), "")
        self.assertEqual(os.stat(os.path.join(self.folder, "t")).st_mode & 0o777, 0o600)
        by_name = [self.answer("token", "inspect", "-", given=token),
                   self.answer("token", "inspect", environment={"RON_TOKEN": token.strip()})]
        self.assertEqual(by_name[0], by_name[1])
        self.assertRegex(self.answer("token", "inspect", "t"), r"fingerprint: [0-9a-f]{8}\n")
        self.assertIn("RON_TOKEN", self.refused(1, "token", "inspect"))
        self.assertNotIn(token.strip(), self.refused(1, "token", "inspect", token.strip()))

    def test_nothing_prints_a_secret(self):
        said = self.answer("key", "gen", "--keys", "keys")
        name = os.listdir(os.path.join(self.folder, "keys"))[0]
        with open(os.path.join(self.folder, "keys", name), encoding="utf-8") as file:
            secret = re.split(r"\s", file.read())[2]
        self.assertNotIn(secret, said + self.answer("key", "show", "keys"))
        self.assertIn("not replaced", self.refused(1, "key", "gen", "--out", "keys/" + name))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ron", required=True)
    OPTIONS, rest = parser.parse_known_args()
    OPTIONS.ron = os.path.abspath(OPTIONS.ron)
    unittest.main(argv=[sys.argv[0], *rest])
