"""A host, driven over a real socket pair as the node drives it."""

import os
import signal
import tempfile
import unittest
from pathlib import Path

from node import PROBES, Node, await_true, frames

KINDS = Path(__file__).with_name("kinds_plugin.py")


def host(*types: str, threads: int = 1, **given) -> Node:
    node = Node([KINDS], {name: threads for name in types}, **given)
    node.ready()
    return node


class Kinds(unittest.TestCase):
    def test_ready_comes_after_the_setup_and_names_the_types(self):
        with Node([KINDS], {"function": 1, "generator": 1}) as node:
            ready = node.ready().header
            self.assertEqual(ready["protocol"], 1)
            self.assertEqual(ready["pid"], node.process.pid)
            self.assertEqual(ready["types"], ["function", "generator"])
            self.assertEqual(node.lines(None), ["printed at import", "printed in setup", "half a line in setup"])

    def test_a_function_gets_the_three_arguments_and_its_context(self):
        with host("function") as node:
            end = node.call(
                "function",
                {"a": 1},
                model_spec={"api_key": "k"},
                inference_params={"t": 0},
                checkpoint={"at": 3},
                attempt=2,
                epoch=5,
            )
            self.assertEqual(end.kind, "done")
            self.assertEqual(end.value["given"], [{"api_key": "k"}, {"a": 1}, {"t": 0}])
            self.assertEqual(end.value["ctx"], ["task-1", "function", 2, 3, 5, None, None])
            self.assertEqual(end.value["resumed"], {"at": 3})
            self.assertEqual(end.value["timeout"], 77)
            self.assertEqual(end.value["key"], "k")
            again = node.call("function", timeout_seconds=9.0, task_id="task-1").value
            self.assertEqual((again["timeout"], again["key"], again["resumed"]), (9.0, None, None))
            self.assertEqual(again["idempotency"], end.value["idempotency"])

    def test_every_kind_of_function_gives_outputs_and_a_result(self):
        names = ("generator", "async_generator", "wrapped", "coroutine")
        outputs = {"generator": [0, 1, 2], "async_generator": [0, 1, 2], "wrapped": [1], "coroutine": []}
        with host(*names) as node:
            for name in names:
                run = node.run(name)
                self.assertEqual(node.end(run).value, {"kind": name})
                sent = node.of(run, "output")
                self.assertEqual([message.value for message in sent], outputs[name])
                self.assertEqual([message.header["ref"] for message in sent], list(range(1, len(sent) + 1)))

    def test_prints_of_a_coroutine_and_of_its_threads_belong_to_its_run(self):
        with host("coroutine") as node:
            run = node.run("coroutine")
            node.end(run)
            self.assertEqual(node.lines(run), ["from the coroutine", "from its thread"])

    def test_tasks_that_a_coroutine_leaves_behind_end_with_it(self):
        with host("leaves_tasks") as node:
            run = node.run("leaves_tasks")
            self.assertEqual(node.end(run).value, "done")
            self.assertEqual(node.lines(run), ["the left task was ended"])

    def test_runs_of_a_type_use_all_of_its_threads(self):
        with host("blocks", threads=2) as node:
            runs = [node.run("blocks"), node.run("blocks")]
            for run in runs:
                node.next(run, "output")

    def test_context_variables_do_not_travel_to_the_next_run(self):
        with host("variables") as node:
            self.assertIsNone(node.call("variables").value)
            self.assertIsNone(node.call("variables").value)

    def test_artifacts_stay_in_their_folder(self):
        with tempfile.TemporaryDirectory() as folder, host("artifact") as node:
            value = node.call("artifact", artifact_dir=folder).value
            self.assertEqual(Path(value["path"]), Path(folder) / "pages" / "one.txt")
            self.assertEqual(Path(value["path"]).read_text(), "here")
            self.assertIn("outside", value["refused"])

    def test_nothing_of_the_node_is_in_the_environment(self):
        with host("surroundings", environment={"WINDLASS_SECRET_KEY": "s3cret", "WINDLASS_API_KEY": "k"}) as node:
            value = node.call("surroundings").value
            self.assertEqual(value["names"], [])
            self.assertNotIn("s3cret", str(value))

    def test_pings_are_answered_while_a_run_goes_on(self):
        with host("blocks") as node:
            node.next(node.run("blocks"), "output")
            node.send({"t": "ping", "n": 41})
            self.assertEqual(node.next(None, "pong").header["n"], 41)

    def test_a_message_of_a_later_version_is_passed_over(self):
        with host("function") as node:
            node.send({"t": "something_new", "run": 1})
            self.assertEqual(node.call("function").kind, "done")


