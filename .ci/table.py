"""Every step of .ci/run, in the order in which they run: name, budget in seconds on a warm machine with two cores, how many more
without caches, and what it runs: a command, a campaign of greenroom-e2e, or .ci/scripts/NAME. `runner/step.py` has all fields.

A run passes only if the required steps have passed, or what they read is unchanged. The others may be left out if a run takes too long,
and are then the first ones of the next run.
"""

from runner.step import Step

EVERY_RUN = (
    Step("packages", 10, cold=90, required=True),
    # What is needed later: it is installed while the programs are compiled.
    Step("tools", 10, cold=200, required=True, beside="clippy"),
    Step("ci", 5, command="python3 -m unittest discover --start-directory .ci/tests --top-level-directory .ci", required=True),
    Step("fmt", 5, command="cargo fmt --all --check", required=True),
    # Checked before anything builds, because a build would silently update the file.
    Step("lockfile", 5, cold=30, command="cargo metadata --locked --format-version 1 >/dev/null", required=True),
    Step("walls", 10, cold=20, command="cargo xtask check-walls", required=True),
    Step("words", 5, command="cargo xtask check-words", required=True),
    # Since the last release.
    Step("api-changes", 5, required=True),
    Step("patches", 5, required=True),
    Step(
        "deny",
        20,
        cold=100,
        required=True,
        only_if_changed=True,
        unchanged_for=60,
        paths=("Cargo.lock", "Cargo.toml", "deny.toml"),
    ),
    # Before everything that is compiled: greenroomd contains the built files.
    Step("dashboard", 45, cold=30, required=True),
    Step("clippy", 120, cold=290, command="cargo clippy --workspace --all-targets -- -D warnings", required=True, needs=("dashboard",)),
    Step("build", 320, cold=400, required=True, needs=("tools", "dashboard")),
    Step("services", 10, cold=30, required=True, needs=("tools",)),
    Step("migrations", 10, required=True, needs=("build", "services")),
    Step("demo", 30, required=True, needs=("build",)),
    Step("contract", 10, required=True, needs=("demo",)),
    Step("tests", 520, required=True, needs=("build", "services")),
    # The pure state machines, tried exhaustively, compiled with optimization.
    Step(
        "models",
        120,
        cold=90,
        required=True,
        only_if_changed=True,
        paths=("crates/domain", "Cargo.lock", "Cargo.toml", "rust-toolchain.toml"),
        needs=("tools",),
    ),
    Step("forges", 20, cold=20, needs=("build",)),
    Step("corpus", 20, more_with_all=True, needs=("build",)),
    Step("guide", 70, needs=("build",)),
    Step("scenarios", 200, cold=15, needs=("build",)),
    # Calls every operation with made-up input.
    Step("fuzz", 140, cold=30, beside="scenarios", more_with_all=True, needs=("build",)),
    Step("ui", 300, more_with_all=True, needs=("build",)),
)

