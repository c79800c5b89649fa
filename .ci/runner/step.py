"""What a step of the table is, and what came of it."""

from dataclasses import dataclass, field

# A step in a rotation is not started after this many seconds of a run, and no other optional step after the second number.
ROTATING_STARTS_UNTIL = 55 * 60
OPTIONAL_STARTS_UNTIL = 70 * 60
# What still runs after so many seconds is ended: CI itself is stopped after 90 minutes, without a summary and without a result.
ENDS_AFTER = 86 * 60


@dataclass(frozen=True)
class Step:
    name: str
    # Seconds on a machine with two cores and warm caches, and how many more without caches.
    budget: int
    cold: int = 0
    # A shell command. Without one, the script .ci/scripts/NAME.
    command: str = ""
    # Arguments of greenroom-e2e. It prints a JSON object, of whose keys the note is made. Exit code 4 means that the clock was stepped.
    campaign: str = ""
    note: str = ""
    # Exit code 3 without violations is accepted: the machine was too slow for the faults to have an effect.
    may_be_void: bool = False
    # The run fails unless this step has passed, or its inputs are unchanged.
    required: bool = False
    # What --only runs before it. `packages` is needed by all.
    needs: tuple = ()
    # Runs in the background while that step runs.
    beside: str = ""
    # One group of steps runs per run. Others run if one of their paths has changed, or every few runs.
    group: str = ""
    every: int = 1
    paths: tuple = ()
    # Runs only with --all.
    only_all: bool = False
    # Does a part of its work, or less of it, without --all.
    more_with_all: bool = False
    # Does not run if the paths are as they were when it last passed, or as they were that many commits ago.
    only_if_changed: bool = False
    unchanged_for: int = 0

    @property
    def is_rotating(self):
        return bool(self.group) or self.every > 1 or self.only_all

    @property
    def starts_until(self):
        """Returns the second of a run after which this step is not started, or None."""
        if self.required:
            return None
        return ROTATING_STARTS_UNTIL if self.is_rotating else OPTIONAL_STARTS_UNTIL

    def allowed(self, is_cold):
        return self.budget + (self.cold if is_cold else 0)

    def timeout(self):
        """Returns the timeout in seconds."""
        return 4 * (self.budget + self.cold) + 300


OK, FAILED, VOID = "ok", "FAILED", "void"
# Did not run: no time was left, its turn comes in another run, or nothing that it reads has changed.
NO_TIME, NOT_NOW, UNCHANGED = "NOT RUN: time", "not in this run", "unchanged"
RAN = (OK, FAILED, VOID)


@dataclass
class Result:
    result: str
    seconds: float = 0
    # Processor seconds of the whole machine; of the step alone if it ran beside another one.
    cpu: float = 0
    note: str = ""
    # `seed`, `flaky`, and `void` if it failed because it was void too often.
    details: dict = field(default_factory=dict)
    # The number of its turn, for steps that do one part of their work in each run.
    turn: int = 0
    # Of a step that failed.
    last_lines: str = ""
