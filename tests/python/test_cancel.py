"""A cancel reaches every kind of function, and is reported only when its code has ended."""

import unittest

from kinds import host


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


if __name__ == "__main__":
    unittest.main()
