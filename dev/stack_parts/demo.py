"""Example organizations, people and pipelines. Seeding is idempotent: what exists is kept."""

import json
import subprocess
import sys
import time
from pathlib import Path

from . import daemon, git, site
from .home import CHECKOUT, write_private
from .console import StackError, print_progress
from .web import call

DEFINITIONS = CHECKOUT / "dev" / "demo"
OWNER = ("owner", "ines.moreau@example.com", "Ines Moreau")
MEMBERS = (
    # key, address, name, role
    ("developer", "maya.berg@example.com", "Maya Berg", "developer"),
    ("secondDeveloper", "tomas.ibarra@example.com", "Tomas Ibarra", "developer"),
    ("maintainer", "jonas.weber@example.com", "Jonas Weber", "maintainer"),
    ("admin", "priya.raman@example.com", "Priya Raman", "admin"),
    ("viewer", "lena.fischer@example.com", "Lena Fischer", "viewer"),
    ("june", "june.okafor@example.com", "June Okafor", "developer"),
    ("samir", "samir.haddad@example.com", "Samir Haddad", "developer"),
    ("zoe", "zoe.lindqvist@example.com", "Zoë Lindqvist", "developer"),
    ("storefrontCi", "storefront-ci@example.com", "storefront-ci", "developer"),
    ("nightly", "nightly-e2e@example.com", "nightly-e2e", "developer"),
    ("fixAgent", "fix-agent@example.com", "fix-agent", "developer"),
)
# Members that are programs: key, and the kind of the token that they use.
PROGRAMS = {"storefrontCi": "ci", "nightly": "ci", "fixAgent": "agent"}
OTHER_OWNER = ("otherOrgOwner", "noor.aziz@globex.example.com", "Noor Aziz")
DEFAULT_PIPELINE = "storefront"
# The registry of the example steps, and the steps that the definitions use.
REGISTRY, USED_STEPS = "greenroom", ("http-check", "shell")
SYNC_DEADLINE_SECONDS = 60
# What the definitions contain instead of the stack's own site.
EXAMPLE_ORIGIN, EXAMPLE_PAGES, EXAMPLE_STEPS = "http://localhost:8080", "/srv/demo/site", "/srv/demo/steps"


