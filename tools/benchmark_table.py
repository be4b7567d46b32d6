#!/usr/bin/env python3
"""Prints the benchmark table.

  tools/benchmark_table.py GOALS.json DIR...

Each DIR holds google-benchmark's JSON files of one build, one for each program
and pass; with more than one DIR their figures stand side by side. A figure is
the median over all passes and repetitions, with the smallest and the largest in
parentheses.

GOALS.json lists what is to be reached: {"what": text, "benchmark": pattern of
the whole name, "counter": name of a counter, or "real_time", and "at_most" or
"at_least": number}.
"""

import json
import os
import re
import statistics
import sys

# What google-benchmark writes beside a benchmark's own counters.
OWN_KEYS = {
    "cpu_time",
    "error_message",
    "error_occurred",
    "family_index",
    "iterations",
    "label",
    "name",
    "per_family_instance_index",
    "repetition_index",
    "repetitions",
    "run_name",
    "run_type",
    "threads",
    "time_unit",
}


def read(folder):
    """{benchmark: {figure: [one value a run]}}, and what could not be read."""
    figures = {}
    problems = []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".json"):
            continue
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                runs = json.load(file)["benchmarks"]
        except (ValueError, KeyError) as error:
            problems.append(f"{name}: {error}")
            continue
        for run in runs:
            if run.get("run_type") == "aggregate":
                continue
            title = run.get("run_name", run["name"])
            if run.get("error_occurred"):
                problems.append(f"{title}: {run.get('error_message')}")
                continue
            of_run = figures.setdefault(title, {})
            for key, value in run.items():
                if key in OWN_KEYS or not isinstance(value, (int, float)):
                    continue
                if key == "real_time":
                    key = f"time_{run['time_unit']}"
                    of_run.setdefault("real_time", []).append(value)
                of_run.setdefault(key, []).append(value)
    return figures, problems


def show(number):
    return f"{number:.4g}" if abs(number) < 1e4 else f"{number:.0f}"


def summary(values):
    text = show(statistics.median(values))
    if len(values) > 1:
        text += f" ({show(min(values))} to {show(max(values))})"
    return text


def reached(goal, median):
    if "at_most" in goal:
        return median <= goal["at_most"]
    return median >= goal["at_least"]


def goal_rows(goals, builds):
    for goal in goals:
        pattern = re.compile(goal["benchmark"])
        found = sorted(
            {name for build in builds for name in build if pattern.fullmatch(name)}
        )
        bound = (
            f"at most {show(goal['at_most'])}"
            if "at_most" in goal
            else f"at least {show(goal['at_least'])}"
        )
        if not found:
            yield [goal["what"], bound] + ["not measured", ""] * len(builds)
        for name in found:
            what = goal["what"]
            if len(found) > 1:
                what += f" [{name}]"
            row = [what, bound]
            for build in builds:
                values = build.get(name, {}).get(goal["counter"])
                if values is None:
                    row += ["not measured", ""]
                    continue
                median = statistics.median(values)
                row += [summary(values), "yes" if reached(goal, median) else "NO"]
            yield row


def figure_rows(builds):
    names = list(dict.fromkeys(name for build in builds for name in build))
    for name in names:
        keys = dict.fromkeys(
            key
            for build in builds
            for key in build.get(name, {})
            if key != "real_time"
        )
        title = name
        for key in keys:
            row = [title, key]
            for build in builds:
                values = build.get(name, {}).get(key)
                row.append("" if values is None else summary(values))
            yield row
            title = ""  # Once is enough.


def print_table(header, rows):
    table = [header, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    table.insert(1, ["-" * width for width in widths])
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths))
        print("| " + " | ".join(cells) + " |")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        goals = json.load(file)
    folders = sys.argv[2:]
    builds = []
    problems = []
    for folder in folders:
        figures, of_folder = read(folder)
        builds.append(figures)
        problems += of_folder
    titles = [""] if len(folders) == 1 else [" " + f for f in folders]
    print_table(
        ["goal", "to reach"]
        + [part for t in titles for part in ("measured" + t, "reached")],
        goal_rows(goals, builds),
    )
    print()
    print_table(
        ["benchmark", "figure"] + ["value" + t for t in titles],
        figure_rows(builds),
    )
    for problem in problems:
        print("FAILED", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
