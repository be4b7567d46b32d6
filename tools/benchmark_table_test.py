#!/usr/bin/python3
"""Tests of benchmark_table.py on small result files."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(
    os.path.dirname(os.path.realpath(__file__)), "benchmark_table.py"
)


def run(name, **figures):
    return {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "iterations": 7,
        "real_time": 2.0,
        "cpu_time": 1.0,
        "time_unit": "us",
        **figures,
    }


class BenchmarkTableTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def build(self, name, *passes):
        folder = os.path.join(self.folder.name, name)
        os.mkdir(folder)
        for number, runs in enumerate(passes):
            with open(os.path.join(folder, f"x.{number}.json"), "w") as out:
                json.dump({"context": {}, "benchmarks": runs}, out)
        return folder

    def table(self, goals, *folders):
        path = os.path.join(self.folder.name, "goals.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(goals, out)
        done = subprocess.run(
            [sys.executable, SCRIPT, path, *folders],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.code = done.returncode
        return [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in done.stdout.splitlines()
        ]

    def test_a_figure_is_the_median_of_all_passes(self):
        folder = self.build(
            "a",
            [run("Call", ratio=3.0)],
            [run("Call", ratio=1.0)],
            [run("Call", ratio=2.0)],
        )
        goals = [
            {"what": "w", "benchmark": "Call", "counter": "ratio", "at_most": 2.5}
        ]
        rows = self.table(goals, folder)
        self.assertIn(["w", "at most 2.5", "2 (1 to 3)", "yes"], rows)
        self.assertIn(["Call", "time_us", "2 (2 to 2)"], rows)
        self.assertIn(["", "ratio", "2 (1 to 3)"], rows)
        self.assertEqual(self.code, 0)

    def test_a_missed_goal_says_so(self):
        folder = self.build("a", [run("Call/64", ratio=0.4)])
        goals = [
            {"what": "w", "benchmark": "Call.*", "counter": "ratio", "at_least": 0.5}
        ]
        self.assertIn(["w", "at least 0.5", "0.4", "NO"], self.table(goals, folder))

    def test_a_goal_can_be_on_the_time(self):
        folder = self.build("a", [run("Call")])
        goals = [
            {"what": "w", "benchmark": "Call", "counter": "real_time", "at_most": 1}
        ]
        self.assertIn(["w", "at most 1", "2", "NO"], self.table(goals, folder))

    def test_a_goal_without_a_benchmark_is_not_measured(self):
        folder = self.build("a", [run("Call")])
        goals = [{"what": "w", "benchmark": "Cal", "counter": "ratio", "at_most": 1}]
        self.assertIn(["w", "at most 1", "not measured", ""], self.table(goals, folder))

    def test_two_builds_stand_side_by_side(self):
        one = self.build("a", [run("Call", ratio=1.0)])
        two = self.build("b", [run("Call", ratio=2.0)])
        self.assertIn(["", "ratio", "1", "2"], self.table([], one, two))

    def test_aggregates_are_not_counted_as_runs(self):
        aggregate = run("Call", ratio=9.0)
        aggregate.update(name="Call_mean", run_type="aggregate")
        folder = self.build("a", [run("Call", ratio=1.0), aggregate])
        self.assertIn(["", "ratio", "1"], self.table([], folder))

    def test_a_failed_benchmark_fails_the_table(self):
        failed = run("Call", error_occurred=True, error_message="no server")
        rows = self.table([], self.build("a", [failed]))
        self.assertIn(["FAILED Call: no server"], rows)
        self.assertEqual(self.code, 1)


if __name__ == "__main__":
    unittest.main()
