"""Steps that are really started: results, notes, hanging steps, and what runs beside another one."""

import contextlib
import io
import json
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from runner.execute import Running
from runner.history import History
from runner.step import FAILED, NO_TIME, OK, VOID, Step


class Context:
    count = 0

    def __init__(self, folder):
        self.work = Path(folder)
        self.checkout = self
        self.history = History(self.work / "ci-times.json")
        self.left = float("inf")

    def seconds_left(self):
        return self.left

    @property
    def folder(self):
        return str(self.work)

    def variables(self):
        return {"CI_E2E": str(self.work / "e2e")}


class Executing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.context = Context(folder.name)

    def run_step(self, step, is_beside=False):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            result = Running(step, self.context, is_beside).wait()
        self.printed = printed.getvalue()
        return result

    def campaign(self, *runs, may_be_void=True):
        """Makes a program that prints a report and ends with a code, another one each time."""
        lines = ["#!/usr/bin/env bash", f"cd {self.context.folder}", "echo run >>runs", "case $(wc -l <runs) in"]
        for number, (report, code) in enumerate(runs, 1):
            lines.append(f"{number}) echo '{json.dumps(report)}'; exit {code} ;;")
        program = self.context.work / "e2e"
        program.write_text("\n".join([*lines, "esac\n"]))
        program.chmod(0o755)
        return self.run_step(Step("locks", 10, campaign="fault locks", note="{ops} operations, {violations} violations", may_be_void=may_be_void))

    def test_a_command_passes_or_fails_and_its_output_is_printed(self):
        result = self.run_step(Step("one", 10, command='echo line; printf "a note" >"$CI_NOTE"'))
        self.assertEqual((result.result, result.note, self.printed), (OK, "a note", "line\n"))
        self.assertEqual(self.run_step(Step("two", 10, command="false | true")).result, FAILED)

    def test_the_output_of_a_step_beside_another_one_is_kept(self):
        running = Running(Step("one", 10, command="echo line"), self.context, is_beside=True)
        time.sleep(0.5)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            result = running.wait()
        self.assertEqual((result.result, running.lines, printed.getvalue()), (OK, ["line\n"], ""))
        # What it took itself, and not until it was waited for.
        self.assertLess(result.seconds, 0.4)

    def test_a_step_that_hangs_is_ended(self):
        class Hanging(Step):
            def timeout(self):
                return 0.2

        result = self.run_step(Hanging("one", 1, command="sleep 60 & sleep 60"))
        self.assertEqual(result.result, FAILED)
        self.assertIn("it hangs", result.note)
        self.assertLess(result.seconds, 10)

    def test_a_step_that_ignores_sigterm_is_killed(self):
        class Hanging(Step):
            def timeout(self):
                return 0.2

        with mock.patch("runner.execute.GRACE", 0.2):
            result = self.run_step(Hanging("one", 1, command="trap '' TERM; while true; do sleep 0.1; done"))
        self.assertEqual(result.result, FAILED)
        self.assertLess(result.seconds, 10)

    def test_a_run_that_takes_too_long_ends_its_steps(self):
        self.context.left = 0.2
        optional = self.run_step(Step("one", 10, command="sleep 60"))
        self.assertEqual((optional.result, "runs first next time" in optional.note), (NO_TIME, True))
        self.assertEqual(self.run_step(Step("one", 10, command="sleep 60", required=True)).result, FAILED)

    def test_the_last_lines_of_a_failed_step_are_kept(self):
        self.assertEqual(self.run_step(Step("one", 10, command="seq 100; exit 1")).last_lines.split()[0], "21")
        self.assertEqual(self.run_step(Step("one", 10, command="seq 100")).last_lines, "")

    def test_a_campaign_is_described_by_its_report(self):
        result = self.campaign(({"ops": 5, "violations": 0, "seed": 7}, 0))
        self.assertEqual((result.result, result.note, result.details), (OK, "5 operations, 0 violations", {"seed": 7}))

    def test_a_void_campaign_passes_only_without_violations(self):
        result = self.campaign(({"ops": 5, "violations": 0, "void": "too slow"}, 3))
        self.assertEqual((result.result, result.note), (VOID, "5 operations, 0 violations; void: too slow"))
        (self.context.work / "runs").unlink()
        self.assertEqual(self.campaign(({"ops": 5, "violations": 1}, 3)).result, FAILED)
        (self.context.work / "runs").unlink()
        self.assertEqual(self.campaign(({"ops": 5}, 3)).result, FAILED)
        (self.context.work / "runs").unlink()
        self.assertEqual(self.campaign(({"ops": 5, "violations": 0}, 3), may_be_void=False).result, FAILED)

    def test_only_a_stepped_clock_repeats_a_campaign_and_only_once(self):
        ok, bad = {"ops": 5, "violations": 0}, {"ops": 5, "violations": 1}
        self.assertEqual(self.campaign((ok, 4), (ok, 0)).result, OK)
        (self.context.work / "runs").unlink()
        self.assertEqual(self.campaign((ok, 4), (ok, 4), (ok, 0)).result, FAILED)
        (self.context.work / "runs").unlink()
        self.assertEqual(self.campaign((bad, 1), (ok, 0)).result, FAILED)

    def test_a_campaign_without_a_complete_report_fails(self):
        for report, note in (("", "it has printed no report"), ("[]", "it has printed no report"), ("{}", "its report has no 'ops'")):
            (self.context.work / "e2e").write_text(f"#!/bin/sh\necho '{report}'\n")
            (self.context.work / "e2e").chmod(0o755)
            result = self.run_step(Step("locks", 10, campaign="fault locks", note="{ops} operations"))
            self.assertEqual((result.result, result.note), (FAILED, note))


if __name__ == "__main__":
    unittest.main()
