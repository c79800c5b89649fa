"""The last runs on this machine: commit, results and times of each step. Without the file, nothing is known and the choice of steps
depends on the commit alone.
"""

import contextlib
import datetime
import fcntl
import json
import os
import tempfile
from pathlib import Path

from .step import FAILED, NO_TIME, OK, RAN, VOID

KEPT_RUNS = 50
# A flaky browser test, or a void campaign, is accepted this many times within so many runs.
FLAKY_WITHIN, VOIDS_IN_A_ROW = 10, 3
# What has passed with the same inputs counts as passed for so many days.
INPUTS_VALID_DAYS = 7


def now():
    return datetime.datetime.now(datetime.timezone.utc)


class History:
    def __init__(self, file):
        self.file = Path(file)
        self.read()

    def read(self):
        try:
            content = json.loads(self.file.read_text())
        except (OSError, ValueError):
            content = {}
        content = content if isinstance(content, dict) else {}
        self.runs = content.get("runs", [])
        # Step → the hash of its inputs when it last passed, the commit, and when.
        self.inputs = content.get("inputs", {})

    def save(self, run, inputs):
        """Adds a run, or replaces it by its id. Another run on this machine may have saved meanwhile, so the file is read again."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with open(self.file.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.read()
            self.runs = [other for other in self.runs if other.get("id") != run["id"]]
            self.runs = [*self.runs, run][-KEPT_RUNS:]
            self.inputs.update(inputs)
            descriptor, partial = tempfile.mkstemp(dir=self.file.parent, prefix=self.file.name)
            try:
                with open(descriptor, "w") as file:
                    json.dump({"runs": self.runs, "inputs": self.inputs}, file, indent=1)
                os.replace(partial, self.file)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(partial)
                raise

    def of_step(self, name, results=RAN):
        """Returns (number of runs ago, record) for each earlier run of a step with one of these results, the latest first."""
        for ago, run in enumerate(reversed(self.runs), 1):
            record = run["steps"].get(name)
            if record and record["result"] in results:
                yield ago, record

    def last(self, name, results=RAN):
        return next(self.of_step(name, results), None)

    def last_complete(self, name):
        """Returns the last run of a step in which it has not failed."""
        return self.last(name, (OK, VOID))

    def has_failed(self, name):
        """Returns whether a step failed when it was last started."""
        last = self.last(name)
        return last is not None and last[1]["result"] == FAILED

    def had_no_time(self, name):
        """Returns whether a step was left out since it last ran."""
        last = self.last(name, (*RAN, NO_TIME))
        return last is not None and last[1]["result"] == NO_TIME

    def voids(self, name):
        """Returns how many times in a row the step was void. The last ones may have failed because of that."""
        count = 0
        for _, record in self.of_step(name):
            if record["result"] != VOID and not record.get("details", {}).get("void"):
                break
            count += 1
        return count

    def flaky(self, name):
        """Returns the tests that passed only when they were repeated, within the last runs of a step."""
        recent = [record for _, record in self.of_step(name)][: FLAKY_WITHIN - 1]
        return {title for record in recent for title in record.get("details", {}).get("flaky", [])}

    def turn(self, name, count):
        """Returns the number of the next turn of a step that does one part of its work in each run. A part that failed is repeated."""
        for _, record in self.of_step(name):
            if "turn" in record:
                return record["turn"] + (record["result"] != FAILED)
        return count

    def passed_inputs(self, name):
        """Returns what is known about the inputs with which a step has passed, unless that is too long ago."""
        passed = self.inputs.get(name)
        if passed and now() - datetime.datetime.fromisoformat(passed["at"]) < datetime.timedelta(days=INPUTS_VALID_DAYS):
            return passed
        return None

    def green_commits(self, name=None):
        """Returns the commits of the runs in which nothing failed, or in which a step has passed, the latest first."""
        for run in reversed(self.runs):
            results = [record["result"] for record in run["steps"].values()]
            if name:
                is_green = run["steps"].get(name, {}).get("result") == OK
            else:
                is_green = run.get("complete") and FAILED not in results and OK in results
            if is_green:
                yield run["commit"]

    def passed(self, commit):
        """Yields (name, record, run) for each step that has passed in an earlier run of this commit, the latest last."""
        for run in self.runs:
            if run["commit"] == commit and run.get("clean"):
                yield from ((name, record, run) for name, record in run["steps"].items() if record["result"] == OK)
