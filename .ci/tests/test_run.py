"""The order in which steps are started, that each one runs once, and what the history has of them."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

from main import run_all, take_over
from runner.history import History
from runner.step import ENDS_AFTER, FAILED, NO_TIME, OK, Result, Step


class Run(unittest.TestCase):
    def run_steps(self, *steps, seconds=0, results=None):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        work = Path(folder.name)
        context = SimpleNamespace(
            options=SimpleNamespace(all=False, only=None),
            began_at="2026-11-19T00:00:00+00:00",
            cpu_at_start=(0, 0),
            is_cold=False,
            seconds=lambda: seconds,
            seconds_left=lambda: ENDS_AFTER - seconds,
            work=work,
            results=results or {},
            beside={},
            inputs={},
            current=None,
            browser=SimpleNamespace(quarter=2),
            history=History(work / "ci-times.json"),
            checkout=SimpleNamespace(folder=folder.name, commit="c" * 40, count=0),
            is_clean=True,
            variables=dict,
        )
        with contextlib.redirect_stdout(io.StringIO()):
            run_all(context, steps)
        runs = work / "runs"
        started = runs.read_text().split() if runs.exists() else []
        self.history = History(context.history.file)
        return started, {name: result.result for name, result in context.results.items()}

    def step(self, name, command="true", **fields):
        return Step(name, 10, command=f"echo {name} >>runs; {command}", **fields)

    def test_a_step_beside_another_one_runs_once_and_at_the_same_time(self):
        met = "for i in $(seq 100); do [ -e other ] && exit; sleep 0.05; done; exit 1"
        host, beside = self.step("host", met), self.step("beside", "touch other", beside="host")
        started, results = self.run_steps(host, beside, self.step("last"))
        self.assertEqual(sorted(started[:2]), ["beside", "host"])
        self.assertEqual(started[2:], ["last"])
        self.assertEqual(results, {"host": OK, "beside": OK, "last": OK})

    def test_the_first_required_step_that_fails_ends_the_run(self):
        started, results = self.run_steps(self.step("first", "exit 1", required=True), self.step("last"))
        self.assertEqual((started, results), (["first"], {"first": FAILED}))

    def test_after_another_step_that_fails_the_run_continues(self):
        started, results = self.run_steps(self.step("first", "exit 1"), self.step("last", required=True))
        self.assertEqual((started, results), (["first", "last"], {"first": FAILED, "last": OK}))

    def test_late_only_required_steps_start(self):
        steps = self.step("campaign", group="A"), self.step("ui"), self.step("build", required=True)
        self.assertEqual(self.run_steps(*steps, seconds=56 * 60)[0], ["ui", "build"])
        started, results = self.run_steps(*steps, seconds=71 * 60)
        self.assertEqual((started, results), (["build"], {"campaign": NO_TIME, "ui": NO_TIME, "build": OK}))

    def test_at_the_end_nothing_starts(self):
        steps = self.step("ui"), self.step("build", required=True)
        self.assertEqual(self.run_steps(*steps, seconds=ENDS_AFTER + 1)[0], [])

    def test_a_step_whose_result_is_known_does_not_start(self):
        steps = self.step("host"), self.step("beside", beside="host"), self.step("last")
        started, _ = self.run_steps(*steps, results={"host": Result(OK), "beside": Result(OK)})
        self.assertEqual(started, ["last"])

    def test_the_history_has_each_step_when_it_has_ended(self):
        self.run_steps(self.step("first"), self.step("second", "exit 1", required=True), self.step("third"))
        self.assertEqual([run["steps"].keys() for run in self.history.runs], [{"first", "second"}])
        self.assertFalse(self.history.runs[0]["complete"])
        self.assertTrue(self.history.has_failed("second"))


class Resuming(unittest.TestCase):
    def resume(self, runs, is_clean=True):
        history = History("/nowhere/at/all")
        history.runs = runs
        checkout = SimpleNamespace(commit="c" * 40, is_clean=lambda: is_clean)
        context = SimpleNamespace(history=history, checkout=checkout, results={})
        take_over(context, (Step("build", 1), Step("ui", 1, more_with_all=True, needs=("build",)), Step("p-locks", 1), Step("faults", 1)))
        return context.results

    def run_with(self, steps, began="monday", commit="c" * 40, everything=True, clean=True):
        record = {"seconds": 5, "cpu": 4, "details": {}, "turn": 0, "note": "14 of 14 found"}
        results = {name: {**record, "result": result} for name, result in steps.items()}
        return {"commit": commit, "clean": clean, "all": everything, "began": began, "steps": results}

    def test_what_has_passed_in_a_run_of_the_same_commit_is_taken_over(self):
        results = self.resume([self.run_with({"build": OK, "ui": FAILED, "p-locks": OK})])
        # `build` runs again, because `ui` needs it.
        self.assertEqual({name: result.note for name, result in results.items()}, {"p-locks": "in the run of monday. 14 of 14 found"})

    def test_the_run_is_named_once(self):
        first = self.run_with({"p-locks": OK})
        second = self.run_with({"p-locks": OK}, began="tuesday")
        second["steps"]["p-locks"]["note"] = self.resume([first])["p-locks"].note
        self.assertEqual(self.resume([first, second])["p-locks"].note, "in the run of monday. 14 of 14 found")

    def test_a_run_without_all_counts_for_what_it_does_whole(self):
        run = self.run_with({"ui": OK, "faults": OK}, everything=False)
        self.assertEqual(list(self.resume([run])), ["faults"])
        self.assertEqual(list(self.resume([self.run_with({"ui": OK})])), ["ui"])

    def test_nothing_else_is_taken_over(self):
        others = [self.run_with({"p-locks": OK}, commit="d" * 40), self.run_with({"p-locks": OK}, clean=False)]
        self.assertEqual(self.resume(others), {})
        with self.assertRaises(SystemExit):
            self.resume(others, is_clean=False)


class Saving(unittest.TestCase):
    def test_another_run_on_this_machine_keeps_its_record(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "ci-times.json"
            one, other = History(file), History(file)
            one.save({"id": "1", "steps": {}}, {"deny": {"commit": "a"}})
            other.save({"id": "2", "steps": {}}, {})
            one.save({"id": "1", "steps": {"build": {"result": OK}}}, {})
            read = History(file)
            self.assertEqual([run["id"] for run in read.runs], ["2", "1"])
            self.assertEqual(read.inputs, {"deny": {"commit": "a"}})

    def test_a_file_that_is_no_history_is_ignored(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "ci-times.json"
            for content in ("", "[]", "{"):
                file.write_text(content)
                self.assertEqual(History(file).runs, [])