class Seeding:
    def __init__(self, home, binary):
        self.home, self.binary = home, binary
        self.base = daemon.api_origin(home) + "/api/v1"
        self.saved = json.loads(home.demo_file.read_text()) if home.demo_file.exists() else {}
        self.saved.setdefault("tokens", {})

    def save(self):
        """Saves the state after each step, so that an interrupted seeding continues where it stopped."""
        write_private(self.home.demo_file, json.dumps(self.saved, indent=2) + "\n")

    def admin(self, *arguments):
        """Returns the parsed output of an admin command and an empty text, or None and the error output."""
        result = daemon.run(self.home, self.binary, "admin", *arguments)
        if result.returncode != 0:
            return None, result.stderr or result.stdout
        try:
            return json.loads(result.stdout), ""
        except ValueError:
            raise StackError(
                f"greenroomd admin {arguments[0]} printed no JSON", "fix greenroomd", result.stdout + result.stderr
            ) from None

    def organization(self, slug, name, owner):
        key, email, owner_name = owner
        if self.token_is_valid(slug, key):
            return
        made, _ = self.admin("bootstrap", "--slug", slug, "--name", name, "--owner-email", email, "--owner-name", owner_name)
        if made:
            self.saved[f"{slug}Id"], self.saved["tokens"][key] = made["organizationId"], made["token"]
            self.save()
        else:
            # The organization exists but its token is lost: an earlier seeding was interrupted, or the token was revoked.
            self.token(slug, key, email)
            _, response = call("GET", f"{self.base}/organizations/{slug}", self.saved["tokens"][key])
            self.saved[f"{slug}Id"] = response["data"]["id"]
            self.save()

    def token(self, slug, key, email):
        if self.token_is_valid(slug, key):
            return
        made, why = self.admin("create-token", "--organization", slug, "--email", email, "--name", "dev-stack")
        if not made:
            raise StackError(
                f"could not create a token for {email} in {slug}",
                f"dev/stack reset{self.home.flag}, then dev/stack up --demo{self.home.flag}",
                why,
            )
        self.saved["tokens"][key] = made["token"]
        self.save()

    def sign_in_link(self, key, origin):
        """Returns a link that signs a person of the demo in to the dashboard. Using it resets that account."""
        email = next(email for known, email, _, _ in MEMBERS if known == key)
        made, why = self.admin("sign-in-link", "--email", email, "--public-url", origin)
        if not made:
            raise StackError(f"could not make a sign-in link for {email}", f"dev/stack reset{self.home.flag}", why)
        return made["url"]

    def token_is_valid(self, slug, key):
        """Returns whether a stored token is still valid. Retries while the server is unavailable, such as after a restart of its
        database."""
        token, end = self.saved["tokens"].get(key), time.monotonic() + 20
        while token:
            status, response = call("GET", f"{self.base}/organizations/{slug}/pipelines?limit=1", token)
            if status == 200:
                return True
            if status in (401, 403, 404):
                return False
            if time.monotonic() > end:
                raise StackError(
                    f"the server returned {status}", f"dev/stack logs server{self.home.flag}", json.dumps(response, indent=2)
                )
            time.sleep(0.1)
        return False

    def post(self, path, body):
        """Returns the created record, or None if it exists already."""
        status, response = call("POST", f"{self.base}/organizations/acme{path}", self.saved["tokens"]["owner"], body, timeout=30)
        if status == 409:
            return None
        if status not in (200, 201):
            raise StackError(
                f"POST {path} for the demo returned {status}",
                f"dev/stack logs server{self.home.flag}",
                json.dumps(response, indent=2),
            )
        return response["data"]

    def member(self, key, email, name, role):
        if not self.token_is_valid("acme", key):
            self.post("/members", {"email": email, "name": name, "role": role})
            self.token("acme", key, email)

    def program(self, key, kind):
        """Creates the token of a program. Its kind is shown with everything that the program does."""
        if not self.token_is_valid("acme", f"{key}:{kind}"):
            url, body = f"{self.base}/organizations/acme/api-tokens", {"name": "jobs" if kind == "ci" else "tasks", "kind": kind}
            status, response = call("POST", url, self.saved["tokens"][key], body)
            if status != 201:
                raise StackError(f"POST /api-tokens for the demo returned {status}", f"dev/stack logs server{self.home.flag}")
            self.saved["tokens"][f"{key}:{kind}"] = response["data"]["token"]
            self.save()

    def registry(self):
        """Publishes the example steps in a repository of this stack, and waits until a worker has read them."""
        repository = git.repositories(self.home) / "steps.git"
        command = [sys.executable, str(CHECKOUT / "steps" / "publish"), "--into", str(repository), "--without-images"]
        published = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if published.returncode != 0:
            raise StackError("the example steps could not be published", f"dev/stack reset{self.home.flag}", published.stderr)
        url = f"{git.origin(self.home)}/steps.git"
        made = self.post("/step-registries", {"name": REGISTRY, "url": url})
        registries, owner = f"{self.base}/organizations/acme/step-registries", self.saved["tokens"]["owner"]
        if not made:
            _, response = call("GET", f"{registries}?limit=100", owner)
            made = next(registry for registry in response["data"] if registry["name"] == REGISTRY)
        path = f"{registries}/{made['id']}"
        if made["url"] != url:
            # The git server has another port than in the last run.
            call("PATCH", path, owner, {"url": url})
        end = time.monotonic() + SYNC_DEADLINE_SECONDS
        for step in USED_STEPS:
            while call("GET", f"{path}/steps/{step}", owner)[0] != 200:
                if time.monotonic() > end:
                    why = json.dumps(call("GET", path, owner)[1], indent=2)
                    raise StackError("the example steps were not read", f"dev/stack logs worker{self.home.flag}", why)
                time.sleep(0.1)

    def definition(self, file):
        """Returns the text of a definition with the address and the folders of this stack's site."""
        text = file.read_text().replace(EXAMPLE_ORIGIN, site.origin(self.home))
        for example, folder in ((EXAMPLE_PAGES, site.pages(self.home)), (EXAMPLE_STEPS, site.STEPS)):
            text = text.replace(f'"{example}"', json.dumps(str(folder)))
        return text

    def pipeline(self, file):
        slug = file.stem
        status, response = call("GET", f"{self.base}/organizations/acme/pipelines/{slug}", self.saved["tokens"]["owner"])
        if status != 200:
            body = {
                "name": slug.replace("-", " ").capitalize(),
                "slug": slug,
                "definition": self.definition(file),
            }
            made = self.post("/pipelines", body)
            if made is None:
                raise StackError(
                    f"the pipeline {slug} exists but cannot be read ({status})",
                    f"dev/stack logs server{self.home.flag}",
                    json.dumps(response),
                )
            response = {"data": made}
        elif self.saved.get("siteUrl") not in (None, site.origin(self.home)):
            # The site has another port than in the last run. Otherwise the definition stays: the user may have edited it.
            url, body = f"{self.base}/organizations/acme/pipelines/{slug}", {"definition": self.definition(file)}
            call("PUT", url, self.saved["tokens"]["owner"], body, timeout=30)
        self.saved.setdefault("pipelines", {})[slug] = response["data"]["id"]

    def run(self):
        if "pipelines" not in self.saved:
            self.saved["siteUrl"] = site.origin(self.home)
        self.organization("acme", "Acme", OWNER)
        self.organization("globex", "Globex", OTHER_OWNER)
        for member in MEMBERS:
            self.member(*member)
        for key, kind in PROGRAMS.items():
            self.program(key, kind)
        self.registry()
        for file in sorted(Path(DEFINITIONS).glob("*.yaml")):
            self.pipeline(file)
        if "siteUrl" in self.saved:
            self.saved["siteUrl"] = site.origin(self.home)
        self.save()
        people, pipelines = len(MEMBERS) - len(PROGRAMS) + 1, len(self.saved["pipelines"])
        summary = f"organizations acme and globex, {people} people, {len(PROGRAMS)} programs, {pipelines} pipelines"
        print_progress("demo", summary)


def facts(home):
    """Returns the ids and tokens of the demo that a client needs, as dev/stack prints them."""
    saved = json.loads(home.demo_file.read_text())
    tokens = saved["tokens"]
    has_site = "site" in home.state["ports"]
    return {
        "orgId": saved["acmeId"],
        "pipelineId": saved["pipelines"][DEFAULT_PIPELINE],
        # No other part of the demo uses this environment.
        "envName": "qa-1",
        "siteUrl": site.origin(home) + "/" if has_site else None,
        "siteRequests": str(site.requests_file(home)) if has_site else None,
        "token": tokens["developer"],
        "secondToken": tokens["secondDeveloper"],
        "adminToken": tokens["owner"],
        "otherOrgToken": tokens["otherOrgOwner"],
        "examples": saved.get("activity", {}).get("examples", {}),
        "tokens": {key: tokens[key] for key in ("viewer", "developer", "secondDeveloper", "maintainer", "admin", "owner")},
    }
