"""What happens in the demo: sessions, a queue, a requested hand-over, an override, deployments. Everything goes through the API, with
the tokens of the people and programs who do it. Only the times are moved into the past afterwards (demo_history)."""

import time
from datetime import datetime, timedelta, timezone

from . import demo_history, process
from .console import StackError, print_progress, warn
from .demo import PROGRAMS
from .web import call

DEPLOYMENT_DEADLINE_SECONDS = 60
HEARTBEAT_INTERVAL_SECONDS = 30
ENDED = ("succeeded", "failed", "errored", "canceled", "superseded")
# The demo's long deployment: it runs while a user looks around, so nothing waits for it.
LONG_ENVIRONMENT = "load-1"


def seed(home, seeding):
    """Seeds the activity once per stack. An interrupted seeding continues: every request has an Idempotency-Key."""
    if "siteUrl" not in seeding.saved or "activity" in seeding.saved:
        return
    if demo_history.insert(home, seeding.saved["acmeId"]):
        print_progress("demo", f"{demo_history.DAYS} days of earlier sessions")
    activity = Activity(home, seeding)
    activity.create_secrets()
    activity.create_sessions()
    activity.deploy_pipelines()
    activity.create_tokens()
    activity.create_group()
    activity.create_service_account()
    if process.recorded(home, "runner"):
        activity.await_deployments()
    activity.rotate_secrets()
    demo_history.move_into_past(home, seeding.saved["acmeId"], activity.ages)
    seeding.saved["activity"] = {"holding": activity.holding, "waiting": activity.waiting, "examples": activity.examples}
    seeding.save()
    sessions, waiting, deployments = len(activity.holding), len(activity.waiting), len(activity.deployments)
    print_progress("demo", f"{sessions} sessions, {waiting} in a queue, {deployments} deployments")


