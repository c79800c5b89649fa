"""The choice of steps, with histories that are made up."""

import datetime
import unittest

from runner import choice, summary
from runner.history import History, now
from runner.step import FAILED, NO_TIME, NOT_NOW, OK, UNCHANGED, VOID, Result, Step

STEPS = (
    Step("build", 10, required=True),
    Step("deny", 10, required=True, only_if_changed=True, paths=("deny.toml",), unchanged_for=60),
    Step("guide", 10),
    Step("locks", 10, group="A", paths=("crates/store",)),
    Step("runners", 10, group="B", paths=("crates/runner",)),
    Step("gates", 10, group="C", paths=("crates/domain",)),
    Step("limits", 10, group="D", paths=("crates/server",)),
    Step("hostile", 10, group="D", beside="limits"),
    Step("planted", 10, every=4, paths=("e2e/planted",)),
)
GROUPS = ("locks", "runners", "gates", "limits")


class Checkout:
    """A checkout without git."""

    commit = "b" * 40

    def __init__(self, changed=(), count=0, states=None):
        self.paths, self.count, self.states = set(changed), count, states or {}

    def base(self, _history, _step=None):
        return "a" * 40

    def ancestor(self, commits):
        return f"{commits}".rjust(40, "c")

    def changed(self, _base):
        return self.paths

    def state(self, _paths, commit="HEAD"):
        return self.states.get(commit, "new" if commit == "HEAD" else "old")


def history(*runs):
    """Returns a history of runs, the oldest first; each run is a dictionary from step to result."""
    made = History("/nowhere/at/all")
    for number, run in enumerate(runs):
        steps = {name: {"result": result} for name, result in run.items()}
        made.runs.append({"commit": f"{number}" * 40, "steps": steps, "complete": FAILED not in run.values()})
    return made


def names(chosen):
    return [step.name for step in chosen[0]]


class WithoutHistory(unittest.TestCase):
    def test_the_commit_chooses_one_group(self):
        for count, name in enumerate(GROUPS):
            chosen = names(choice.choose(STEPS, history(), Checkout(count=count)))
            self.assertEqual([one for one in GROUPS if one in chosen], [name])

    def test_steps_that_run_every_fourth_time_depend_on_the_commit(self):
        planted = ["planted" in names(choice.choose(STEPS, history(), Checkout(count=count))) for count in range(8)]
        self.assertEqual(planted, [True, False, False, False] * 2)

    def test_an_unchanged_input_is_compared_with_an_older_commit(self):
        old = Checkout().ancestor(60)
        chosen, left_out = choice.choose(STEPS, history(), Checkout(states={"HEAD": "same", old: "same"}))
        self.assertEqual(left_out["deny"].result, UNCHANGED)
        self.assertIn("deny", names(choice.choose(STEPS, history(), Checkout())))
        # Changes that are not committed have no state.
        self.assertIn("deny", names(choice.choose(STEPS, history(), Checkout(states={"HEAD": "", old: ""}))))


