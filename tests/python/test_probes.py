"""The probes do what the node's tests believe of them."""

import json
import os
import signal
import socket
import tempfile
import threading
import unittest
import uuid
from pathlib import Path
from typing import Any, Dict, List

from node import PROBES, Node, await_true


def probe(*types: str) -> Node:
    node = Node([PROBES / "probe.py"], {name: 4 for name in types})
    node.ready()
    return node


def marked(marker: str) -> Dict[int, str]:
    """Living processes that carry the marker in their environment."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = Path("/proc", name, "environ").read_bytes()
            if ("PROBE_MARKER=" + marker).encode() in environment.split(b"\0"):
                found[int(name)] = Path("/proc", name, "comm").read_text().strip()
        except OSError:
            continue
    return found


def kill_marked(marker: str) -> None:
    for pid in marked(marker):
        os.kill(pid, signal.SIGKILL)
    await_true(lambda: not marked(marker), "the marked processes are gone")


class Probes(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.ledger = Path(folder.name) / "ledger"
        self.marker = uuid.uuid4().hex
        self.addCleanup(kill_marked, self.marker)

    def noted(self) -> List[Dict[str, Any]]:
        return [json.loads(line) for line in self.ledger.read_text().splitlines()]

    def test_ledger_notes_what_really_ran(self):
        with probe("probe_ledger") as node:
            run = node.run("probe_ledger", {"ledger": str(self.ledger), "seconds": 0.05}, attempt=2, epoch=4)
            self.assertEqual(node.end(run).value["epoch"], 4)
        start, end = self.noted()
        self.assertEqual((start["event"], end["event"], start["attempt"], start["epoch"]), ("start", "end", 2, 4))
        self.assertGreater(end["time"], start["time"] + 0.04)

    def test_stream_notes_that_its_finally_has_run(self):
        with probe("probe_stream") as node:
            run = node.run("probe_stream", {"ledger": str(self.ledger), "n": 10**6, "delay": 0.005})
            node.next(run, "output")
            node.cancel(run)
            self.assertEqual(node.end(run).header["kind"], "cancelled")
            self.assertEqual([line["event"] for line in self.noted()], ["closed"])
            self.assertEqual(node.call("probe_stream", {"n": 2}).value, {"sent": 2})

    def test_astream_hears_a_cancel_while_it_awaits_an_answer(self):
        with socket.create_server(("127.0.0.1", 0)) as upstream, probe("probe_astream") as node:
            url = "http://127.0.0.1:%d/ask" % upstream.getsockname()[1]
            run = node.run("probe_astream", {"url": url, "ledger": str(self.ledger)})
            asked, _ = upstream.accept()
            self.assertTrue(asked.recv(100).startswith(b"GET /ask"))
            node.cancel(run)
            self.assertEqual(node.end(run).header["kind"], "cancelled")
            self.assertEqual([(line["event"], line["cancelled"]) for line in self.noted()], [("closed", True)])
            asked.settimeout(5)
            self.assertEqual(asked.recv(100), b"")
            asked.close()
            run = node.run("probe_astream", {"url": url})
            asked, _ = upstream.accept()
            asked.recv(100)
            asked.sendall(b"hello")
            asked.close()
            self.assertEqual(node.end(run).value, {"answer": "hello"})

    def test_hang_does_not_end_by_a_cancel(self):
        with probe("probe_hang") as node:
            run = node.run("probe_hang", {"seconds": 2.5, "child": True, "marker": self.marker})
            child = node.next(run, "output").value["child"]
            node.cancel(run)
            self.assertEqual(node.end(run).value, {"hung": True})
            self.assertEqual(list(marked(self.marker)), [child])
            kill_marked(self.marker)

    def test_hang_in_native_code_answers_nothing(self):
        node = Node([PROBES / "probe.py"], {"probe_hang": 1})
        node.ready()
        run = node.run("probe_hang", {"native": True})
        node.next(run, "output")
        node.send({"t": "ping", "n": 1})
        node.sock.settimeout(0.5)
        self.assertRaises(socket.timeout, node.read)
        node.process.kill()
        node.__exit__()

    def test_tree_is_deaf_to_sigterm_and_carries_the_marker(self):
        with probe("probe_tree") as node:
            run = node.run("probe_tree", {"marker": self.marker})
            node.next(run, "output")
            tree = marked(self.marker)
            self.assertGreaterEqual(len(tree), 4)
            await_true(lambda: self._deaf(tree), "all of them ignore SIGTERM")
            node.cancel(run)
            self.assertEqual(node.end(run).header["kind"], "cancelled")
            self.assertEqual(set(marked(self.marker)), set(tree))
            kill_marked(self.marker)

    def _deaf(self, pids: Dict[int, str]) -> bool:
        masks = []
        for pid in pids:
            status = Path("/proc", str(pid), "status").read_text()
            masks.append(int(status.split("SigIgn:")[1].split()[0], 16))
        return all(mask & (1 << (signal.SIGTERM - 1)) for mask in masks)

    def test_die_can_spare_later_attempts(self):
        with probe("probe_die") as node:
            self.assertEqual(node.call("probe_die", {"signal": "SIGKILL"}, attempt=2).value, {"survived": 2})

    def test_fail_fails_as_often_as_told(self):
        with probe("probe_fail") as node:
            payload = {"times": 2, "kind": "permanent", "text": "status 503", "code": "NO_SUCH_MODEL"}
            end = node.call("probe_fail", payload, attempt=2).header
            self.assertEqual((end["kind"], end["code"], end["detail"]), ("permanent", "NO_SUCH_MODEL", "status 503"))
            self.assertEqual(node.call("probe_fail", payload, attempt=3).value, {"attempt": 3})

    def test_neighbour_kills_all_of_its_host(self):
        with probe("probe_neighbour") as node:
            node.run("probe_neighbour", {"seconds": 30})
            node.run("probe_neighbour", {"kill": True, "after": 0.05})
            self.assertEqual([message.kind for message in node.rest()], [])
            self.assertEqual(node.exit_code(), -signal.SIGKILL)

    def test_big_is_as_big_as_told(self):
        with probe("probe_big") as node:
            run = node.run("probe_big", {"bytes": 1_000_000, "event": 100_000, "message": 20_000, "checkpoint": 60_000})
            self.assertEqual(len(node.end(run).value), 1_000_000)
            self.assertEqual(len(node.of(run, "output")[0].value), 100_000)
            (told,) = node.of(run, "progress")
            self.assertIn("[cut, 20000 characters in all]", told.header["message"])
            end = node.call("probe_big", {"checkpoint": 70_000}).header
            self.assertEqual((end["kind"], end["code"]), ("permanent", "CHECKPOINT_TOO_LARGE"))

    def test_env_tells_what_a_plugin_can_see(self):
        with probe("probe_env") as node:
            value = node.call("probe_env").value
            self.assertNotIn("WINDLASS_FD", value["environment"])
            self.assertEqual(value["pid"], node.process.pid)

    def test_kill_node_and_memory_end_as_told(self):
        with probe("probe_kill_node", "probe_memory") as node:
            victim = threading.Event()
            before = signal.signal(signal.SIGUSR1, lambda *_: victim.set())
            try:
                payload = {"pid": os.getpid(), "signal": "SIGUSR1", "seconds": 0}
                self.assertEqual(node.call("probe_kill_node", payload).kind, "done")
                await_true(victim.is_set, "the signal arrived")
            finally:
                signal.signal(signal.SIGUSR1, before)
            self.assertEqual(node.call("probe_memory", {"mb": 32}).value, {"mb": 32})


if __name__ == "__main__":
    unittest.main()