class Activity:
    def __init__(self, home, seeding):
        self.home, self.tokens = home, seeding.saved["tokens"]
        self.base = f"{seeding.base}/organizations/acme"
        self.pipelines = seeding.saved["pipelines"]
        # What the process `people` keeps alive, with the token's key.
        self.holding, self.waiting = [], []
        # Ids of deployments that should end soon.
        self.deployments = []
        # How many minutes ago each session began, and ended if it has.
        self.ages = {}
        # Ids of what is worth looking at, which dev/stack prints.
        self.examples = {}

    def token(self, who):
        return self.tokens[f"{who}:{PROGRAMS[who]}" if who in PROGRAMS else who]

    def post(self, who, path, body, key, method="POST"):
        headers = {"Idempotency-Key": f"demo-{key}"}
        status, response = call(method, f"{self.base}{path}", self.token(who), body, timeout=30, headers=headers)
        if status not in (200, 201, 202):
            raise StackError(
                f"{method} {path} for the demo returned {status}", f"dev/stack logs server{self.home.flag}", str(response)
            )
        return response["data"]

    def environment(self, name, pipeline="storefront"):
        return f"/pipelines/{self.pipelines[pipeline]}/ephemeral-environments/{name}"

    def hold(self, who, name, commit, context, began, minutes=None, pipeline="storefront", by_force=False):
        """Claims an environment and deploys into it. `began` is how many minutes ago that will have been."""
        path = self.environment(name, pipeline)
        body = {"commitId": commit, "context": context, **({"ttlSeconds": minutes * 60} if minutes else {})}
        session = self.post(who, f"{path}/{'force-claim' if by_force else 'sessions'}", body, f"{who}-{name}")
        self.ages[session["sessionId"]] = [began, None]
        self.holding.append({"who": who, "path": f"{path}/sessions/{session['sessionId']}"})
        if name != LONG_ENVIRONMENT:
            self.deployments += [deployment["id"] for deployment in session["deployments"]]
        return session

    def queue(self, who, name, context, began, commit=None):
        path = self.environment(name)
        body = {"queue": True, "context": context, **({"commitId": commit} if commit else {})}
        session = self.post(who, f"{path}/sessions", body, f"{who}-queue-{name}")
        self.ages[session["sessionId"]] = [began, None]
        self.waiting.append({"who": who, "path": f"{path}/sessions/{session['sessionId']}"})

    def request_handover(self, who, name, holder, context, began):
        """Requests an environment that this member may not take by force. So without an answer nothing happens, and the process
        `people` repeats the request when it has lapsed."""
        path = f"{self.environment(name)}/sessions/{holder['sessionId']}/request-handover"
        body = {"context": context, "graceSeconds": 3600}
        session = self.post(who, path, body, f"{who}-handover-{name}")
        self.ages[session["sessionId"]] = [began, None]
        own = f"{self.environment(name)}/sessions/{session['sessionId']}"
        self.waiting.append({"who": who, "path": own, "request": path, "body": body})

    def create_sessions(self):
        """In the order in which it will have happened, because lists are in the order of ids. qa-1 is left out: nothing in the demo uses
        what dev/stack prints as envName."""
        self.hold("june", "pr-430", "a90f11b4b825dc642cb6eb9a060e54bf8d69288f", "Design review of the cart", 231)
        maya = self.hold(
            "developer", "qa-2", "9f3c2a1b7d4e8f60512a3b4c5d6e7f8091a2b3c4", "Checkout fix, please do not reset the orders", 128
        )
        displaced = self.hold(
            "storefrontCi", "qa-3", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "Pull request 415: payment retries", 95
        )
        self.hold(
            "fixAgent", "pr-418", "e5512aa77ab0e21d20c4fa90f11b4b825dc642cb", "Verifies the fix for the checkout timeout", 66, 120
        )
        self.hold("zoe", "sandbox", "0e21d20c4fa90f11b4b825dc642cb6eb9a060e54", "Push notifications", 48, pipeline="mobile-api")
        taken_over = self.hold(
            "secondDeveloper",
            "qa-3",
            "c01dbea5512aa77ab0e21d20c4fa90f11b4b825d",
            "Hotfix: customers can't pay by invoice, I need the provider's sandbox now",
            41,
            by_force=True,
        )
        self.ages[displaced["sessionId"]][1] = 41
        self.holding = [session for session in self.holding if displaced["sessionId"] not in session["path"]]
        self.queue("fixAgent", "qa-3", "Verify that the retries no longer time out", 30)
        self.queue("samir", "qa-3", "Gift cards with the sandbox", 22)
        self.hold("storefrontCi", "pr-421", "77ab0e21d20c4fa90f11b4b825dc642cb6eb9a06", "Pull request 421: faster search", 17, 60)
        self.queue("secondDeveloper", "pr-430", "A look at the new cart", 12)
        self.queue("zoe", "qa-3", "Refunds", 9)
        long = self.hold("nightly", LONG_ENVIRONMENT, "1d20c4fa90f11b4b825dc642cb6eb9a060e54bf8", "Load test of release 2.14", 6)
        self.request_handover("june", "qa-2", maya, "Demo for the design review, half an hour is enough", 4)
        self.queue("samir", LONG_ENVIRONMENT, "Search with a million products", 3)
        self.queue("storefrontCi", "qa-2", "Regression run of main", 2, "5d6e7f8091a2b3c49f3c2a1b7d4e8f60512a3b4c")
        self.queue("developer", LONG_ENVIRONMENT, "Checkout under load", 1)
        self.examples = {
            "requestedSessionId": maya["sessionId"],
            "overriddenSessionId": displaced["sessionId"],
            "failedDeploymentId": taken_over["deployments"][0]["id"],
            "runningDeploymentId": long["deployments"][0]["id"],
        }

    def deploy_pipelines(self):
        """Deploys whole pipelines: two of them end, the others wait for an approval."""
        for slug, who, commit in (
            ("docs-site", "samir", "8091a2b3c49f3c2a1b7d4e8f60512a3b4c5d6e7f"),
            ("mobile-api", "zoe", "0e21d20c4fa90f11b4b825dc642cb6eb9a060e54"),
            ("payments", "maintainer", "6eb9a060e54bf8d69288fbee49044b825dc642cb"),
            ("storefront", "storefrontCi", "5d6e7f8091a2b3c49f3c2a1b7d4e8f60512a3b4c"),
        ):
            path, body = f"/pipelines/{self.pipelines[slug]}/deployments", {"commitId": commit, "branch": "main"}
            deployment = self.post(who, path, body, f"pipeline-{slug}")
            if slug in ("docs-site", "mobile-api"):
                self.deployments.append(deployment["id"])
            else:
                self.examples["waitingDeploymentId"] = deployment["id"]

    def create_secrets(self):
        """Creates the secrets that steps of storefront.yaml get. Their values open nothing, and are the same in every demo: a seeding
        that continues has to send the same requests."""
        storefront = self.pipelines["storefront"]
        deploy_key = {
            "name": "shop-deploy-key",
            "pipelineId": storefront,
            "description": "Signs in to the cluster of the shop",
            "policy": {"pools": ["default"]},
            "value": "demo-deploy-key-of-the-shop-1",
        }
        sandbox_key = {
            "name": "payment-sandbox-key",
            "description": "The payment provider's sandbox, for tests",
            "policy": {"pipelines": [storefront], "environments": ["qa-1", "qa-2", "qa-3", "load-1", "load-2", "pr-*"]},
            "value": "demo-key-of-the-payment-sandbox-1\n",
        }
        self.deploy_key = self.post("maintainer", "/secrets", deploy_key, "secret-deploy-key")["id"]
        self.sandbox_key = self.post("admin", "/secrets", sandbox_key, "secret-sandbox-key")["id"]

    def rotate_secrets(self):
        """Sets a second version of each. Deployments have read the first one: of the deploy key it is retired, of the other one still
        active, because the second one is only staged."""
        value = {"value": "demo-deploy-key-of-the-shop-2"}
        self.post("maintainer", f"/secrets/{self.deploy_key}/value", value, "secret-deploy-key-2", "PUT")
        value = {"value": "demo-key-of-the-payment-sandbox-2\n", "staged": True}
        self.post("admin", f"/secrets/{self.sandbox_key}/value", value, "secret-sandbox-key-2", "PUT")

    def create_tokens(self):
        """Creates the tokens that Maya Berg sees among her own. Their secrets are not kept, so they are never used."""
        soon = (datetime.now(timezone.utc) + timedelta(days=12)).strftime("%Y-%m-%dT00:00:00Z")
        storefront = [self.pipelines["storefront"]]
        for body in (
            {"name": "laptop", "kind": "user"},
            {"name": "deploy-preview", "kind": "ci", "expiresAt": soon, "pipelines": storefront},
            {"name": "code-review", "kind": "agent", "scopes": ["read"]},
        ):
            self.post("developer", "/api-tokens", body, f"token-{body['name']}")

    def create_group(self):
        """Creates a group of those who approve releases, with a grant."""
        group = {"name": "release-managers", "description": "Approve what goes to production"}
        group_id = self.post("admin", "/groups", group, "group")["id"]
        for who in ("maintainer", "admin"):
            _, me = call("GET", f"{self.base}/me", self.token(who))
            self.post("admin", f"/groups/{group_id}/members/{me['data']['userId']}", None, f"group-{who}", "PUT")
        path = f"/pipelines/{self.pipelines['storefront']}/grants/groups/{group_id}"
        self.post("admin", path, {"role": "maintainer"}, "grant", "PUT")

    def create_service_account(self):
        """Creates a service account. The secret of its token is not kept, so it is never used."""
        account = {"name": "docs-site-ci", "role": "developer", "description": "Jobs of the repository docs-site"}
        account_id = self.post("admin", "/service-accounts", account, "service-account")["id"]
        token = {"name": "main", "pipelines": [self.pipelines["docs-site"]], "maxSessions": 1}
        self.post("admin", f"/service-accounts/{account_id}/api-tokens", token, "service-account-token")

    def await_deployments(self):
        """Waits for the end of those that should end soon. On a slow machine that takes longer than a place in a queue is kept."""
        end, left = time.monotonic() + DEPLOYMENT_DEADLINE_SECONDS, list(self.deployments)
        heartbeat_at = time.monotonic()
        while left and time.monotonic() < end:
            if time.monotonic() >= heartbeat_at:
                for session in self.waiting:
                    call("POST", f"{self.base}{session['path']}/heartbeat", self.token(session["who"]), {})
                heartbeat_at += HEARTBEAT_INTERVAL_SECONDS
            status, response = call("GET", f"{self.base}/deployments/{left[0]}", self.tokens["owner"])
            if status == 200 and response["data"]["status"] in ENDED:
                left.pop(0)
            else:
                time.sleep(0.2)
        if left:
            warn(f"{len(left)} of the demo's deployments still run")
