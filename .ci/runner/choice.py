"""Which steps run this time, in which order, and why the others do not."""

from .step import NOT_NOW, UNCHANGED, Result

# A group of campaigns runs at least once in so many runs.
GROUP_WITHIN = 5


def is_below(path, prefixes):
    return any(path == prefix or path.startswith(prefix.rstrip("/") + "/") for prefix in prefixes)


def last_text(history, name):
    """Describes the last run of a step."""
    last = history.last(name)
    if last is None:
        return "no earlier run is known on this machine"
    ago, record = last
    return f"last: {ago} run{'s' if ago > 1 else ''} ago, {record['result']}"


def choose_group(steps, history, changed, count):
    """Returns the group of campaigns of this run: one that has failed, one that has not run for too long, one for which no time was
    left, one whose code has changed, and otherwise the one that ran longest ago. Without a history the number of commits decides."""
    groups = sorted({step.group for step in steps if step.group})
    if not groups:
        return ""
    members = {group: [step for step in steps if step.group == group] for group in groups}

    def age(group):
        last = [history.last_complete(step.name) for step in members[group]]
        return max(GROUP_WITHIN * 2 if one is None else one[0] for one in last)

    def having(is_so):
        return [group for group in oldest_first if any(is_so(step.name) for step in members[group])]

    if not any(history.last(step.name) for step in steps if step.group):
        return groups[count % len(groups)]
    oldest_first = sorted(groups, key=age, reverse=True)
    overdue = oldest_first[:1] if age(oldest_first[0]) >= GROUP_WITHIN else []
    touched = [group for group in oldest_first if any(is_below(path, step.paths) for step in members[group] for path in changed)]
    return [*having(history.has_failed), *overdue, *having(history.had_no_time), *touched, *oldest_first][0]


def is_due(step, history, changed, count):
    """Returns whether a step that runs every few times runs now."""
    is_waiting = history.has_failed(step.name) or history.had_no_time(step.name)
    if is_waiting or any(is_below(path, step.paths) for path in changed):
        return True
    last = history.last_complete(step.name)
    return count % step.every == 0 if last is None else last[0] >= step.every


def unchanged_since(step, history, checkout):
    """Returns since when the inputs of a step are the same, or None."""
    state = checkout.state(step.paths)
    passed = history.passed_inputs(step.name)
    if passed:
        return passed["commit"][:8] if state and passed["state"] == state else None
    # Only if nothing is known: one that has passed without a part of its checks, or too long ago, runs again.
    if step.unchanged_for and history.last(step.name) is None:
        before = checkout.ancestor(step.unchanged_for)
        return before[:8] if state and checkout.state(step.paths, before) == state else None
    return None


def choose(steps, history, checkout, everything=False):
    """Returns (the steps to run, in order; step → why it does not run)."""
    changed = checkout.changed(checkout.base(history))
    group = choose_group(steps, history, changed, checkout.count)
    left_out = {}
    if not everything:
        for step in steps:
            since = unchanged_since(step, history, checkout) if step.only_if_changed else None
            if step.only_all or (step.group and step.group != group):
                left_out[step.name] = Result(NOT_NOW, note=last_text(history, step.name))
            elif step.every > 1 and not is_due(step, history, changed, checkout.count):
                left_out[step.name] = Result(NOT_NOW, note=last_text(history, step.name))
            elif since:
                left_out[step.name] = Result(UNCHANGED, note=f"nothing that it reads has changed since {since}")
    return order([step for step in steps if step.name not in left_out], history), left_out


def order(steps, history):
    """Returns the required steps in the table's order, then those that failed or had no time when it was last their turn, then the
    others. A step that runs beside another one follows it; if that one does not run, it runs alone."""
    hosts = {step.name for step in steps}
    alone = [step for step in steps if step.beside not in hosts]

    def rank(step):
        is_waiting = history.has_failed(step.name) or history.had_no_time(step.name)
        return 0 if step.required else 1 if is_waiting else 2

    ordered = []
    for step in sorted(alone, key=rank):
        ordered += [step, *(other for other in steps if other.beside == step.name)]
    return ordered


def only(steps, names):
    """Returns the steps with these names, and what they need, in the table's order."""
    known = {step.name: step for step in steps}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"error: there is no step {', '.join(unknown)}\nnext:  .ci/run --list shows all of them")
    needed, pending = {"packages"}, list(names)
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending += known[name].needs
    return [step for step in steps if step.name in needed]
