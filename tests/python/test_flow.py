"""What a run tells: under credit, thinned out, and never more than it may."""

import unittest

from kinds import host
from node import PROBES, Node, await_true


class Flow(unittest.TestCase):
    def check_credit(self, name: str, credit: int, payload: dict) -> None:
        """`credit` outputs come without an ack, then one for each ack, and never one more."""
        with host(name, acks=False) as node:
            run = node.run(name, payload)
            unacked = [node.next(run, "output") for _ in range(credit)]
            for sent in range(credit + 1, payload["n"] + 1):
                node.send({"t": "ping", "n": sent})
                self.assertEqual(node.until(lambda message: message.kind in ("pong", "output")).kind, "pong")
                node.ack(unacked.pop(0))
                unacked.append(node.next(run, "output"))
            self.assertEqual(node.end(run).kind, "done")

    def test_outputs_wait_for_credit_and_go_on_with_the_acks(self):
        for name in ("emits", "emits_async"):
            self.check_credit(name, 64, {"n": 100})
            self.check_credit(name, 2, {"n": 10, "bytes": 100_000})

    def test_an_output_over_the_byte_credit_goes_alone(self):
        self.check_credit("emits", 1, {"n": 3, "bytes": 300_000})

    def test_a_fenced_output_stops_the_run(self):
        with host("endless", acks=False) as node:
            run = node.run("endless")
            node.ack(node.next(run, "output"), fenced=True)
            end = node.end(run)
            self.assertEqual((end.header["kind"], end.header["detail"]), ("cancelled", "cancelled: lost"))

    def test_a_checkpoint_waits_until_it_is_kept(self):
        with host("checkpoints", acks=False) as node:
            run = node.run("checkpoints")
            first = node.next(run, "checkpoint")
            self.assertEqual(first.value, {"at": 1})
            node.send({"t": "ping", "n": 1})
            node.next(None, "pong")
            self.assertEqual(node.lines(run), [])
            node.ack(first)
            node.ack(node.next(run, "checkpoint"))
            self.assertEqual(node.end(run).value, "both kept")
            self.assertEqual(node.lines(run), ["after the first"])

    def test_a_fenced_checkpoint_stops_the_run(self):
        with host("checkpoints", acks=False) as node:
            run = node.run("checkpoints")
            node.ack(node.next(run, "checkpoint"), fenced=True)
            self.assertEqual(node.end(run).header["kind"], "cancelled")
            self.assertEqual(node.lines(run), [])

    def test_progress_is_thinned_out_and_its_last_state_is_sent(self):
        with host("progresses") as node:
            run = node.run("progresses")
            node.end(run)
            told = [message.header for message in node.of(run, "progress")]
            self.assertLess(len(told), 100)
            self.assertEqual((told[-1]["fraction"], told[-1]["message"]), (1.0, "step 10000"))
            self.assertEqual([told["fraction"] for told in told], sorted(told["fraction"] for told in told))
            # What was reached in the first stage stands before the second.
            kinds = [m.header for m in node.seen if m.kind in ("stage", "progress") and m.header["run"] == run]
            second = next(at for at, header in enumerate(kinds) if header.get("name") == "second")
            self.assertEqual(kinds[second - 1]["message"], "step 5000")

    def test_held_back_progress_is_sent_while_the_run_goes_on(self):
        with host("waits_for_progress") as node:
            run = node.run("waits_for_progress")
            node.until(lambda message: message.header.get("fraction") == 0.2)
            node.cancel(run)
            self.assertEqual(node.end(run).kind, "done")


class Prints(unittest.TestCase):
    def test_everything_printed_is_a_log_of_its_run_and_nothing_else(self):
        with host("prints") as node:
            run = node.run("prints")
            self.assertIsNone(node.end(run).value)
            lines = node.lines(run)
            for line in ("one", "two", "half and half", "windows", "bytes: é", "bad \ufffd surrogate", "a record"):
                self.assertIn(line, lines)
            self.assertIn('{"t": "done", "run": 1}', lines)
            self.assertEqual(lines[-1], "no newline")
            self.assertIn("100%", lines)
            self.assertLess(sum(line.endswith("%") for line in lines), 4)
            long = next(line for line in lines if line.startswith("xxx"))
            self.assertLessEqual(len(long.encode()), 8192)
            self.assertIn("line cut", long)
            self.assertEqual(len(node.of(run, "done")), 1)
            await_true(lambda: b"native\n" in node.piped["stdout"], "the native write reached the pipe")
            self.assertNotIn(b"one", node.piped["stdout"])

    def test_a_flood_is_bounded_and_the_gap_is_told(self):
        with host("floods") as node:
            run = node.run("floods")
            node.end(run)
            lines = node.lines(run)
            self.assertLess(len(lines), 3000)
            lost = sum(int(line.split()[0][1:]) for line in lines if "log lines left out" in line)
            self.assertEqual(lost + sum(line.isdigit() for line in lines), 20_000)

    def test_probes_of_chatter_all_end(self):
        modes = ("stderr5m", "stdout5m", "longline", "nonewline", "native5m")
        with Node([PROBES / "probe.py"], {"probe_chatty": 5}) as node:
            node.ready()
            runs = [node.run("probe_chatty", {"mode": mode}) for mode in modes]
            left = set(runs)
            while left:
                left.discard(node.until(lambda message: message.kind == "done").header["run"])

    def test_look_alikes_change_nothing(self):
        with Node([PROBES / "probe.py"], {"probe_print": 1}) as node:
            node.ready()
            for _ in range(20):
                run = node.run("probe_print")
                self.assertEqual(node.end(run).value, {"exact": True})
                self.assertEqual([message.value for message in node.of(run, "output")], ["between"])

    def test_a_forked_child_cannot_speak_for_its_parent(self):
        with host("forks") as node:
            run = node.run("forks")
            self.assertEqual(node.end(run).value, 0)
            self.assertEqual(node.of(run, "output"), [])
            self.assertEqual(node.call("forks").value, 0)
            await_true(lambda: b"from the child" in node.piped["stdout"], "the child printed to the pipe")

    def test_a_thread_that_outlives_its_run_cannot_speak_for_it(self):
        with host("leaks_context") as node:
            run = node.run("leaks_context")
            node.end(run)
            line = node.next(None, "log").text
            self.assertIn("has ended", line)
            self.assertEqual(node.of(run, "output"), [])


if __name__ == "__main__":
    unittest.main()