# One group per run. The paths decide which of two groups that are equally old runs first.
CAMPAIGNS = (
    # Kills, pauses and disconnects servers, workers and PostgreSQL under load, and checks the clients' histories against the
    # properties of a lock.
    Step(
        "faults",
        140,
        group="A",
        campaign="fault locks --ops 10000 --faults 11 --outages 5",
        note="{ops} operations, {outages} outages, {violations} violations",
        paths=("crates/domain", "crates/store/src/lock", "crates/store/src/grant.rs", "crates/store/src/system/absence.rs", "crates/app/src/session"),
        may_be_void=True,
        needs=("build",),
    ),
    # Steps print secrets in many forms, and everything that is stored, logged or returned is searched for them.
    Step(
        "canary",
        35,
        group="A",
        campaign='canary --entry "$CI_ENTRY" --prints 500',
        note="{prints} prints, {hits} hits, control {control}",
        paths=("crates/runner/src/log", "crates/keys"),
        needs=("build",),
    ),
    # The example steps in containers, isolated as a runner isolates them.
    Step("steps", 30, group="A", paths=("steps",), needs=("tools",)),
    # Runners, Temporal and steps fail, and a fenced target checks what the steps did.
    Step(
        "deployfaults",
        140,
        group="B",
        campaign='fault deployments --entry "$CI_ENTRY" --deployments 20 --faults 4',
        note="{ended} deployments, {violations} violations",
        paths=("crates/runner", "crates/entry", "crates/workflows", "crates/engine", "crates/store/src/deployment"),
        may_be_void=True,
        needs=("build",),
    ),
    # Pipelines have locked a step whose registry then moves the tag and dies.
    Step(
        "stepfaults",
        30,
        group="B",
        campaign='fault steps --entry "$CI_ENTRY" --deployments 10',
        note="{succeeded} of {deployments} deployments, {violations} violations",
        paths=("crates/registry", "crates/store/src/step_registry"),
        needs=("build",),
    ),
    # The scenarios with logs, artifacts and caches again, on a real S3 server.
    Step(
        "s3",
        40,
        cold=20,
        group="B",
        campaign='scenarios --entry "$CI_ENTRY" --s3 27-big-log 35-artifacts 56-caches',
        note="{passed} of {scenarios} passed",
        paths=("crates/worker/src/objects.rs",),
        needs=("build",),
    ),
    # The recipes for nginx and Caddy in front of a server: HTTP/2, streams, uploads, the client's address, other hosts.
    Step("proxies", 15, cold=20, group="B", paths=("deploy/nginx", "deploy/caddy", "deploy/try-proxies"), needs=("build", "services", "tools")),
    # A collector, rotel from PyPI, receives the spans of a deployment from server, worker and runner.
    Step("traces", 30, cold=10, group="B", paths=("crates/traces", "deploy/observability/try-traces"), needs=("build",)),
    # One deployment at a time into a lasting environment, never backwards, nothing against a hold or a freeze, and nothing without the
    # votes of those who may approve.
    Step(
        "gatefaults",
        105,
        group="C",
        campaign='fault gates --entry "$CI_ENTRY" --deployments 12 --faults 3 --approvals 5 --voters 40 --approval-faults 2',
        note="{ended} deployments, {violations} violations",
        paths=("crates/domain/src/approval", "crates/domain/src/freeze", "crates/store/src/approval", "crates/store/src/lasting_environment"),
        may_be_void=True,
        needs=("build",),
    ),
    # Fixes are verified and proposed while parts are killed.
    Step(
        "fixfaults",
        60,
        group="C",
        campaign='fault fixes --entry "$CI_ENTRY" --kills 6',
        note="{fixes} fixes, {faults} faults, {violations} violations",
        paths=("crates/domain/src/fix", "crates/store/src/fix", "crates/worker/src/forge"),
        may_be_void=True,
        needs=("build",),
    ),
    # Failures of known causes, and the verdicts about them.
    Step(
        "verdicts",
        60,
        group="C",
        campaign='fault verdicts --entry "$CI_ENTRY" --deployments 40 --without-long-logs',
        note="{right} of {deployments} right, {violations} violations",
        paths=("crates/analysis", "crates/store/src/failure"),
        needs=("build",),
    ),
    # A hostile organization attacks while another one works.
    Step(
        "overload",
        100,
        group="D",
        campaign='fault overload --entry "$CI_ENTRY" --scale small',
        note="p95 ratio {p95Ratio}, {violations} violations",
        paths=("crates/app/src/limits", "crates/server/src/http/rules"),
        may_be_void=True,
        needs=("build",),
    ),
    # A step in a container exchanges its id tokens at SeaweedFS, which has to accept the right ones and to refuse all others.
    Step(
        "id-tokens",
        75,
        group="D",
        campaign='id-tokens --entry "$CI_ENTRY" --seconds 60',
        note="{accepted} of {exchanges} accepted, {refreshes} refreshes, {violations} violations",
        paths=("crates/keys", "crates/app/src/id_token"),
        needs=("build",),
    ),
    # Step registries that attack their reader: each has to be refused with its reason.
    Step(
        "hostile",
        75,
        group="D",
        beside="id-tokens",
        campaign="hostile --quick",
        note="{refused} of {cases} refused, at most {maxSeconds} s and +{maxRssMib} MiB",
        paths=("crates/registry",),
        needs=("build",),
    ),
    # Hostile runners of low pools leave files, caches and outputs, which must not get into the jobs of higher pools.
    Step(
        "provenance",
        90,
        group="D",
        campaign='fault provenance --entry "$CI_ENTRY" --deployments 42',
        note="{attempts} attacks in {deployments} deployments, {violations} violations",
        paths=("crates/domain/src/provenance.rs", "crates/domain/src/cache.rs", "crates/runner/src/archive", "crates/store/src/job"),
        may_be_void=True,
        needs=("build",),
    ),
)

