"""The table itself: what it names exists, and nothing is missing in it."""

import unittest
from pathlib import Path

import table
from runner.browser import choose
from runner.history import History
from runner.step import OK

FOLDER = Path(__file__).resolve().parent.parent.parent


class Table(unittest.TestCase):
    def test_every_path_exists(self):
        paths = {path for step in table.STEPS for path in step.paths}
        paths |= {path for group in table.BROWSER_PATHS.values() for path in group} | set(table.BROWSER_SHARED)
        self.assertEqual([path for path in sorted(paths) if not (FOLDER / path).exists()], [])

    def test_every_step_has_one_command_and_needs_steps_before_it(self):
        before = set()
        for step in table.STEPS:
            script = FOLDER / ".ci" / "scripts" / step.name
            self.assertEqual([bool(step.command), bool(step.campaign), script.is_file()].count(True), 1, step.name)
            self.assertLessEqual(set(step.needs), before, step.name)
            before.add(step.name)

    def test_every_file_of_browser_tests_runs(self):
        named = {*table.BROWSER_EACH_RUN, *table.BROWSER_PATHS, *table.BROWSER_OTHER_COMMANDS}
        found = {file.name.split(".")[0] for file in (FOLDER / "dashboard" / "e2e").glob("*.spec.ts")}
        self.assertEqual(named, found)


class Checkout:
    """A checkout without git, in which nothing has changed."""

    count = 0

    def base(self, _history, _step):
        return ""

    def changed(self, _base):
        return set()


class Browser(unittest.TestCase):
    def quarters(self, *results):
        """Returns the quarter of each run, whose browser tests have these results."""
        history = History("/nowhere/at/all")
        for result in results:
            quarter = choose(history, Checkout()).quarter
            history.runs.append({"browserQuarter": quarter, "steps": {"ui": {"result": result}} if result else {}})
            yield quarter

    def test_a_quarter_is_repeated_until_it_has_passed(self):
        self.assertEqual(list(self.quarters(OK, OK, "FAILED", None, OK, "NOT RUN: time", OK)), [0, 1, 2, 2, 2, 3, 3])

    def test_four_runs_have_every_file(self):
        history, files = History("/nowhere/at/all"), set()
        for _ in range(4):
            chosen = choose(history, Checkout())
            files |= set(chosen.files)
            history.runs.append({"browserQuarter": chosen.quarter, "steps": {"ui": {"result": OK}}})
        self.assertEqual(len(files), len(table.BROWSER_EACH_RUN) + len(table.BROWSER_PATHS))


if __name__ == "__main__":
    unittest.main()
