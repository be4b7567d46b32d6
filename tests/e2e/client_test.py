#!/usr/bin/python3
"""Runs the command-line client against the worker, and against nobody."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from worker import Worker  # noqa: E402


class Client:
    def __init__(self, binary, address):
        self.binary = binary
        self.flags = ["--worker=cua-s1", "--address=" + address]

    def run(self, *arguments, given=b""):
        """(exit code, standard output, standard error) of one command."""
        done = subprocess.run(
            [self.binary, *arguments, *self.flags],
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=60,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()


def main():
    server, checkpoint, binary, example = sys.argv[1:5]
    with Worker(server, checkpoint) as worker:
        client = Client(binary, worker.address)

        code, out, err = client.run("health")
        assert (code, out, err) == (0, "SERVING\n", ""), (code, out, err)

        code, out, err = client.run("info")
        assert (code, err) == (0, ""), (code, err)
        info = json.loads(out)
        assert info["state"] == "WORKER_STATE_READY", info
        assert info["queue"]["depth"] == 0, info

        with open(example, encoding="utf-8") as file:
            request = json.load(file)
        assert request["model"] in info["request_models"], info
        code, out, err = client.run("decide", example)
        assert (code, err) == (0, ""), (code, err)
        response = json.loads(out)
        assert response["model"] == info["model"], response
        for id_, question in request["questions"].items():
            answer = response["answers"][id_]
            assert list(answer["probabilities"]) == list(question["criteria"])

        given = json.dumps(request).encode()
        code, again, err = client.run("decide", "-", given=given)
        assert (code, json.loads(again)) == (0, response), (code, again, err)

        code, out, err = client.run("decide", "-", given=b"[]")
        assert (code, out) == (3, ""), (code, out)
        assert err.startswith("omni: INVALID_ARGUMENT MALFORMED_JSON: "), err
        assert err.count("\n") == 1, err

        client.flags[0] = "--worker=laya"
        code, out, err = client.run("info")
        assert (code, out) == (12, ""), (code, out)
        assert err.startswith("omni: UNIMPLEMENTED"), err

        address = worker.address
    client = Client(binary, address)
    code, out, err = client.run("health")
    assert (code, out) == (14, ""), (code, out)
    for arguments in (["decide"], ["nothing"], ["info", "--deadline_ms=soon"]):
        code, out, err = client.run(*arguments)
        assert (code, out) == (64, ""), (arguments, code, out)
        assert err.startswith("omni: ") and err.count("\n") == 1, err


main()
