"""Made-up organizations, people and pipelines to try things on. What exists is kept, so that seeding again changes nothing."""

import json
import time
from pathlib import Path

from . import daemon
from .home import CHECKOUT, write_private
from .talk import Trouble, say
from .web import call

DEFINITIONS = CHECKOUT / "dev" / "demo"
OWNER = ("owner", "owner@example.test", "Acme Owner")
MEMBERS = (
    # key, address, name, role
    ("developer", "dev-one@example.test", "Dev One", "developer"),
    ("secondDeveloper", "dev-two@example.test", "Dev Two", "developer"),
    ("maintainer", "maintainer@example.test", "Maintainer One", "maintainer"),
    ("admin", "admin@example.test", "Admin One", "admin"),
    ("viewer", "viewer@example.test", "Viewer One", "viewer"),
)
OTHER_OWNER = ("otherOrgOwner", "owner@globex.example.test", "Globex Owner")
FIRST = "storefront"


class Seeding:
    def __init__(self, home, binary):
        self.home, self.binary = home, binary
        self.base = daemon.api_origin(home) + "/api/v1"
        self.kept = json.loads(home.demo_file.read_text()) if home.demo_file.exists() else {}
        self.kept.setdefault("tokens", {})

    def keep(self):
        """After each step: a seeding that was cut short goes on where it stood."""
        write_private(self.home.demo_file, json.dumps(self.kept, indent=2) + "\n")

    def admin(self, *words):
        seen = daemon.run(self.home, self.binary, "admin", *words)
        if seen.returncode != 0:
            return None, seen.stderr or seen.stdout
        try:
            return json.loads(seen.stdout), ""
        except ValueError:
            raise Trouble(
                f"greenroomd admin {words[0]} printed no JSON", "mend greenroomd", seen.stdout + seen.stderr
            ) from None

    def organization(self, slug, name, owner):
        key, email, owner_name = owner
        if self.works(slug, key):
            return
        made, _ = self.admin("bootstrap", "--slug", slug, "--name", name, "--owner-email", email, "--owner-name", owner_name)
        if made:
            self.kept[f"{slug}Id"], self.kept["tokens"][key] = made["organizationId"], made["token"]
            self.keep()
        else:
            # It is there already, but its token is lost: an earlier seeding was cut short, or somebody revoked it.
            self.token(slug, key, email)
            _, answer = call("GET", f"{self.base}/organizations/{slug}", self.kept["tokens"][key])
            self.kept[f"{slug}Id"] = answer["data"]["id"]
            self.keep()

    def token(self, slug, key, email):
        if self.works(slug, key):
            return
        made, why = self.admin("create-token", "--organization", slug, "--email", email, "--name", "dev-stack")
        if not made:
            raise Trouble(
                f"could not make a token for {email} in {slug}",
                f"dev/stack reset{self.home.flag}, then dev/stack up --demo{self.home.flag}",
                why,
            )
        self.kept["tokens"][key] = made["token"]
        self.keep()

    def works(self, slug, key):
        """Whether a kept token is still good. A server that can't tell yet (its database has just come back) is asked again."""
        token, end = self.kept["tokens"].get(key), time.monotonic() + 20
        while token:
            status, answer = call("GET", f"{self.base}/organizations/{slug}/pipelines?limit=1", token)
            if status == 200:
                return True
            if status in (401, 403, 404):
                return False
            if time.monotonic() > end:
                raise Trouble(f"the server answers {status}", f"dev/stack logs server{self.home.flag}", json.dumps(answer, indent=2))
            time.sleep(0.1)
        return False

    def post(self, path, body):
        """The record made; None where it is there already."""
        status, answer = call("POST", f"{self.base}/organizations/acme{path}", self.kept["tokens"]["owner"], body, timeout=30)
        if status == 409:
            return None
        if status not in (200, 201):
            raise Trouble(
                f"POST {path} for the demo was answered {status}",
                f"dev/stack logs server{self.home.flag}",
                json.dumps(answer, indent=2),
            )
        return answer["data"]

    def member(self, key, email, name, role):
        if not self.works("acme", key):
            self.post("/members", {"email": email, "name": name, "role": role})
            self.token("acme", key, email)

    def pipeline(self, file):
        slug = file.stem
        status, answer = call("GET", f"{self.base}/organizations/acme/pipelines/{slug}", self.kept["tokens"]["owner"])
        if status != 200:
            body = {
                "name": slug.replace("-", " ").capitalize(),
                "slug": slug,
                "definition": file.read_text(),
            }
            made = self.post("/pipelines", body)
            if made is None:
                raise Trouble(
                    f"the pipeline {slug} is there but can't be read ({status})",
                    f"dev/stack logs server{self.home.flag}",
                    json.dumps(answer),
                )
            answer = {"data": made}
        self.kept.setdefault("pipelines", {})[slug] = answer["data"]["id"]

    def run(self):
        self.organization("acme", "Acme", OWNER)
        self.organization("globex", "Globex", OTHER_OWNER)
        for member in MEMBERS:
            self.member(*member)
        for file in sorted(Path(DEFINITIONS).glob("*.yaml")):
            self.pipeline(file)
        self.keep()
        say("demo", f"organizations acme and globex, {len(MEMBERS) + 1} people, {len(self.kept['pipelines'])} pipelines")


def facts(home):
    """What a client needs to know of the demo, as dev/stack prints it."""
    kept = json.loads(home.demo_file.read_text())
    tokens = kept["tokens"]
    return {
        "orgId": kept["acmeId"],
        "pipelineId": kept["pipelines"][FIRST],
        "envName": "qa-1",
        "token": tokens["developer"],
        "secondToken": tokens["secondDeveloper"],
        "adminToken": tokens["owner"],
        "otherOrgToken": tokens["otherOrgOwner"],
        "tokens": {key: tokens[key] for key in ("viewer", "developer", "secondDeveloper", "maintainer", "admin", "owner")},
    }
