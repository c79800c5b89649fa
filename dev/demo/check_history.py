#!/usr/bin/env python3
"""Checks the rows of a fresh demo against the rules that the server keeps. dev/stack_parts/demo_history.py writes many of them itself.

  dev/stack up --demo --json > stack.json; dev/demo/check_history.py stack.json

Each check selects the rows that break a rule.
Exit codes: 0 there are none; 1 there are some, and the rule is printed; 2 wrong usage.
"""

import json
import subprocess
import sys
from pathlib import Path

HELD = """
    select *, lag(fence) over held as previous_fence, lag(coalesce(ended_at, 'infinity')) over held as previous_end
    from sessions where claimed_at is not null window held as (partition by environment_id order by claimed_at)"""
IN_ENVIRONMENT = """
    select *, lag(ended_at) over (partition by environment_id order by started_at) as previous_end
    from deployments where environment_id is not null and started_at is not null"""
CHECKS = {
    "ordinals have no gaps, and the environment counts them": """
        select e.name from environments e left join sessions s on s.environment_id = e.id
        group by e.id, e.organization_id having count(s.id) <> e.sessions or coalesce(max(s.ordinal), 0) <> e.sessions""",
    "fences ascend, up to the environment's": f"""
        select h.id from ({HELD}) h join environments e on e.id = h.environment_id
        where h.fence <= h.previous_fence or h.fence > e.fence or h.fence is null""",
    "an environment has one holder at a time": f"select id from ({HELD}) h where claimed_at < previous_end",
    "a held environment has the values of its session": """
        select e.name from environments e left join sessions s on s.id = e.session_id
        where (e.session_id is not null) <> (s.status is not distinct from 'active')
           or (e.claimed_at, e.expires_at, e.max_expires_at) is distinct from (s.claimed_at, s.expires_at, s.max_expires_at)""",
    "a session has ended or is live": """
        select id from sessions
        where (status in ('queued', 'active')) <> (ended_at is null) or waiting <> (status = 'queued')
           or status not in ('queued', 'active', 'released', 'expired', 'overridden', 'canceled')""",
    "a lease ends in time": """
        select id from sessions
        where expires_at > max_expires_at or ended_at > expires_at or ended_at < coalesce(claimed_at, queued_at)
           or status = 'expired' and ended_at <> expires_at""",
    "an override names the session that began with it, and its reason": """
        select s.id from sessions s left join sessions o on o.id = s.override_session_id
        where (s.status = 'overridden') <> (o.id is not null)
           or o.environment_id <> s.environment_id or o.claimed_at <> s.ended_at
           or o.id is not null and s.override_reason is null""",
    "lists by id are lists by time": """
        select id from (select id, created_at, lag(created_at) over (order by id) as previous from deployments) d
        where created_at < previous - interval '1 second'""",
    "deployments belong to the time and the fence of their sessions": """
        select d.id from deployments d join sessions s on s.id = d.session_id
        where d.created_at < s.claimed_at or d.purpose = 'session' and d.fence is distinct from s.fence
           or d.purpose = 'session' and d.ended_at > s.ended_at + interval '30 seconds'""",
    "an environment has one deployment at a time": f"select id from ({IN_ENVIRONMENT}) d where started_at < previous_end",
    "stages, jobs and steps are within their deployments": """
        select d.id from deployments d
        join stages g on g.deployment_id = d.id
        left join jobs j on j.deployment_id = d.id and j.stage_key = g.key
        left join step_runs r on r.job_id = j.id
        where d.ended_at is not null and (g.started_at < d.started_at or g.ended_at > d.ended_at + interval '1 second'
            or j.started_at < d.started_at or j.ended_at > g.ended_at + interval '1 second'
            or r.started_at < j.started_at or r.ended_at > j.ended_at + interval '1 second')""",
    "logs have the length that is stored": """
        select r.id from step_runs r left join log_segments l on l.step_run_id = r.id
        group by r.id, r.organization_id, r.log_bytes having r.log_bytes <> coalesce(sum(l.bytes), 0)
            or bool_or(l.content is not null and length(l.content) <> l.bytes)""",
    "the environment that dev/stack prints is unused": "select name from environments where name = :'environment' and sessions > 0",
    "there are two weeks of sessions": """
        select 1 from sessions having min(claimed_at) > now() - interval '13 days' or count(*) < 100""",
}


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    stack, failed = json.loads(Path(sys.argv[1]).read_text()), 0
    psql = [f"{stack['postgresBin']}/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-v", f"environment={stack['envName']}"]
    for rule, sql in CHECKS.items():
        result = subprocess.run([*psql, "-f", "-", stack["databaseUrl"]], input=sql, capture_output=True, text=True)
        rows = result.stdout.split()
        is_kept = result.returncode == 0 and not rows
        failed += not is_kept
        broken = "" if is_kept else f": {len(rows)} rows {rows[:3]} {result.stderr}"
        print(f"{'ok  ' if is_kept else 'FAIL'}  {rule}{broken}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