class Failures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = host("raises", "returns", "async_exit", "function")

    @classmethod
    def tearDownClass(cls):
        cls.node.__exit__()

    def failure(self, task_type: str, payload: dict) -> dict:
        end = self.node.call(task_type, payload)
        self.assertEqual(end.kind, "failed", end)
        return end.header

    def test_declared_failures_keep_kind_code_and_text(self):
        rows = {
            "retryable": ("retryable", "BUSY", "later", 2.5),
            "permanent": ("permanent", "BAD_MODEL", "status 429 timeout", None),
            "plain": ("permanent", "PLUGIN_ERROR", "no code", None),
            "credential": ("retryable", "CREDENTIAL_ERROR", "refused (status 401)", None),
        }
        for kind, expected in rows.items():
            end = self.failure("raises", {"kind": kind})
            self.assertEqual((end["kind"], end["code"], end["detail"], end["retry_after"]), expected)

    def test_any_other_exception_is_retryable_and_says_where_it_was(self):
        end = self.failure("raises", {"kind": "value"})
        self.assertEqual((end["kind"], end["code"]), ("retryable", "PLUGIN_ERROR"))
        self.assertTrue(end["detail"].startswith("Inference failed: ValueError: boom\n"), end["detail"])
        self.assertIn("kinds_plugin.py", end["detail"])
        self.assertNotIn("invoke.py", end["detail"])

    def test_an_exit_or_an_interrupt_ends_the_run_and_not_the_host(self):
        for task_type, kind, name in (
            ("raises", "exit", "SystemExit: 3"),
            ("raises", "interrupt", "KeyboardInterrupt"),
            ("async_exit", "", "SystemExit: 4"),
            ("raises", "cancelled", "Cancelled: of its own"),
            ("raises", "textless", "Textless"),
        ):
            end = self.failure(task_type, {"kind": kind})
            self.assertEqual((end["kind"], end["code"]), ("retryable", "PLUGIN_ERROR"))
            self.assertTrue(end["detail"].startswith("Inference failed: " + name), end["detail"])
        self.assertEqual(self.node.call("function").kind, "done")

    def test_memory_has_a_code_of_its_own(self):
        self.assertEqual(self.failure("raises", {"kind": "memory"})["code"], "OUT_OF_MEMORY")

    def test_a_text_that_is_no_text_never_breaks_the_frame(self):
        self.assertIn("bad \ufffd text \0 here", self.failure("raises", {"kind": "surrogate"})["detail"])

    def test_a_huge_error_text_is_cut_visibly(self):
        detail = self.failure("raises", {"kind": "large"})["detail"]
        self.assertLessEqual(len(detail.encode()), 16 * 1024)
        self.assertIn("[cut, 5000000 characters in all]", detail)
        self.assertIn("kinds_plugin.py", detail)

    def test_a_result_that_is_not_json_names_the_value_to_blame(self):
        rows = {
            "nan": "result['scores'][1] is nan",
            "object": "result['a'][0]['b'] is a builtins.object",
            "key": "has a key of type tuple",
            "loop": "holds itself",
        }
        for what, text in rows.items():
            end = self.failure("returns", {"what": what})
            self.assertEqual((end["kind"], end["code"]), ("permanent", "RESULT_NOT_JSON"))
            self.assertIn(text, end["detail"])

    def test_results_arrive_whole_up_to_the_bound_and_fail_for_good_beyond(self):
        self.assertIsNone(self.node.call("returns", {"what": "none"}).value)
        self.assertEqual(self.node.call("returns", {"what": "surrogate"}).value, "x\ufffdy")
        self.assertEqual(self.node.call("returns", {"what": "pair"}).value, "\U0001f600")
        self.assertEqual(len(self.node.call("returns", {"what": "large"}).value), 8 * 1024 * 1024)
        end = self.failure("returns", {"what": "huge"})
        self.assertEqual((end["kind"], end["code"]), ("permanent", "RESULT_TOO_LARGE"))

    def test_a_large_payload_arrives_whole(self):
        value = self.node.call("function", {"text": "é" * 3_000_000}).value
        self.assertEqual(len(value["given"][1]["text"]), 3_000_000)

    def test_a_payload_that_is_not_json_is_refused(self):
        self.node._runs += 1
        run = self.node._runs
        header = {"t": "run", "run": run, "task_id": "t", "task_type": "function", "parts": [["payload", 4]]}
        self.node.send(header, b"{nop")
        self.assertEqual(self.node.end(run).header["code"], "PAYLOAD_INVALID")

    def test_a_type_that_the_host_does_not_run_is_refused(self):
        self.assertEqual(self.failure("elsewhere", {})["code"], "UNSUPPORTED_TASK_TYPE")


