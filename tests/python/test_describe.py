"""What the node learns of plugins without ever importing one."""

import hashlib
import tempfile
import unittest
from pathlib import Path

from node import PLUGINS, PROBES, ROOT, describe

BROKEN = ROOT / "tests" / "plugins_broken"


class Describe(unittest.TestCase):
    def test_the_examples_are_described_in_full(self):
        found = describe(str(PLUGINS))
        files = {Path(file["path"]).name: file for file in found["files"]}
        self.assertEqual([file["error"] for file in files.values()], [None] * len(files))
        hello = files["hello.py"]
        self.assertEqual(hello["sha256"], hashlib.sha256((PLUGINS / "hello.py").read_bytes()).hexdigest())
        self.assertEqual(
            hello["types"],
            [
                {
                    "name": "hello",
                    "description": "echo",
                    "worker_threads": 1,
                    "processes": None,
                    "timeout_seconds": 60.0,
                    "start_timeout_seconds": None,
                    "max_attempts": None,
                    "memory_mb": None,
                    "max_tasks_per_process": None,
                    "host_group": None,
                    "gpu": None,
                    "credential_mode": "none",
                    "metadata_version": 1,
                    "payload_schema": {"type": "object"},
                    "has_setup": False,
                }
            ],
        )
        self.assertEqual(files["ingest"]["types"][0]["name"], "ingest")

    def test_a_broken_file_costs_its_own_types_only(self):
        files = {Path(file["path"]).stem: file for file in describe(str(BROKEN))["files"]}
        kinds = {name: (file["error"] or {}).get("kind") for name, file in files.items()}
        self.assertEqual(
            kinds,
            {
                "bad_arguments": "RegistrationError",
                "bad_mode": "RegistrationError",
                "bad_name": "RegistrationError",
                "chatty_import": None,
                "duplicate_a": None,
                "duplicate_b": "RegistrationError",
                "exits": "SystemExit",
                "healthy": None,
                "import_error": "ModuleNotFoundError",
                "syntax_error": "SyntaxError",
            },
        )
        for file in files.values():
            self.assertEqual(bool(file["types"]), file["error"] is None)
        self.assertIn("duplicate_a.py", files["duplicate_b"]["error"]["message"])
        self.assertIn("a_library_that_nobody_installed", files["import_error"]["error"]["traceback"])

    def test_single_files_and_several_folders(self):
        found = describe("--file", str(PLUGINS / "hello.py"))
        self.assertEqual([Path(file["path"]).name for file in found["files"]], ["hello.py"])
        found = describe(str(PLUGINS), str(PROBES))
        self.assertIn("probe.py", [Path(file["path"]).name for file in found["files"]])

    def test_hidden_and_private_names_and_plain_folders_are_passed_over(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("_helpers.py", ".hidden.py", "notes.txt"):
                (Path(folder) / name).write_text("raise RuntimeError\n")
            (Path(folder) / "data").mkdir()
            self.assertEqual(describe(folder)["files"], [])

    def test_a_package_is_known_by_all_of_its_sources(self):
        with tempfile.TemporaryDirectory() as folder:
            package = Path(folder) / "pack"
            package.mkdir()
            (package / "__init__.py").write_text("# one\n")
            (package / "b.py").write_text("# two\n")
            before = describe(folder)["files"][0]
            self.assertEqual((before["path"], before["error"]), (str(package), None))
            self.assertEqual(before["sha256"], hashlib.sha256(b"# one\n# two\n").hexdigest())
            (package / "b.py").write_text("# three\n")
            self.assertNotEqual(describe(folder)["files"][0]["sha256"], before["sha256"])

    def test_wrong_values_are_told_by_name(self):
        rows = {
            "worker_threads=0": "worker_threads",
            "worker_threads=True": "worker_threads",
            "timeout_seconds='60'": "timeout_seconds",
            "gpu={'memory': 1}": "gpu",
            "payload_schema=[1]": "payload_schema",
            "payload_schema={'a': object()}": "payload_schema",
            "host_group='No'": "host_group",
            "setup=3": "setup",
            "description=5": "description",
        }
        with tempfile.TemporaryDirectory() as folder:
            for number, given in enumerate(rows):
                text = "from windlass import register\n@register('t%d', %s)\ndef infer(a, b, c): pass\n"
                (Path(folder) / ("t%d.py" % number)).write_text(text % (number, given))
            for file, word in zip(describe(folder)["files"], rows.values()):
                self.assertEqual((file["error"] or {}).get("kind"), "RegistrationError", file)
                self.assertIn(word, file["error"]["message"])

    def test_what_is_registered_is_passed_on(self):
        text = (
            "from windlass import register, CredentialMode\n"
            "@register('full', processes=2, credential_mode=CredentialMode.CALLER_OR_POOL, gpu={'memory_mb': 8000},\n"
            "          memory_mb=500, max_tasks_per_process=9, host_group='shared', start_timeout_seconds=300,\n"
            "          max_attempts=5, setup=lambda: None)\n"
            "async def infer(a, b, c): pass\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "full.py").write_text(text)
            (given,) = describe(folder)["files"][0]["types"]
        self.assertEqual(given["gpu"], {"memory_mb": 8000, "count": 1})
        self.assertEqual((given["credential_mode"], given["host_group"]), ("caller_or_pool", "shared"))
        self.assertEqual((given["start_timeout_seconds"], given["has_setup"]), (300.0, True))

    def test_plugins_see_no_secret_of_the_node(self):
        text = "import os\nassert not [name for name in os.environ if name.startswith('WINDLASS')]\n"
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "looks.py").write_text(text)
            self.assertIsNone(describe(folder, environment={"WINDLASS_SECRET_KEY": "s"})["files"][0]["error"])


if __name__ == "__main__":
    unittest.main()
