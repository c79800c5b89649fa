"""Runs the steps of table.py, as CI does it. Started by .ci/run, which documents the options."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from runner import browser, choice, summary
from runner.checkout import Checkout
from runner.execute import Running, machine_cpu
from runner.history import VOIDS_IN_A_ROW, History, now
from runner.step import ENDS_AFTER, FAILED, NO_TIME, OK, VOID, Result
from table import STEPS

FOLDER = Path(__file__).resolve().parent.parent
STACKS = FOLDER / ".stack"
# How the note of a step begins that has passed in an earlier run.
TAKEN_OVER = "in the run of"


class Context:
    """What all steps of a run share."""

    def __init__(self, options):
        self.options = options
        self.began, self.began_at = time.monotonic(), now().isoformat(timespec="seconds")
        self.cpu_at_start = machine_cpu()
        self.cache = Path(os.environ["CI_CACHE"])
        self.is_cold = not (Path(os.environ["CARGO_TARGET_DIR"]) / "debug" / "deps").exists()
        self.history = History(self.cache / "ci-times.json")
        self.checkout = Checkout(FOLDER)
        self.is_clean = self.checkout.is_clean()
        self.stack = f"ci-{os.getpid()}"
        self.stacks_before = stacks()
        self.work = Path(tempfile.mkdtemp(prefix="greenroom-ci-"))
        self.results = {}
        self.beside = {}
        self.current = None
        self.inputs = {}
        self.browser = browser.choose(self.history, self.checkout, options.all)

    def seconds(self):
        return time.monotonic() - self.began

    def seconds_left(self):
        """Returns after how many seconds a running step is ended, because the run takes too long."""
        return float("inf") if self.options.all else ENDS_AFTER - self.seconds()

    def variables(self):
        target = os.environ["CARGO_TARGET_DIR"]
        entry = self.work / "entry"
        return {
            "CI_WORK": str(self.work),
            "CI_STACK": self.stack,
            "CI_DEMO_STACK": f"{self.stack}-demo",
            "CI_BROWSER_STACK": f"{self.stack}-ui",
            "CI_E2E": f"{target}/debug/greenroom-e2e",
            "CI_ENTRY": entry.read_text().strip() if entry.exists() else "",
            "CI_ALL": "1" if self.options.all else "",
            "CI_SEED": str(int(self.checkout.commit[:12], 16)),
            "CI_BROWSER_FILES": " ".join(self.browser.files),
            "GREENROOM_A11Y_PART": self.browser.part,
        }


def stacks():
    """Returns the names of the stacks of this checkout."""
    # Other folders there begin with a dot.
    return {folder.name for folder in STACKS.glob("[!.]*") if folder.is_dir()}


def run_step(context, step):
    """Runs a step, with those beside it, unless it is too late."""
    until = None if context.options.all else step.starts_until
    if (until is not None and context.seconds() > until) or context.seconds_left() <= 0:
        context.results[step.name] = Result(NO_TIME, note="runs first next time")
        return
    print(f"\n=== {step.name}", flush=True)
    if step.beside in context.beside:
        print(f"in the background, beside {step.beside}", flush=True)
        context.beside[step.beside].append(Running(step, context, is_beside=True))
        return
    context.current = Running(step, context, is_beside=False)
    finish_step(context, context.current)
    context.current = None


def finish_step(context, running):
    step, result = running.step, running.wait()
    if result.result == VOID and context.history.voids(step.name) >= VOIDS_IN_A_ROW - 1:
        result.result, result.details["void"] = FAILED, True
        result.note = f"void {VOIDS_IN_A_ROW} times in a row: it proves nothing here. {result.note}"
    again = context.history.flaky(step.name) & set(result.details.get("flaky", []))
    if again:
        result.result, result.note = FAILED, f"flaky twice within 10 runs: {', '.join(sorted(again))}. {result.note}"
    context.results[step.name] = result
    print(f"--- {step.name}: {result.result}, {result.seconds:.0f} s, {result.cpu:.0f} s of processor time", flush=True)
    if result.result == OK and step.only_if_changed and not running.is_partial():
        state = context.checkout.state(step.paths)
        context.inputs[step.name] = {"state": state, "commit": context.checkout.commit, "at": now().isoformat()}
    keep(context)


def run_all(context, steps):
    """Runs the steps. The first required one that fails ends the run; after others the run continues, and fails in the end."""
    hosts = {step.beside for step in steps if step.beside}
    for number, step in enumerate(steps):
        if step.name in hosts:
            # Those beside it follow in the list; they are started first, so that they run meanwhile.
            context.beside[step.name] = []
            for other in steps[number + 1 :]:
                if other.beside == step.name and other.name not in context.results:
                    run_step(context, other)
        if step.name not in context.results:
            run_step(context, step)
        for running in context.beside.get(step.name, []):
            print(f"\n=== {running.step.name}, in the background until now", flush=True)
            finish_step(context, running)
            print("".join(running.lines), end="", flush=True)
        context.beside.pop(step.name, None)
        if any(other.required and context.results.get(other.name, Result(OK)).result == FAILED for other in steps):
            return


def end(context, steps, left_out, is_interrupted):
    """Stops what runs, prints the summary, keeps the times, and returns the exit code."""
    for running in [*(one for group in context.beside.values() for one in group), context.current]:
        if running and running.step.name not in context.results:
            context.results[running.step.name] = running.interrupt()
    failed = {name: result for name, result in context.results.items() if result.result == FAILED}
    if failed and (STACKS / context.stack).is_dir():
        print(f"\n=== the last lines of the servers of {context.stack}", flush=True)
        subprocess.run(["dev/stack", "logs", "--name", context.stack, "--lines", "30"], cwd=FOLDER, check=False)
    for name, result in failed.items():
        print(f"\n=== the last lines of {name}\n{result.last_lines}", end="", flush=True)
    # Those of campaigns and browser tests, too, if they could not stop theirs.
    are_stopped = all([reset_stack(name) for name in sorted(stacks() - context.stacks_before)])
    shutil.rmtree(context.work, ignore_errors=True)
    context.results.update(left_out)
    found = summary.problems(steps, context.results) if not context.options.only else [f"{name} failed" for name in failed]
    if not are_stopped:
        found.append("the servers could not be stopped")
    if is_interrupted:
        found.append("it was interrupted")
    used, stolen = (after - before for after, before in zip(machine_cpu(), context.cpu_at_start))
    print(f"\n=== summary of {context.checkout.commit[:12]}{', without caches' if context.is_cold else ''}")
    print("\n".join(summary.rows(steps, context.results, context.is_cold)))
    print(f"{summary.counts(context.results)}; browser: {context.browser.why}")
    minutes, seconds = divmod(round(context.seconds()), 60)
    print(f"total {minutes} min {seconds} s, {used:.0f} s of processor time, {stolen:.0f} s of steal time")
    print("\n".join(f"NOT PASSED: {problem}" for problem in found) or "passed", flush=True)
    keep(context, has_passed=not found)
    return 1 if found else 0


def reset_stack(name):
    """Stops the servers of a stack and removes their data. Returns whether that has worked."""
    return subprocess.run(["dev/stack", "reset", "--name", name], cwd=FOLDER, check=False).returncode == 0


def keep(context, has_passed=False):
    """Writes what is known of this run until now into the history: after each step, in case the run is killed."""
    if context.options.only:
        return
    results = {
        name: {
            "result": one.result,
            "seconds": round(one.seconds, 1),
            "cpu": round(one.cpu, 1),
            "note": one.note,
            "details": one.details,
            "turn": one.turn,
        }
        for name, one in context.results.items()
    }
    run = {
        "id": f"{context.began_at} {os.getpid()}",
        "commit": context.checkout.commit,
        "clean": context.is_clean,
        "began": context.began_at,
        "seconds": round(context.seconds()),
        "cpu": round(machine_cpu()[0] - context.cpu_at_start[0]),
        "cold": context.is_cold,
        "all": context.options.all,
        "complete": has_passed,
        "browserQuarter": context.browser.quarter,
        "steps": results,
    }
    try:
        # The choices of this run depend on the runs before it, so its own record is not among them.
        History(context.history.file).save(run, context.inputs)
    except OSError as error:
        print(f"the times could not be kept: {error}", flush=True)


def take_over(context, steps):
    """Takes the results of earlier runs of this commit, except those of steps that prepare others, and those that do more in this run."""
    if not context.checkout.is_clean():
        raise SystemExit("error: the checkout has changes that are not committed\nnext:  commit them, or start without --resume")
    prepares = {needed for step in steps for needed in step.needs} | {"packages"}
    more = {step.name for step in steps if step.more_with_all}
    for name, record, run in context.history.passed(context.checkout.commit):
        if name not in prepares and (run["all"] or name not in more):
            # One that was taken over before names its run already.
            note = record["note"] if record["note"].startswith(TAKEN_OVER) else f"{TAKEN_OVER} {run['began']}. {record['note']}"
            context.results[name] = Result(OK, record["seconds"], record["cpu"], note, record["details"], record["turn"])


def arguments():
    parser = argparse.ArgumentParser(prog=".ci/run", description="Everything that must hold before a change goes in.")
    parser.add_argument("--all", action="store_true", help="run every step, also those of other runs; no time limit")
    parser.add_argument("--resume", action="store_true", help="with --all: not those that have passed in an earlier run of this commit")
    parser.add_argument("--only", metavar="STEP,…", type=lambda text: text.split(","), help="run only these, and what they need")
    parser.add_argument("--list", action="store_true", help="show which steps would run now, and why not")
    options = parser.parse_args()
    if options.resume and not options.all:
        parser.error("--resume needs --all")
    return options


def print_list(context, left_out):
    for step in STEPS:
        state = left_out[step.name].result + ": " + left_out[step.name].note if step.name in left_out else "runs"
        print(f"{step.name:<15}{step.budget:>5} s  {state}")
    print(f"browser: {context.browser.why}: {' '.join(context.browser.files)}")
    shutil.rmtree(context.work)


def main():
    context = Context(arguments())
    options = context.options
    steps = choice.only(STEPS, options.only) if options.only else STEPS
    chosen, left_out = choice.choose(steps, context.history, context.checkout, options.all or bool(options.only))
    if options.list:
        print_list(context, left_out)
        return 0
    if options.resume:
        take_over(context, chosen)

    def interrupt(number, _frame):
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
    code, is_interrupted = 1, True
    try:
        run_all(context, chosen)
        is_interrupted = False
    finally:
        code = end(context, steps, left_out, is_interrupted)
    return code


if __name__ == "__main__":
    sys.exit(main())
