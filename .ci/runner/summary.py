"""The table at the end of a run."""

from .step import FAILED, NO_TIME, NOT_NOW, OK, RAN, UNCHANGED, VOID

# More than this part of its budget is marked.
OVER_BUDGET = 1.3


def rows(steps, results, is_cold):
    """Yields the lines of the table, one for each step."""
    yield f"{'step':<15}{'result':<17}{'seconds':>8}{'budget':>8}{'cpu s':>8}  note"
    for step in steps:
        result = results.get(step.name)
        if result is None:
            yield f"{step.name:<15}{'not reached':<17}"
        elif result.result in RAN:
            budget = step.allowed(is_cold)
            is_over = result.seconds > budget * OVER_BUDGET and result.seconds > budget + 5
            notes = [f"OVER BUDGET by {result.seconds - budget:.0f} s"] if is_over else []
            notes += [f"beside {step.beside}"] if step.beside else []
            notes += [result.note] if result.note else []
            line = f"{step.name:<15}{result.result:<17}{result.seconds:>8.0f}{budget:>8}{result.cpu:>8.0f}  {'; '.join(notes)}"
            yield line.rstrip()
        else:
            yield f"{step.name:<15}{result.result:<17}{'':>24}  {result.note}".rstrip()


def problems(steps, results):
    """Returns why the run has not passed."""
    found = [f"{name} failed" for name, result in results.items() if result.result == FAILED]
    for step in steps:
        result = results.get(step.name)
        has_run = result and result.result in (OK, UNCHANGED)
        if step.required and not has_run and not (result and result.result == FAILED):
            found.append(f"{step.name} is required and has not run")
    return found


def counts(results):
    """Returns one line that counts the results."""
    names = (OK, FAILED, VOID, NO_TIME, NOT_NOW, UNCHANGED)
    counted = [(name, sum(result.result == name for result in results.values())) for name in names]
    return ", ".join(f"{count} {name}" for name, count in counted if count)