class Cancels(unittest.TestCase):
    def cancelled(self, name: str, reason: str = "cancel"):
        """Cancels a run that has begun; its `failed`, and what it said, in order of arrival."""
        with host(name) as node:
            run = node.run(name)
            node.next(run, "output")
            node.cancel(run, reason)
            end = node.end(run)
            self.assertEqual(end.kind, "failed", end)
            self.assertEqual((end.header["kind"], end.header["code"]), ("cancelled", "CANCELLED"))
            # The host goes on serving.
            second = node.run(name)
            node.next(second, "output")
            return end.header["detail"], node.lines(run)

    def test_a_generator_is_closed_and_its_finally_has_run(self):
        self.assertEqual(self.cancelled("endless", "timeout"), ("cancelled: timeout", ["closed"]))

    def test_an_async_generator_is_closed_and_its_finally_has_run(self):
        self.assertEqual(self.cancelled("endless_async"), ("cancelled: cancel", ["closed"]))

    def test_a_coroutine_that_awaits_is_cancelled_at_once(self):
        self.assertEqual(self.cancelled("waits_async"), ("cancelled: cancel", ["cleaned up"]))

    def test_code_that_never_asks_is_interrupted(self):
        self.assertEqual(self.cancelled("blocks")[1], ["cleaned up"])

    def test_a_coroutine_that_blocks_its_loop_is_interrupted(self):
        self.assertEqual(self.cancelled("blocks_loop")[1], ["cleaned up"])

    def test_code_that_prints_all_the_time_is_interrupted_without_breaking_a_frame(self):
        self.assertTrue(set(self.cancelled("chatters")[1]) >= {"x" * 100})

    def test_a_cleanup_under_way_is_not_interrupted(self):
        self.assertEqual(self.cancelled("slow_cleanup")[1], ["cleaned up in peace"])

    def test_an_error_made_by_the_cancel_is_a_cancel(self):
        self.assertIn("ConnectionError", self.cancelled("breaks_when_cancelled")[0])

    def test_a_run_that_finishes_first_is_done(self):
        with host("finishes_anyway") as node:
            run = node.run("finishes_anyway")
            node.next(run, "output")
            node.cancel(run)
            self.assertEqual(node.end(run).value, "finished")

    def test_a_run_that_waits_for_a_thread_never_begins(self):
        with host("blocks") as node:
            first, second = node.run("blocks"), node.run("blocks")
            node.next(first, "output")
            node.cancel(second)
            node.cancel(first)
            node.end(first)
            self.assertEqual(node.end(second).header["detail"], "cancelled before it began")
            self.assertEqual(node.of(second, "output"), [])

    def test_a_cancel_for_a_run_that_has_ended_is_nothing(self):
        with host("function") as node:
            run = node.run("function")
            node.end(run)
            node.cancel(run)
            node.cancel(99)
            self.assertEqual(node.call("function").kind, "done")

    def test_a_cancel_ends_a_wait_for_credit(self):
        for name in ("emits", "emits_async", "endless", "endless_async"):
            with host(name, acks=False) as node:
                run = node.run(name, {"n": 1000})
                for _ in range(64):
                    node.next(run, "output")
                node.cancel(run)
                self.assertEqual(node.end(run).header["kind"], "cancelled")

    def test_a_cancel_ends_a_wait_for_a_checkpoint(self):
        with host("checkpoints", acks=False) as node:
            run = node.run("checkpoints")
            node.next(run, "checkpoint")
            node.cancel(run)
            self.assertEqual(node.end(run).header["kind"], "cancelled")


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
