#!/usr/bin/env python3
"""What run_blocks.py must find, as made-up READMEs.    tests/readme/test_run_blocks.py build/wallheat"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import run_blocks

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = sys.argv.pop() if len(sys.argv) > 1 else "build/wallheat"


def fenced(language, *lines):
    return "\n".join([f"```{language}", *lines, "```", ""])


class RunBlocks(unittest.TestCase):
    def run_readme(self, *parts):
        with tempfile.TemporaryDirectory() as folder:
            readme = pathlib.Path(folder) / "README.md"
            readme.write_text("# Title\n\n" + "\n".join(parts), encoding="utf-8")
            done = subprocess.run([sys.executable, HERE / "run_blocks.py", readme, "--wallheat", PROGRAM],
                                  capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def assert_fails(self, parts, *expected):
        status, said = self.run_readme(*parts)
        self.assertEqual(status, 1, said)
        for words in expected:
            self.assertIn(words, said)

    def test_blocks_of_a_language_share_their_state(self):
        status, said = self.run_readme(
            fenced("sh", "cd jobs", "greeting=hello"), fenced("bash", "test -f launch.sh && [ $greeting = hello ]"),
            fenced("python", "import os", "x = 7"), fenced("python", "assert x == 7 and os.path.isdir('jobs')"))
        self.assertIn(status, (0, 77), said)

    def test_the_program_is_found(self):
        self.assertEqual(self.run_readme(fenced("sh", "wallheat version", "build/wallheat version"))[0], 0)

    def test_a_command_that_fails_is_named_with_its_line_and_output(self):
        self.assert_fails([fenced("sh", "true", "ls /nowhere", "echo never")], "README.md:5: exit status 2, not 0",
                          "ls /nowhere", "No such file or directory")
        self.assertNotIn("never\n", self.run_readme(fenced("sh", "false", "echo never"))[1])

    def test_a_command_fails_also_in_a_pipeline_and_in_a_function(self):
        self.assert_fails([fenced("sh", "false | cat")], "README.md:4: exit status 1")
        self.assert_fails([fenced("sh", "f() { false; true; }", "f")], "exit status 1", "false")

    def test_a_block_that_is_no_shell_fails(self):
        self.assert_fails([fenced("sh", "if then")], "README.md:4: exit status 2", "syntax error")
        self.assert_fails([fenced("sh", "exit 0")], "README.md:4: the shell did not come back")

    def test_python_that_fails_is_named_with_its_line(self):
        if self.run_readme(fenced("python", "pass"))[0] == 77:
            self.skipTest("no Python here has numpy and h5py")
        self.assert_fails([fenced("python", "x = 1", "", "print(y)")], "README.md:6: ", "NameError")
        self.assert_fails([fenced("python", "x = = 1")], "README.md:4: ", "SyntaxError")

    def test_a_block_that_is_not_run_is_printed_with_its_reason(self):
        status, said = self.run_readme("<!-- not run: needs a cluster -->", fenced("sh", "false"))
        self.assertEqual(status, 0)
        self.assertIn("README.md:5: skipped (sh): needs a cluster", said)

    def test_other_languages_need_a_reason(self):
        self.assert_fails([fenced("mermaid", "a --> b")], "README.md:3: no way to run a block of language 'mermaid'")
        self.assert_fails([fenced("", "text")], "no way to run a block of language ''")
        self.assertEqual(self.run_readme("<!-- not run: a picture -->", fenced("mermaid", "a --> b"))[0], 0)

    def test_an_exit_status_can_be_expected(self):
        self.assertEqual(self.run_readme("<!-- exit status 3 -->", fenced("sh", "(exit \\", "  3)"))[0], 0)
        self.assert_fails(["<!-- exit status 3 -->", fenced("sh", "true")], "exit status 0, not 3")
        self.assert_fails(["<!-- exit status 3 -->", fenced("sh", "(exit 3)", "true")], "one command")

    def test_a_marker_belongs_to_a_block(self):
        self.assert_fails(["<!-- not run: why -->", "", fenced("sh", "true")], "README.md:3: no block follows")

    def test_links_lead_somewhere(self):
        self.assertEqual(self.run_readme("[here](#title) [there](https://example.org/x)")[0], 0)
        self.assert_fails(["[gone](other.md)"], "README.md:3: the link to other.md leads nowhere")
        self.assert_fails(["[gone](#titel)"], "README.md:3: README.md has no heading")

    def test_the_links_of_documents_that_are_no_readme_lead_somewhere(self):
        for name in (".github/CONTRIBUTING.md", ".github/CHANGELOG.md", "src/decisions.md"):
            with self.subTest(name):
                run_blocks.check_links(run_blocks.ROOT / name)


if __name__ == "__main__":
    unittest.main()
