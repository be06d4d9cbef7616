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

    def test_blocks_of_a_language_share_their_state(self):
        status, said = self.run_readme(
            fenced("sh", "cd jobs", "greeting=hello"), fenced("bash", "test -f launch.sh && [ $greeting = hello ]"),
            fenced("python", "import os", "x = 7"), fenced("python", "assert x == 7 and os.path.isdir('../jobs')"),
            fenced("sh", "wallheat version", "../build/wallheat version"),
            "<!-- not run: needs a cluster -->", fenced("sh", "false"), "<!-- not run: a picture -->", fenced("mermaid", "a"),
            "<!-- exit status 3 -->", fenced("sh", "(exit \\", "  3)"), "[here](#title) [there](https://example.org/x)")
        self.assertIn(status, (0, 77), said)
        self.assertIn("line 27: skipped (sh): needs a cluster", said)

    def test_what_fails_is_named_with_its_line(self):
        for parts, *words in (
                ([fenced("sh", "true", "ls /nowhere", "echo never")], "line 5: exit status 2: ls /nowhere", "No such file"),
                ([fenced("sh", "false | cat")], "line 4: exit status 1"),
                ([fenced("sh", "f() { false; true; }", "f")], "exit status 1: false"),
                ([fenced("sh", "if then")], "line 4: syntax error"),
                ([fenced("sh", "exit 0")], "ended before its end"),
                (["<!-- exit status 3 -->", fenced("sh", "true")], "line 6: exit status 1: [ $status = 3 ]"),
                ([fenced("mermaid", "a --> b")], "README.md:3: no way to run a block of language 'mermaid'"),
                (["<!-- not run: why -->", "", fenced("sh", "true")], "README.md:3: no block follows"),
                (["[gone](other.md)"], "README.md:3: the link to other.md leads nowhere"),
                (["[gone](#titel)"], "README.md:3: README.md has no heading")):
            with self.subTest(words[0]):
                status, said = self.run_readme(*parts)
                self.assertEqual(status, 1, said)
                self.assertNotIn("never\n", said)
                for word in words:
                    self.assertIn(word, said)

    def test_python_that_fails_is_named_with_its_line(self):
        if run_blocks.python_with_h5py() is None:
            self.skipTest("no Python here has numpy and h5py")
        for lines, line, error in (("x = 1", "", "print(y)"), 6, "NameError"), (("x = = 1",), 4, "SyntaxError"):
            status, said = self.run_readme(fenced("python", *lines))
            self.assertEqual(status, 1)
            self.assertRegex(said, rf"line {line}\b")
            self.assertIn(error, said)

    def test_the_links_of_documents_that_are_no_readme_lead_somewhere(self):
        for name in (".github/CONTRIBUTING.md", ".github/CHANGELOG.md", "src/decisions.md"):
            with self.subTest(name):
                run_blocks.check_links(run_blocks.ROOT / name)


if __name__ == "__main__":
    unittest.main()