class WithHistory(unittest.TestCase):
    def test_every_group_runs_within_five_runs_even_if_others_change(self):
        past = history()
        ran = {name: [] for name in GROUPS}
        for number in range(40):
            chosen = names(choice.choose(STEPS, past, Checkout(changed=["crates/store/src/lib.rs"])))
            for name in chosen:
                if name in GROUPS:
                    ran[name].append(number)
            past.runs.append({"commit": "x", "steps": {name: {"result": OK} for name in chosen}, "complete": True})
        for name, numbers in ran.items():
            gaps = [after - before for before, after in zip([-1, *numbers], [*numbers, 40])]
            self.assertLessEqual(max(gaps), choice.GROUP_WITHIN, name)
        # What has changed runs more often than the others.
        self.assertGreater(len(ran["locks"]), len(ran["gates"]))

    def test_a_step_without_time_is_the_first_after_the_required_ones(self):
        past = history({"gates": OK, **{name: OK for name in (*GROUPS, "hostile", "planted")}}, {"limits": NO_TIME, "guide": NO_TIME})
        chosen, left_out = choice.choose(STEPS, past, Checkout(changed=["crates/store/src/lib.rs"]))
        self.assertEqual([step.name for step in chosen][:5], ["build", "deny", "guide", "limits", "hostile"])
        self.assertEqual(left_out["gates"].note, "last: 2 runs ago, ok")
        self.assertEqual(left_out["gates"].result, NOT_NOW)

    def test_a_failed_step_is_repeated_before_anything_else(self):
        for failed in ("gates", "planted"):
            past = history({name: OK for name in (*GROUPS, "planted")}, {failed: FAILED}, {"build": FAILED})
            chosen = names(choice.choose(STEPS, past, Checkout(changed=["crates/store/src/lib.rs"])))
            self.assertEqual(chosen[2], failed)
        past = history({"locks": OK}, {"gates": FAILED})
        self.assertEqual([one for one in GROUPS if one in names(choice.choose(STEPS, past, Checkout()))], ["gates"])
        past.runs.append({"commit": "x", "steps": {"gates": {"result": OK}}, "complete": True})
        self.assertNotIn("gates", names(choice.choose(STEPS, past, Checkout())))

    def test_a_failed_build_does_not_make_a_step_without_time_wait_longer(self):
        past = history({"guide": NO_TIME}, {"build": FAILED})
        self.assertEqual(names(choice.choose(STEPS, past, Checkout()))[2], "guide")

    def test_a_group_for_which_no_time_is_left_does_not_keep_the_others_from_running(self):
        past = history()
        steps = [*STEPS, Step("canary", 10, group="A")]
        ran = set()
        for _ in range(12):
            # One campaign fits into each run.
            chosen = [step.name for step in choice.choose(steps, past, Checkout())[0] if step.group]
            ran.add(chosen[0])
            left_out = {name: {"result": NO_TIME} for name in chosen[1:]}
            past.runs.append({"commit": "x", "steps": {chosen[0]: {"result": OK}, **left_out}, "complete": True})
        self.assertTrue(set(GROUPS) | {"canary"} <= ran, ran)

    def test_a_changed_patch_brings_its_check_back(self):
        past = history({"planted": OK})
        self.assertNotIn("planted", names(choice.choose(STEPS, past, Checkout())))
        self.assertIn("planted", names(choice.choose(STEPS, past, Checkout(changed=["e2e/planted/a.patch"]))))
        self.assertIn("planted", names(choice.choose(STEPS, history({"planted": OK}, {}, {}, {}), Checkout())))

    def test_an_input_that_has_passed_is_not_checked_again(self):
        past = history()
        past.inputs["deny"] = {"state": "same", "commit": "d" * 40, "at": now().isoformat()}
        self.assertNotIn("deny", names(choice.choose(STEPS, past, Checkout(states={"HEAD": "same"}))))
        self.assertIn("deny", names(choice.choose(STEPS, past, Checkout(states={"HEAD": "other"}))))
        # New vulnerabilities are published while nothing changes here.
        past.inputs["deny"]["at"] = (now() - datetime.timedelta(days=8)).isoformat()
        past.runs.append({"commit": "x", "steps": {"deny": {"result": OK}}, "complete": True})
        same = {"HEAD": "same", Checkout().ancestor(60): "same"}
        self.assertIn("deny", names(choice.choose(STEPS, past, Checkout(states=same))))

    def test_all_means_every_step(self):
        past = history({name: OK for name in GROUPS})
        chosen, left_out = choice.choose(STEPS, past, Checkout(), everything=True)
        self.assertEqual((len(chosen), left_out), (len(STEPS), {}))

    def test_only_some_steps_with_what_prepares_them(self):
        table = [
            Step("packages", 1),
            Step("fmt", 1),
            Step("build", 1),
            Step("services", 1, needs=("packages",)),
            Step("tests", 1, needs=("build", "services")),
        ]
        self.assertEqual([step.name for step in choice.only(table, ["fmt"])], ["packages", "fmt"])
        self.assertEqual([step.name for step in choice.only(table, ["tests"])], ["packages", "build", "services", "tests"])
        with self.assertRaises(SystemExit):
            choice.only(table, ["uix"])

    def test_voids_count_in_a_row(self):
        self.assertEqual(history({"locks": VOID}, {"locks": OK}, {"locks": VOID}, {}, {"locks": VOID}).voids("locks"), 2)
        past = history({"locks": VOID}, {"locks": VOID}, {"locks": FAILED})
        self.assertEqual(past.voids("locks"), 0)
        past.runs[-1]["steps"]["locks"]["details"] = {"void": True}
        self.assertEqual(past.voids("locks"), 3)

    def test_a_turn_that_failed_is_repeated(self):
        self.assertEqual(history().turn("fuzz", 7), 7)
        past = history({"fuzz": OK}, {"build": FAILED})
        past.runs[0]["steps"]["fuzz"]["turn"] = 7
        self.assertEqual(past.turn("fuzz", 9), 8)
        past.runs[0]["steps"]["fuzz"]["result"] = FAILED
        self.assertEqual(past.turn("fuzz", 9), 7)

    def test_changes_are_compared_with_a_run_that_passed(self):
        past = history({"build": OK}, {"build": FAILED})
        self.assertEqual(list(past.green_commits()), ["0" * 40])


class Summary(unittest.TestCase):
    def test_a_run_passes_only_with_every_required_step(self):
        required = [Step("build", 1, required=True), Step("deny", 1, required=True), Step("ui", 1)]
        passed = {"build": Result(OK), "deny": Result(UNCHANGED), "ui": Result(NO_TIME)}
        self.assertEqual(summary.problems(required, passed), [])
        self.assertEqual(summary.problems(required, {**passed, "ui": Result(FAILED)}), ["ui failed"])
        self.assertEqual(summary.problems(required, {"build": Result(FAILED)}), ["build failed", "deny is required and has not run"])
        self.assertEqual(summary.problems(required, {**passed, "deny": Result(NO_TIME)}), ["deny is required and has not run"])

    def test_a_step_over_its_budget_is_marked(self):
        steps = [Step("slow", 100), Step("cold", 100, cold=100)]
        rows = list(summary.rows(steps, {"slow": Result(OK, seconds=131), "cold": Result(OK, seconds=201)}, True))
        self.assertIn("OVER BUDGET by 31 s", rows[1])
        self.assertNotIn("OVER", rows[2])


if __name__ == "__main__":
    unittest.main()
