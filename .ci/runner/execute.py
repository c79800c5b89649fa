"""Starts the command of a step, passes its output on, and measures it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

from .step import FAILED, NO_TIME, OK, VOID, Result

CLOCK_STEPPED, IS_VOID = 4, 3
LAST_LINES = 80
# Seconds from SIGTERM to SIGKILL: campaigns stop their servers meanwhile.
GRACE = 20
# What the history keeps of a step's report.
KEPT_KEYS = ("seed", "flaky")


def machine_cpu():
    """Returns the processor seconds of the machine since its start: (used, steal time: what the host gave to other machines)."""
    with open("/proc/stat") as file:
        user, nice, system, _idle, _wait, irq, soft, steal = (int(number) for number in file.readline().split()[1:9])
    ticks = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + soft) / ticks, steal / ticks


class Running:
    """A step that runs. Its output is printed line by line, or at the end if it runs beside another step."""

    def __init__(self, step, context, is_beside):
        self.step, self.context, self.is_beside = step, context, is_beside
        self.began, self.cpu_before = time.monotonic(), machine_cpu()[0]
        self.lines = []
        self.note_file = context.work / f"{step.name}.note"
        self.json_file = context.work / f"{step.name}.json"
        self.partial_file = context.work / f"{step.name}.partial"
        self.turn = context.history.turn(step.name, context.checkout.count)
        self.has_ended = threading.Event()
        self.timed_out = ""
        self.is_second = False
        self.output_ended = None
        self.start()

    def start(self):
        self.note_file.write_text("")
        environment = {
            **os.environ,
            **self.context.variables(),
            "CI_NOTE": str(self.note_file),
            "CI_JSON": str(self.json_file),
            "CI_PARTIAL": str(self.partial_file),
            "CI_TURN": str(self.turn),
        }
        if self.step.campaign:
            command = f'"$CI_E2E" {self.step.campaign} --json >"$CI_JSON"'
        else:
            command = self.step.command or f".ci/scripts/{self.step.name}"
        # A process group of its own, so that all of its processes can be ended.
        self.process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.context.checkout.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        left = self.context.seconds_left()
        hangs_after = self.step.timeout()
        reason = f"ended after {hangs_after} s: it hangs" if hangs_after <= left else NO_TIME
        self.timer = threading.Timer(max(0, min(hangs_after, left)), self.time_out, [reason])
        self.timer.daemon = True
        self.timer.start()

    def read(self):
        for line in self.process.stdout:
            text = line.decode(errors="replace")
            self.lines.append(text)
            if not self.is_beside:
                sys.stdout.write(text)
                sys.stdout.flush()
        self.output_ended = time.monotonic()

    def time_out(self, reason):
        self.timed_out = reason
        self.end()

    def end(self):
        """Ends the processes of the step: with SIGTERM, and with SIGKILL if that has no effect."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                return
            if self.has_ended.wait(GRACE):
                return

    def interrupt(self):
        """Ends the step while the run itself is interrupted: nothing else waits for its process then."""
        killer = threading.Timer(GRACE, self.kill)
        killer.daemon = True
        killer.start()
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            os.waitpid(self.process.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        self.timer.cancel()
        killer.cancel()
        return Result(FAILED, time.monotonic() - self.began, note="interrupted", last_lines=self.last_lines())

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def wait(self):
        """Waits for the step and returns its result. A campaign during which the clock was stepped is repeated once."""
        _, status, used = os.wait4(self.process.pid, 0)
        self.has_ended.set()
        code = os.waitstatus_to_exitcode(status)
        self.process.returncode = code
        self.timer.cancel()
        # A server that the step has started may keep its output open.
        self.reader.join(timeout=5)
        if not self.reader.is_alive():
            self.process.stdout.close()
        if code == CLOCK_STEPPED and self.step.campaign and not self.is_second:
            print("the system clock was stepped: running the campaign again", flush=True)
            self.is_second = True
            self.has_ended.clear()
            self.start()
            return self.wait()
        cpu = used.ru_utime + used.ru_stime if self.is_beside else machine_cpu()[0] - self.cpu_before
        # One beside another step has ended before it was waited for.
        ended = self.output_ended if self.is_beside and self.output_ended else time.monotonic()
        result = Result(self.outcome(code), ended - self.began, cpu, self.note_file.read_text().strip(), turn=self.turn)
        if self.step.campaign:
            self.describe(result)
        else:
            self.keep_details(result, self.report() or {})
        if self.timed_out == NO_TIME and not self.step.required:
            result.result, result.note = NO_TIME, f"ended after {result.seconds:.0f} s, because the run takes too long; runs first next time"
        elif self.timed_out:
            result.result, result.note = FAILED, f"{self.timed_out}. {result.note}"
        if result.result == FAILED:
            result.last_lines = self.last_lines()
        return result

    def keep_details(self, result, report):
        result.details = {key: report[key] for key in KEPT_KEYS if key in report}

    def is_partial(self):
        """Returns whether the step has passed without a part of its checks, which could not be made."""
        return self.partial_file.exists()

    def outcome(self, code):
        if code == 0:
            return OK
        is_void = code == IS_VOID and self.step.may_be_void and (self.report() or {}).get("violations") == 0
        return VOID if is_void else FAILED

    def report(self):
        """Returns the JSON object that the step has printed, or None."""
        try:
            report = json.loads(self.json_file.read_text())
        except (OSError, ValueError):
            return None
        return report if isinstance(report, dict) else None

    def describe(self, result):
        """Makes the note of a campaign from its report, and prints the report if the campaign did not pass."""
        report = self.report()
        if report is None:
            result.result, result.note = FAILED, "it has printed no report"
            return
        try:
            result.note = self.step.note.format_map(report)
        except KeyError as missing:
            result.result, result.note = FAILED, f"its report has no {missing}"
        for key in ("void", "warning"):
            if report.get(key):
                result.note += f"; {key}: {report[key]}"
        self.keep_details(result, report)
        if result.result != OK:
            self.lines.append(json.dumps(report, indent=1) + "\n")
            if not self.is_beside:
                print(self.lines[-1], flush=True)

    def last_lines(self):
        return "".join(self.lines[-LAST_LINES:])
