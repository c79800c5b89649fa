"""The alerts and the board of deploy/observability name metrics that exist, and read each as what it is.

`promtool test rules deploy/observability/alerts_test.yml` tests the alerts themselves; it runs here if it is installed.
"""

import json
import re
import shutil
import subprocess
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent.parent
OBSERVABILITY = FOLDER / "deploy" / "observability"
METRIC = re.compile(r'\(\s*(Counter|Gauge|Histogram),\s*(Seconds|Flag|Count\("\w+"\)),\s*"(greenroom_\w+)",\s*"([^"]*)"')
NAME = re.compile(r"greenroom_\w+")


def metrics():
    """Returns the kind and the help text of each series' name."""
    found = {}
    source = (FOLDER / "crates" / "server" / "src" / "telemetry" / "help.rs").read_text()
    for kind, _unit, name, text in METRIC.findall(source):
        suffixes = ("_bucket", "_count", "_sum") if kind == "Histogram" else ("",)
        found.update({name + suffix: (kind, text) for suffix in suffixes})
    return found


def board():
    return json.loads((OBSERVABILITY / "board.json").read_text())


def targets():
    """Returns the panel and the query of each of its targets."""
    return [(panel, target["expr"]) for panel in board()["panels"] for target in panel.get("targets", ())]


def alerts():
    """Returns the query of each alert. The file has one line for each field, so no library is needed to read it."""
    return re.findall(r"- alert: (\w+)\n +expr: '(.*)'\n", (OBSERVABILITY / "alerts.yml").read_text())


class Observability(unittest.TestCase):
    def setUp(self):
        self.metrics = metrics()

    def test_the_table_of_metrics_is_read_as_a_whole(self):
        source = (FOLDER / "crates" / "server" / "src" / "telemetry" / "help.rs").read_text()
        count = int(re.search(r"METRICS: \[.*; (\d+)\]", source)[1])
        histograms = {name for name, (kind, _) in self.metrics.items() if kind == "Histogram"}
        self.assertEqual(len(self.metrics) - len(histograms) * 2 // 3, count)

    def test_every_metric_of_the_board_and_the_alerts_exists(self):
        queries = [expression for _, expression in targets()] + [expression for _, expression in alerts()]
        self.assertGreater(len(queries), 40)
        queries.append((OBSERVABILITY / "alerts_test.yml").read_text())
        queries += [variable.get("definition", "") for variable in board()["templating"]["list"]]
        named = {name for query in queries for name in NAME.findall(query)}
        self.assertEqual(sorted(named - self.metrics.keys()), [])

    def test_every_query_reads_a_metric_as_what_it_is(self):
        for expression in [expression for _, expression in targets()] + [expression for _, expression in alerts()]:
            for name in NAME.findall(expression):
                kind, text = self.metrics[name]
                with self.subTest(expression=expression):
                    rated = f"rate({name}" in expression
                    self.assertEqual(rated, kind != "Gauge", "counters are read by their rate, gauges are not")
                    if "Each worker has the same number" in text:
                        self.assertRegex(expression, rf"max( by \(\w+\))? ?\({name}", "its sum would be too large")

    def test_every_panel_has_its_unit_and_the_chosen_data_source(self):
        for panel, expression in targets():
            with self.subTest(panel=panel["title"]):
                name = NAME.search(expression)[0]
                is_of_seconds = name.endswith("_seconds") or "histogram_quantile" in expression
                self.assertEqual(panel["fieldConfig"]["defaults"]["unit"] == "s", is_of_seconds)
                self.assertEqual(panel["datasource"]["uid"], "${datasource}")
                self.assertIn('job="$job"', expression)
        ids = [panel["id"] for panel in board()["panels"]]
        self.assertEqual(len(ids), len(set(ids)))

    def test_every_alert_is_tested_and_documented(self):
        tests = (OBSERVABILITY / "alerts_test.yml").read_text()
        page = (FOLDER / "docs" / "operations.md").read_text()
        names = [name for name, _ in alerts()]
        self.assertEqual(len(names), (OBSERVABILITY / "alerts.yml").read_text().count("alert:"))
        fires = [name for name in names if f"alertname: {name}\n        exp_alerts:" in tests]
        self.assertEqual(fires, names, "each alert has a test in which it fires")
        rows = re.findall(r"^\| `(Greenroom\w+)` \|", page, re.MULTILINE)
        self.assertEqual(sorted(rows), sorted(names), "each alert has a row in docs/operations.md")

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_the_alerts_fire_when_they_should(self):
        command = ["promtool", "test", "rules", str(OBSERVABILITY / "alerts_test.yml")]
        result = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
