"""Which of the browser's tests run: some in every run, those whose screens have changed, and one quarter of the others."""

from dataclasses import dataclass
from typing import Optional

from table import BROWSER_EACH_RUN, BROWSER_PATHS, BROWSER_SHARED

from .choice import is_below
from .step import OK

QUARTERS = 4
# The step that runs these tests.
STEP = "ui"


@dataclass
class Chosen:
    files: list
    why: str
    # The quarter of the screens whose accessibility is checked, as `1/4`. Empty: all of them.
    part: str
    # The last quarter of the files that runs. None: all of them run.
    quarter: Optional[int]


def choose(history, checkout, everything=False):
    files = sorted([*BROWSER_EACH_RUN, *BROWSER_PATHS])
    if everything:
        # Without names, Playwright runs every file.
        return Chosen([], "all files", "", None)
    # Compared with the last run in which the browser's tests have passed: what changed before was tested then.
    changed = checkout.changed(checkout.base(history, STEP))
    quarter = next_quarter(history, checkout.count)
    quarters = {quarter}
    if any(is_below(file, BROWSER_SHARED) for file in changed):
        quarters.add((quarter + 1) % QUARTERS)
    names = set(BROWSER_EACH_RUN)
    names |= {name for number, name in enumerate(sorted(BROWSER_PATHS)) if number % QUARTERS in quarters}
    names |= {name for name, paths in BROWSER_PATHS.items() if any(is_below(file, (*paths, path_of(name))) for file in changed)}
    turns = " and ".join(str(one + 1) for one in sorted(quarters))
    why = f"{len(names)} of {len(files)} files: those of each run, of changed screens, and of quarter {turns}"
    return Chosen([path(name) for name in sorted(names)], why, f"{quarter + 1}/{QUARTERS}", (quarter + len(quarters) - 1) % QUARTERS)


def next_quarter(history, count):
    """Returns the quarter after the last one that has passed. One that failed, or that had no time, is repeated."""
    for run in reversed(history.runs):
        last = run.get("browserQuarter")
        if last is not None and run["steps"].get(STEP, {}).get("result") == OK:
            return (last + 1) % QUARTERS
    return count % QUARTERS


def path(name):
    return f"e2e/{name}.spec.ts"


def path_of(name):
    return f"dashboard/{path(name)}"
