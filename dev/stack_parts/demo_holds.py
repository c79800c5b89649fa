"""Who held the demo's environments in the last two weeks. It depends only on the environment's name and the time."""

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import List, Optional

DAYS = 14
# Environments with a history. The one that dev/stack prints as envName has none: nothing in the demo uses it. All sessions ended long
# enough ago that those of demo_activity began later.
ENVIRONMENTS = ("qa-2", "qa-3", "load-1", "load-2", "sandbox")
LAST_END = timedelta(minutes=243)
SHORTEST = timedelta(minutes=20)
NIGHTLY = ("qa-3", "load-1")
MEMBERS = {
    "user": ("developer", "secondDeveloper", "june", "samir", "zoe", "maintainer"),
    "ci": ("storefrontCi",),
    "agent": ("fixAgent",),
}
MINUTES = {"user": (35, 230), "ci": (15, 70), "agent": (20, 90)}
DEPLOYMENTS = {"user": (1, 1, 2, 3, 4), "ci": (1,), "agent": (1, 2, 3)}
CONTEXTS = {
    "user": (
        "Checkout fix",
        "Coupon codes",
        "Payments regression run",
        "Search relevance, with Lena",
        "Gift cards",
        "Screenshots for the release notes",
        "The order export is slow",
        "New cart, second try",
        "Reproduce the double charge",
        "Accessibility of the product page",
    ),
    "ci": ("Regression run of main", "Pull request 402: image sizes", "Pull request 409: taxes", "Pull request 411: sitemap"),
    "agent": ("Verifies the fix for the checkout timeout", "Bisects a slow query", "Tries the dependency updates"),
}
OVERRIDE_REASONS = (
    "Incident 2231: checkout returns 502, I have to reproduce it now",
    "The release is blocked on this fix, sorry; talk to me",
    "The provider's sandbox is only open until noon",
)
# What the commits of failed deployments begin with, and the step that fails: see dev/demo/steps.
FAILING_COMMITS = {"c01dbea": "migrate", "badc0de": "unit-tests", "deadbea": "smoke-test"}


@dataclass
class Deployment:
    created_at: datetime
    commit: str
    # The step that fails, if one does.
    failing_step: Optional[str] = None


@dataclass
class Hold:
    """A session. One that left the queue before its turn has no `claimed_at`."""

    member: str
    kind: str
    context: str
    queued_at: Optional[datetime]
    claimed_at: Optional[datetime]
    ended_at: datetime
    status: str = "released"
    override_reason: Optional[str] = None
    overridden_by: Optional["Hold"] = None
    deployments: List[Deployment] = field(default_factory=list)

    @property
    def created_at(self):
        return self.queued_at or self.claimed_at


def invent(name, now, can_fail):
    """Returns the holds of an environment in the order in which their sessions were created. They do not overlap."""
    chance = random.Random(name)
    until = now - LAST_END
    holds, abandoned = [], []
    for begins, minutes, kind, member, context in requests(name, now, chance):
        previous = holds[-1] if holds else None
        queued_at, claimed_at = None, begins
        if begins > until - SHORTEST:
            break
        if previous and begins < previous.ended_at:
            if member == previous.member or previous.ended_at - begins > timedelta(minutes=100):
                continue
            if kind == "user" and chance.random() < 0.12 and begins - previous.claimed_at > timedelta(minutes=10):
                previous.status, previous.ended_at = "overridden", begins
                previous.override_reason = chance.choice(OVERRIDE_REASONS)
            else:
                queued_at, claimed_at = begins, previous.ended_at
        if claimed_at > until - SHORTEST:
            break
        hold = Hold(member, kind, context, queued_at, claimed_at, min(claimed_at + timedelta(minutes=minutes), until))
        if previous and previous.status == "overridden" and previous.overridden_by is None:
            previous.overridden_by = hold
        if chance.random() < 0.15:
            hold.status = "expired"
        holds.append(hold)
    for hold in holds:
        hold.deployments = deployments(hold, chance, can_fail)
        if hold.ended_at - hold.claimed_at > timedelta(hours=2) and chance.random() < 0.3:
            abandoned.append(abandoned_place(hold, chance))
    return sorted(holds + abandoned, key=lambda hold: hold.created_at)


def requests(name, now, chance):
    """Yields when a member wanted the environment, for how many minutes, and which member: people on weekdays, tests at night."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for day in range(DAYS, -1, -1):
        base = midnight - timedelta(days=day)
        if name in NIGHTLY:
            begins = base + timedelta(minutes=90 + chance.uniform(0, 20))
            yield begins, chance.uniform(50, 95), "ci", "nightly", "Nightly end-to-end tests"
        count = chance.choice((3, 3, 4, 5)) if base.weekday() < 5 else chance.choice((0, 0, 1))
        for hour in sorted(chance.uniform(7, 18) for _ in range(count)):
            kind = chance.choices(("user", "ci", "agent"), (6, 2, 1))[0]
            member, context = chance.choice(MEMBERS[kind]), chance.choice(CONTEXTS[kind])
            yield base + timedelta(hours=hour), chance.uniform(*MINUTES[kind]), kind, member, context


def deployments(hold, chance, can_fail):
    """Returns the deployments of a hold, far enough apart that each has ended before the next one and before the hold's end."""
    made, at = [], hold.claimed_at + timedelta(seconds=chance.uniform(1, 90))
    for _ in range(chance.choice(DEPLOYMENTS[hold.kind])):
        if at > hold.ended_at - timedelta(minutes=5):
            break
        commit, failing_step = f"{chance.getrandbits(160):040x}", None
        if can_fail and chance.random() < 0.18:
            prefix, failing_step = chance.choice(sorted(FAILING_COMMITS.items()))
            commit = prefix + commit[len(prefix) :]
        made.append(Deployment(at, commit, failing_step))
        at += timedelta(minutes=chance.uniform(8, 55))
    return made


def abandoned_place(hold, chance):
    """Returns the session of a member who waited for the end of a hold, and left the queue."""
    begins = hold.claimed_at + timedelta(minutes=chance.uniform(10, 60))
    member = chance.choice([member for member in MEMBERS["user"] if member != hold.member])
    ended_at = begins + timedelta(minutes=chance.uniform(5, 25))
    return Hold(member, "user", chance.choice(CONTEXTS["user"]), begins, None, ended_at, "canceled")
