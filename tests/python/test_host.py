"""How a host starts and ends, and what does not end it."""

import signal
import tempfile
import unittest
from pathlib import Path

from kinds import host
from node import PROBES, Node, frames


class Lives(unittest.TestCase):
    def plugin(self, folder: str, text: str) -> Path:
        path = Path(folder) / "plugin.py"
        path.write_text("from windlass import register\n" + text)
        return path

    def refused(self, text: str, types=("some",)):
        with tempfile.TemporaryDirectory() as folder:
            with Node([self.plugin(folder, text)], {name: 1 for name in types}) as node:
                last = list(node.rest())[-1].header
                self.assertEqual((last["t"], last["run"], last["kind"]), ("failed", None, "permanent"))
                self.assertEqual(node.exit_code(), 1)
                return last

    def test_a_setup_that_fails_ends_the_host(self):
        for failure in ("raise OSError('no model')", "raise SystemExit(0)"):
            text = "def load():\n    %s\n@register('some', setup=load)\ndef infer(a, b, c): pass\n" % failure
            last = self.refused(text)
            self.assertEqual(last["code"], "SETUP_FAILED")
            self.assertIn("setup of `some`: ", last["detail"])

    def test_a_file_that_does_not_load_ends_the_host(self):
        self.assertEqual(self.refused("import nothing_like_it\n")["code"], "LOAD_FAILED")
        self.assertIn("registered by none", self.refused("")["detail"])

    def test_the_host_ends_at_once_when_the_node_is_gone(self):
        with host("blocks") as node:
            node.next(node.run("blocks"), "output")
            node.sock.close()
            self.assertEqual(node.exit_code(), 0)

    def test_shutdown_ends_an_idle_host(self):
        with host("function") as node:
            node.call("function")
            node.send({"t": "shutdown"})
            self.assertEqual(node.exit_code(), 0)

    def test_shutdown_lets_a_run_end_and_takes_no_other(self):
        with host("finishes_anyway") as node:
            run = node.run("finishes_anyway")
            node.next(run, "output")
            node.send({"t": "shutdown"})
            refused = node.call("finishes_anyway")
            self.assertEqual(refused.header["code"], "HOST_STOPPING")
            node.cancel(run)
            self.assertEqual(node.end(run).kind, "done")
            self.assertEqual(node.exit_code(), 0)

    def test_signals_meant_for_the_node_do_not_end_the_host(self):
        with host("function") as node:
            node.process.send_signal(signal.SIGTERM)
            node.process.send_signal(signal.SIGINT)
            self.assertEqual(node.call("function").kind, "done")

    def test_a_frame_over_the_bound_ends_the_host(self):
        with host("function") as node:
            node.sock.sendall((frames.MAX_HEADER + 1).to_bytes(4, "big") + bytes(4))
            self.assertEqual(node.exit_code(), 1)

    def test_a_run_can_kill_its_host_in_every_way(self):
        rows = [({"signal": "SIGKILL"}, -9), ({"signal": "SIGTERM"}, -15), ({"signal": "SIGSEGV"}, -11), ({"code": 137}, 137)]
        for payload, code in rows:
            with Node([PROBES / "probe.py"], {"probe_die": 1}) as node:
                node.ready()
                node.run("probe_die", payload)
                self.assertEqual([m.kind for m in node.rest() if m.kind in ("done", "failed")], [])
                self.assertEqual(node.exit_code(), code)

    def test_an_attempt_goes_on_from_the_checkpoint_of_the_killed_one(self):
        payload, checkpoint = {"steps": 4, "kill_at": 1}, None
        with Node([PROBES / "probe.py"], {"probe_checkpoint": 1}) as node:
            node.ready()
            node.run("probe_checkpoint", payload)
            checkpoint = [message.value for message in node.rest() if message.kind == "checkpoint"][-1]
        with Node([PROBES / "probe.py"], {"probe_checkpoint": 1}) as node:
            node.ready()
            steps = node.call("probe_checkpoint", payload, attempt=2, checkpoint=checkpoint).value["steps"]
        self.assertEqual([step["step"] for step in steps], [0, 1, 2, 3])
        self.assertEqual([step["attempt"] for step in steps], [1, 1, 2, 2])

    def test_helpers_beside_a_plugin_and_packages_load(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "_helpers.py").write_text("WORD = 'helped'\n")
            (root / "json.py").write_text("raise RuntimeError('hides the library')\n")
            (root / "package").mkdir()
            (root / "package" / "__init__.py").write_text(
                "import json\nfrom windlass import register\nfrom _helpers import WORD\nfrom .part import more\n"
                "@register('packed')\ndef infer(a, b, c): return json.loads('\"%s %s\"' % (WORD, more()))\n"
                "if __name__ == '__main__': raise SystemExit(1)\n"
            )
            (root / "package" / "part.py").write_text("def more(): return 'more'\n")
            with Node([root / "package"], {"packed": 1}) as node:
                node.ready()
                self.assertEqual(node.call("packed").value, "helped more")


if __name__ == "__main__":
    unittest.main()
