"""A host, driven over a real socket pair as the node drives it: kinds of functions, and failures."""

import tempfile
import unittest
from pathlib import Path

from kinds import KINDS, host
from node import Node


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


if __name__ == "__main__":
    unittest.main()
