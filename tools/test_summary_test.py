#!/usr/bin/python3
"""Tests of test_summary.py on small event files."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "test_summary.py")

PASSED_CASE = '<testcase name="A" classname="S" status="run" result="completed"/>'
FAILED_CASE = (
    '<testcase name="B" classname="S" status="run" result="completed">'
    '<failure message="no"/></testcase>'
)
ERROR_CASE = '<testcase name="t" status="run"><error message="code 134"/></testcase>'
SKIPPED_CASE = (
    '<testcase name="C" classname="S" status="run" result="skipped">'
    '<skipped message="no data"/></testcase>'
)
# Older GoogleTest writes the attribute alone.
SKIPPED_BY_RESULT = '<testcase name="C" status="run" result="skipped"/>'
DISABLED_CASE = '<testcase name="D" status="notrun" result="suppressed"/>'


def configured(label):
    return {
        "id": {"targetConfigured": {"label": label}},
        "configured": {"targetKind": "cc_test rule", "testSize": "SMALL"},
    }


def finished(code=0, name="SUCCESS"):
    exit_code = {"name": name}
    if code:
        exit_code["code"] = code
    return {"id": {"buildFinished": {}}, "finished": {"exitCode": exit_code}}


class TestSummaryTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.files = 0

    def write(self, text):
        self.files += 1
        path = os.path.join(self.folder.name, f"result {self.files}.xml")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return "file://" + path.replace(" ", "%20")

    def result(self, label, cases, status="PASSED", **key):
        """A test result event; `cases` is None for one without a result file."""
        test_id = {"label": label, "run": 1, "shard": 1, "attempt": 1, **key}
        outputs = [{"name": "test.log", "uri": "file:///none"}]
        if cases is not None:
            text = f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"
            outputs.append({"name": "test.xml", "uri": self.write(text)})
        return {
            "id": {"testResult": test_id},
            "testResult": {"status": status, "testActionOutput": outputs},
        }

    def summarize(self, events, tail=""):
        path = os.path.join(self.folder.name, "events.json")
        with open(path, "w", encoding="utf-8") as out:
            for event in events:
                out.write(json.dumps(event) + "\n")
            out.write(tail)
        run = subprocess.run(
            [sys.executable, SCRIPT, path], stdout=subprocess.PIPE, text=True
        )
        lines = run.stdout.splitlines()
        self.lines = lines[:-1]
        return lines[-1], run.returncode

    def test_counts_cases_and_not_targets(self):
        events = [
            configured("//a"),
            configured("//b"),
            self.result("//a", [PASSED_CASE, PASSED_CASE]),
            self.result("//b", [PASSED_CASE]),
            finished(),
        ]
        self.assertEqual(
            self.summarize(events), ("3 passed, 0 failed, 0 skipped", 0)
        )

    def test_a_skipped_or_disabled_case_is_not_a_passed_one(self):
        cases = [PASSED_CASE, SKIPPED_CASE, SKIPPED_BY_RESULT, DISABLED_CASE]
        events = [configured("//a"), self.result("//a", cases), finished()]
        self.assertEqual(
            self.summarize(events), ("1 passed, 0 failed, 3 skipped", 0)
        )

    def test_names_each_failed_case(self):
        events = [
            configured("//a"),
            self.result("//a", [PASSED_CASE, FAILED_CASE, ERROR_CASE], "FAILED"),
            finished(3, "TESTS_FAILED"),
        ]
        self.assertEqual(
            self.summarize(events), ("1 passed, 2 failed, 0 skipped", 1)
        )
        self.assertEqual(self.lines, ["FAILED //a S.B", "FAILED //a t"])

    def test_a_target_that_fails_without_a_failed_case_is_one_failure(self):
        events = [
            configured("//leaks"),
            self.result("//leaks", [PASSED_CASE], "FAILED"),
            finished(3, "TESTS_FAILED"),
        ]
        self.assertEqual(
            self.summarize(events), ("1 passed, 1 failed, 0 skipped", 1)
        )
        self.assertEqual(self.lines, ["FAILED //leaks ended with FAILED"])

    def test_a_timeout_without_a_result_file_is_one_failure(self):
        events = [
            configured("//slow"),
            configured("//a"),
            self.result("//a", [PASSED_CASE]),
            self.result("//slow", None, "TIMEOUT"),
            finished(3, "TESTS_FAILED"),
        ]
        self.assertEqual(
            self.summarize(events), ("1 passed, 1 failed, 0 skipped", 1)
        )

    def test_a_truncated_result_file_is_one_failure(self):
        broken = self.result("//a", [])
        output = broken["testResult"]["testActionOutput"][1]
        output["uri"] = self.write("<testsuites><testcase")
        events = [configured("//a"), broken, finished()]
        self.assertEqual(
            self.summarize(events), ("0 passed, 1 failed, 0 skipped", 1)
        )

    def test_a_target_that_was_not_built_is_one_failure(self):
        events = [
            configured("//a"),
            configured("//broken"),
            self.result("//a", [PASSED_CASE]),
            finished(1, "BUILD_FAILURE"),
        ]
        self.assertEqual(
            self.summarize(events), ("1 passed, 1 failed, 0 skipped", 1)
        )
        self.assertEqual(self.lines, ["FAILED //broken was not built or not run"])

    def test_a_target_left_out_on_this_platform_counts_as_nothing(self):
        left_out = {
            "id": {"targetCompleted": {"label": "//cuda"}},
            "aborted": {"reason": "SKIPPED"},
        }
        events = [
            configured("//cuda"),
            configured("//a"),
            left_out,
            self.result("//a", [PASSED_CASE]),
            finished(),
        ]
        self.assertEqual(
            self.summarize(events), ("1 passed, 0 failed, 0 skipped", 0)
        )

    def test_a_library_is_not_expected_to_have_results(self):
        library = {
            "id": {"targetConfigured": {"label": "//lib"}},
            "configured": {"targetKind": "cc_library rule"},
        }
        events = [
            library,
            configured("//a"),
            self.result("//a", [PASSED_CASE]),
            finished(),
        ]
        self.assertEqual(
            self.summarize(events), ("1 passed, 0 failed, 0 skipped", 0)
        )

    def test_adds_up_shards_and_repeated_runs(self):
        events = [
            configured("//a"),
            self.result("//a", [PASSED_CASE], shard=1),
            self.result("//a", [PASSED_CASE, SKIPPED_CASE], shard=2),
            self.result("//a", [PASSED_CASE], shard=1, run=2),
            self.result("//a", [FAILED_CASE], "FAILED", shard=2, run=2),
            finished(3, "TESTS_FAILED"),
        ]
        self.assertEqual(
            self.summarize(events), ("3 passed, 1 failed, 1 skipped", 1)
        )

    def test_the_last_attempt_at_a_flaky_run_counts(self):
        events = [
            configured("//a"),
            self.result("//a", [FAILED_CASE], "FAILED", attempt=1),
            self.result("//a", [PASSED_CASE], attempt=2),
            finished(),
        ]
        self.assertEqual(
            self.summarize(events), ("1 passed, 0 failed, 0 skipped", 0)
        )

    def test_a_cached_result_counts(self):
        cached = self.result("//a", [PASSED_CASE])
        cached["testResult"]["cachedLocally"] = True
        events = [configured("//a"), cached, finished()]
        self.assertEqual(
            self.summarize(events), ("1 passed, 0 failed, 0 skipped", 0)
        )

    def test_a_failed_bazel_without_failed_tests_is_one_failure(self):
        events = [
            configured("//a"),
            self.result("//a", [PASSED_CASE]),
            finished(1, "PARSING_FAILURE"),
        ]
        self.assertEqual(
            self.summarize(events), ("1 passed, 1 failed, 0 skipped", 1)
        )

    def test_a_killed_bazel_is_one_failure(self):
        events = [configured("//a"), self.result("//a", [PASSED_CASE])]
        self.assertEqual(
            self.summarize(events, tail='{"id": {'),
            ("1 passed, 1 failed, 0 skipped", 1),
        )

    def test_no_events_is_one_failure(self):
        self.assertEqual(
            self.summarize([]), ("0 passed, 1 failed, 0 skipped", 1)
        )

    def test_nothing_run_is_not_a_success(self):
        events = [configured("//a"), self.result("//a", [SKIPPED_CASE]), finished()]
        self.assertEqual(
            self.summarize(events), ("0 passed, 0 failed, 1 skipped", 1)
        )


if __name__ == "__main__":
    unittest.main()
