"""The revision with which .ci/scripts/api-changes compares the API, in a repository that is made up."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
# Prints the summary of a comparison with the revision that it is started with.
CARGO = '#!/usr/bin/env bash\necho "0 breaking changes since ${@: -1}"\necho more\n'


class ApiChanges(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        scripts = self.folder / ".ci" / "scripts"
        scripts.mkdir(parents=True)
        for name in ("api-changes", "lib.sh"):
            shutil.copy(SCRIPTS / name, scripts)
        (self.folder / "openapi").mkdir()
        (self.folder / "openapi" / "baseline").write_text("0123abcd\n")
        self.write_cargo(CARGO)
        self.git("init", "--quiet")
        self.commit("first")

    def write_cargo(self, text):
        program = self.folder / "bin" / "cargo"
        program.parent.mkdir(exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)

    def git(self, *arguments):
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=self.folder, check=True, capture_output=True)

    def commit(self, text):
        self.git("commit", "--quiet", "--allow-empty", "--message", text)

    def run_step(self):
        note = self.folder / "note"
        environment = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "CI_NOTE": str(note),
            "CI_WORK": str(self.folder),
        }
        done = subprocess.run([".ci/scripts/api-changes"], cwd=self.folder, env=environment, capture_output=True, text=True)
        return done.returncode, note.read_text() if note.exists() else ""

    def test_without_a_tag_the_baseline_is_compared_with(self):
        self.git("tag", "nightly")
        self.assertEqual(self.run_step(), (0, "0 breaking changes since 0123abcd"))

    def test_the_newest_version_of_the_branch_is_compared_with(self):
        for tag in ("v0.9.0", "v0.10.0-rc.1", "v0.10.0"):
            self.git("tag", tag)
        self.git("switch", "--quiet", "--create", "other")
        self.commit("of another branch")
        self.git("tag", "v1.0.0")
        self.git("switch", "--quiet", "-")
        self.assertEqual(self.run_step(), (0, "0 breaking changes since v0.10.0"))

    def test_a_change_that_is_not_named_fails(self):
        self.write_cargo("#!/usr/bin/env bash\necho summary\nexit 1\n")
        self.assertEqual(self.run_step()[0], 1)


if __name__ == "__main__":
    unittest.main()
