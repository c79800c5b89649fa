#!/usr/bin/env python3
"""Acts for the people and programs of the demo, as their open browsers and running jobs would.

  dev/demo/act_as_people.py --url URL --demo FILE

Every 20 seconds it sends a heartbeat for each session that waits in a queue, so that it keeps its place, and renews the sessions that
are about to expire. A request for hand-over that has lapsed is repeated. It claims nothing and deploys nothing, and it no longer
acts for a session that has ended. URL is the organization's address; FILE is the demo.json of a stack, with the tokens.
"""

import argparse
import json
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from stack_parts.demo import PROGRAMS  # noqa: E402
from stack_parts.web import call  # noqa: E402

INTERVAL_SECONDS = 20
RENEW_BELOW_SECONDS = 300
# The user of the dashboard is signed in as this member, and decides whether to take a turn.
SIGNED_IN = "developer"


class People:
    def __init__(self, url, demo):
        self.url, self.tokens = url, demo["tokens"]
        activity = demo.get("activity", {})
        self.holding, self.waiting = activity.get("holding", []), activity.get("waiting", [])

    def request(self, method, session, path=None, body=None):
        who = session["who"]
        token = self.tokens[f"{who}:{PROGRAMS[who]}" if who in PROGRAMS else who]
        return call(method, self.url + (path or session["path"]), token, body)

    def act(self):
        """Sends the requests of one round. Without a response, or with a 5xx or 429, a session stays for the next round."""
        for session in list(self.waiting):
            status, response = self.request("GET", session)
            state = response["data"]["status"] if status == 200 else ""
            if status in (401, 403, 404) or state not in ("", "queued", "active"):
                self.waiting.remove(session)
            elif state == "queued" or (state == "active" and session["who"] != SIGNED_IN):
                self.request("POST", session, session["path"] + "/heartbeat", {})
                if state == "active":
                    self.waiting.remove(session)
                    self.holding.append(session)
                elif "request" in session and has_lapsed(response["data"]):
                    self.request("POST", session, session["request"], session["body"])
        for session in list(self.holding):
            status, response = self.request("GET", session)
            if status in (401, 403, 404) or (status == 200 and response["data"]["status"] != "active"):
                self.holding.remove(session)
            elif status == 200 and seconds_until(response["data"]["expiresAt"]) < RENEW_BELOW_SECONDS:
                self.request("POST", session, session["path"] + "/renew", {})


def has_lapsed(session):
    """Returns whether a session's request for hand-over ended without an answer."""
    return not session["lock"].get("handover") and not session.get("handoverDeclined")


def seconds_until(text):
    at = datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return (at - datetime.now(timezone.utc)).total_seconds()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--demo", type=Path, required=True)
    options = parser.parse_args()
    people = People(options.url, json.loads(options.demo.read_text()))
    while True:
        people.act()
        time.sleep(INTERVAL_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
