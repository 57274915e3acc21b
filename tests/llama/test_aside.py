"""Drives a built aside against real llama.cpp, whose model tells the stories of model.py. `run` starts this."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import model

HERE = pathlib.Path(__file__).parent
APIS = {"chat": ("openai-chat", "/v1"), "responses": ("openai-responses", "/v1"), "messages": ("anthropic", "")}
LARGE, LOCAL, SMALL = 65_536, 32_768, 12_288  # tokens of context; a byte of a prompt is a token
TURNS = int(os.environ.get("ASIDE_LLAMA_TURNS", "12"))  # turns of the long conversation


class Llama:
    """A server of llama.cpp, which may still be loading its model."""

    def __init__(self, path, context):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.said = tempfile.TemporaryFile()
        command = [sys.executable, HERE / "serve.py", path, str(self.port), str(context)]
        self.process = subprocess.Popen(command, stdout=self.said, stderr=self.said)
        until = time.monotonic() + 60
        while not self.is_there():
            if self.process.poll() is not None or time.monotonic() > until:
                self.said.seek(0)
                raise RuntimeError("llama.cpp does not start:\n" + self.said.read().decode(errors="replace"))
            time.sleep(0.02)

    def is_there(self):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5)
        except urllib.error.HTTPError:
            pass  # it loads
        except OSError:
            return False
        return True

    def end(self):
        self.process.kill()
        self.process.wait()
        self.said.close()


class World:
    """A workspace and a home, with providers that are the APIs of both servers."""

    def __init__(self, large, local, small):
        self.folder = tempfile.TemporaryDirectory()
        self.work = pathlib.Path(self.folder.name, "work")
        config = pathlib.Path(self.folder.name, "config/aside")
        for folder in [self.work, config]:
            folder.mkdir(parents=True)
        (self.work / "notes.txt").write_text("".join(f"note {n}\n" for n in range(1, model.STEPS + 1)))
        (self.work / "twice.txt").write_text("old\nold\n")
        (self.work / "big.txt").write_text("".join(f"line {n} of a long file\n" for n in range(250)))
        providers = ""
        for size, port in [("", large.port), ("local-", local.port), ("small-", small.port)]:
            for name, (api, path) in APIS.items():
                providers += f'[providers.{size}{name}]\napi = "{api}"\nbase_url = "http://127.0.0.1:{port}{path}"\n'
        (config / "aside.toml").write_text(providers)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": self.folder.name,
            "XDG_CONFIG_HOME": str(config.parent),
            "XDG_STATE_HOME": str(pathlib.Path(self.folder.name, "state")),
            "ASIDE_SANDBOX": "off",
            "NO_PROXY": "*",
        }

    def aside(self, *arguments):
        command = [os.environ["ASIDE"], *arguments]
        return subprocess.run(
            command, cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )


class Turn:
    """A turn as its lines of output tell it."""

    def __init__(self, done):
        self.code, self.stderr = done.returncode, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.end = lines.pop()["params"]
        self.updates = [line["params"]["update"] for line in lines if "update" in line.get("params", {})]

    def count(self, kind):
        return sum(update["kind"] == kind for update in self.updates)

    def __str__(self):
        return f"exit code {self.code}\n{json.dumps(self.end, indent=2)}\n{self.stderr}\n{self.updates[-5:]}"


class Aside(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.TemporaryDirectory()
        path = str(pathlib.Path(cls.models.name, "scripted.gguf"))
        model.write(path)
        cls.large, cls.local, cls.small = Llama(path, LARGE), Llama(path, LOCAL), Llama(path, SMALL)
        cls.addClassCleanup(cls.models.cleanup)
        cls.addClassCleanup(cls.large.end)
        cls.addClassCleanup(cls.local.end)
        cls.addClassCleanup(cls.small.end)

    def setUp(self):
        self.world = World(self.large, self.local, self.small)
        self.addCleanup(self.world.folder.cleanup)

    def turn(self, provider, message, *arguments):
        fixed = ["run", "--non-interactive", "--trust", "--mode", "edits", "--output", "jsonl"]
        return Turn(self.world.aside(*fixed, "-m", f"{provider}/scripted", *arguments, message))

    def completes(self, turn, answer):
        self.assertEqual((turn.code, turn.end.get("answer")), (0, answer), turn)
        # It closes a connection that it said it would keep: that is no reason to be seen trying again.
        self.assertEqual(turn.count("retry"), 0, turn)

    def test_a_loop_of_tools(self):
        for provider in APIS:
            with self.subTest(provider):
                turn = self.turn(provider, "tell loop")
                self.completes(turn, "All steps are done.")
                results = [update["summary"] for update in turn.updates if update["kind"] == "toolResult"]
                expected = [f"lines {n} to {n} of {model.STEPS}" for n in range(1, model.STEPS + 1)]
                self.assertEqual(results, expected, turn)

    def test_a_question_is_answered_in_an_inquiry(self):
        for provider in APIS:
            with self.subTest(provider):
                for strategy in ["in_band", "structured"]:
                    (self.world.work / "twice.txt").write_text("old\nold\n")
                    turn = self.turn(provider, "tell edit", "--set", f"conversation.inquiry.strategy={strategy}")
                    self.completes(turn, "It is edited.")
                    self.assertEqual((self.world.work / "twice.txt").read_text(), "old\nnew\n", turn)

    def test_reasoning_in_the_text_is_no_part_of_the_answer(self):
        for provider in APIS:
            with self.subTest(provider):
                self.completes(self.turn(provider, "tell think"), "I have thought.")

    def test_a_context_that_is_full_is_told_and_a_larger_one_goes_on(self):
        for provider in APIS:
            with self.subTest(provider):
                turn = self.turn(f"small-{provider}", "tell big")
                self.assertEqual(turn.code, 1, turn)
                self.assertIn("the conversation no longer fits the model's context", turn.stderr)
                self.assertEqual(turn.count("retry"), 0, turn)
                self.completes(self.turn(provider, "tell hello", "--continue"), "Hello from llama.cpp.")

    def test_a_long_conversation_in_the_window_of_a_local_model(self):
        # The window is what the server says of it: nobody listed its models before.
        summaries = 0
        for number in range(1, TURNS + 1):
            note = "".join(f"line {line} of note {number}\n" for line in range(100))
            (self.world.work / "long.txt").write_text(note)
            goes_on = ["--continue"] if number > 1 else []
            turn = self.turn("local-chat", f"Fact {number}. tell note", *goes_on)
            self.completes(turn, "This note is read.")
            told = [update["text"] for update in turn.updates if update["kind"] == "notice"]
            summaries += sum("was summarised" in text for text in told)
        self.assertGreaterEqual(summaries, TURNS // 12)
        ledger = self.world.aside("conversation", "ledger")
        self.assertEqual(ledger.returncode, 0, ledger.stderr)
        for number in range(1, TURNS + 1):
            self.assertIn(f"turn {number}: Fact {number}. tell note\n", ledger.stdout)

    def test_its_context_is_listed(self):
        done = self.world.aside("model", "list")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {row[0]: row[1:4] for row in (line.split() for line in done.stdout.splitlines())}
        for provider in APIS:
            self.assertEqual(rows[f"{provider}/scripted"], ["66K", "-", "unknown"], done.stdout)
            self.assertEqual(rows[f"local-{provider}/scripted"], ["33K", "-", "unknown"], done.stdout)
            self.assertEqual(rows[f"small-{provider}/scripted"], ["12K", "-", "unknown"], done.stdout)


if __name__ == "__main__":
    unittest.main()