ROTATING = (
    # Every bug of e2e/planted can still be planted, and the programs compile without the rest of the workspace.
    Step("planted", 100, cold=130, every=4, paths=("e2e/planted", "xtask/src/fault/planted.rs"), needs=("dashboard",)),
)

# Only with --all: campaigns against daemons with planted bugs, each of which must be found: seconds, and beside which other one it runs. They
# wait most of the time. `secrets` compiles tests into the folder of these daemons, so that it runs alone.
PLANTED = {
    "deployments": (2700, ""),
    "locks": (1800, "deployments"),
    "gates": (900, ""),
    "approvals": (600, "gates"),
    "provenance": (750, ""),
    "steps": (300, "provenance"),
    "fixes": (300, "provenance"),
    "secrets": (1400, ""),
}
ONLY_ALL = tuple(
    Step(
        f"p-{name}",
        budget,
        cold=1500,
        beside=f"p-{beside}" if beside else "",
        only_all=True,
        command=f".ci/scripts/planted-bugs {name}",
        needs=("build", "services"),
    )
    for name, (budget, beside) in PLANTED.items()
)

STEPS = (*EVERY_RUN, *CAMPAIGNS, *ROTATING, *ONLY_ALL)

# Files of dashboard/e2e that run in each run, without `.spec.ts`; of the screens whose accessibility `a11y` checks, a quarter.
BROWSER_EACH_RUN = ("a11y", "board", "deployment", "security", "sign-in", "stalls", "token")
# Those that are started by other commands: `cargo xtask ui perf` and `cargo xtask ui shots`.
BROWSER_OTHER_COMMANDS = ("perf", "perf-log", "perf-pages", "shots")
# The others run if one of these paths, or the file, has changed, and otherwise in one of four runs.
BROWSER_PATHS = {
    "analysis": ("dashboard/src/features/analysis", "dashboard/src/features/analysis-settings"),
    "approval": ("dashboard/src/features/approval",),
    "environment": ("dashboard/src/features/environment", "dashboard/src/features/session"),
    "failure": ("dashboard/src/features/failure",),
    "fix": ("dashboard/src/features/fix",),
    "forge": ("dashboard/src/features/forge",),
    "hostile": ("dashboard/src/features/log", "dashboard/src/features/deployment"),
    "identity": ("dashboard/src/features/member", "dashboard/src/features/group", "dashboard/src/features/grant"),
    "lasting": ("dashboard/src/features/lasting", "dashboard/src/features/freeze"),
    "live": ("dashboard/src/live",),
    "network": ("dashboard/src/live", "dashboard/src/api"),
    "oidc": ("dashboard/src/features/sign-in", "crates/app/src/sign_in"),
    "organization": ("dashboard/src/features/organization",),
    "secrets": ("dashboard/src/features/secret",),
    "step-registries": ("dashboard/src/features/step-registry",),
    "token-exchange": ("dashboard/src/features/service-account", "crates/app/src/token_exchange"),
    "trust-policy": ("dashboard/src/features/service-account",),
}
# Another quarter of the files runs if one of these has changed.
BROWSER_SHARED = ("dashboard/src/api", "dashboard/src/app", "dashboard/src/lib", "dashboard/src/ui", "crates/api-types")
