#!/usr/bin/python3
"""Drives the Cua-S1 service by reflection alone.

The interpreter is named by its full path: Debian's grpc module belongs to that
one, and another python3 may come first in PATH.
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "generated")]

import grpc  # noqa: E402
import health_pb2  # noqa: E402
import reflection_pb2  # noqa: E402
from google.protobuf import (  # noqa: E402
    descriptor_pb2,
    descriptor_pool,
    message_factory,
)
from worker import Worker  # noqa: E402

TIMEOUT_S = 60
SERVICE = "omni.v1.CuaS1"


def serialize(message):
    return message.SerializeToString()


class Reflection:
    """What a server says about itself."""

    def __init__(self, channel):
        self._ask = channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            request_serializer=serialize,
            response_deserializer=(
                reflection_pb2.ServerReflectionResponse.FromString
            ),
        )
        self._pool = descriptor_pool.DescriptorPool()
        self._known = set()

    def _answer(self, **question):
        request = reflection_pb2.ServerReflectionRequest(**question)
        (response,) = self._ask(iter([request]), timeout=TIMEOUT_S)
        return response

    def services(self):
        listed = self._answer(list_services="").list_services_response
        return sorted(service.name for service in listed.service)

    def _load(self, **question):
        answer = self._answer(**question)
        assert not answer.HasField("error_response"), answer.error_response
        files = {}
        for data in answer.file_descriptor_response.file_descriptor_proto:
            file = descriptor_pb2.FileDescriptorProto.FromString(data)
            files[file.name] = file
        self._add_all(files)

    def _add_all(self, files):
        for file in files.values():
            self._add(file, files)

    def _add(self, file, files):
        if file.name in self._known:
            return
        self._known.add(file.name)
        for name in file.dependency:
            if name in files:
                self._add(files[name], files)
            elif name not in self._known:
                self._load(file_by_filename=name)
        self._pool.Add(file)

    def message(self, name):
        """The class of the message `name`."""
        self._load(file_containing_symbol=name)
        descriptor = self._pool.FindMessageTypeByName(name)
        return message_factory.MessageFactory(self._pool).GetPrototype(descriptor)

    def method(self, channel, service, name):
        """(callable, request class) of one unary method."""
        self._load(file_containing_symbol=service)
        found = self._pool.FindServiceByName(service).methods_by_name[name]
        factory = message_factory.MessageFactory(self._pool)
        call = channel.unary_unary(
            f"/{service}/{name}",
            request_serializer=serialize,
            response_deserializer=factory.GetPrototype(
                found.output_type
            ).FromString,
        )
        return call, factory.GetPrototype(found.input_type)


class Checks:
    def __init__(self, channel):
        self.channel = channel
        self.reflection = Reflection(channel)
        self.decide, self.request_type = self.reflection.method(
            channel, SERVICE, "Decide"
        )
        self.decide_json, self.json_type = self.reflection.method(
            channel, SERVICE, "DecideJson"
        )
        get_info, info_type = self.reflection.method(channel, SERVICE, "GetInfo")
        self.info = get_info(info_type(), timeout=TIMEOUT_S)

    def lists_services(self):
        services = self.reflection.services()
        assert SERVICE in services, services
        assert "grpc.health.v1.Health" in services, services

    def says_what_it_serves(self):
        info = self.info

        def name_of(field, number):
            enum = info.DESCRIPTOR.fields_by_name[field].enum_type
            return enum.values_by_number[number].name

        assert info.model and info.request_models, info
        assert "untrained" in info.notice, info
        types = [name_of("question_types", t) for t in info.question_types]
        assert types == ["QUESTION_TYPE_CHOICE"], types
        assert name_of("state", info.state) == "WORKER_STATE_READY", info
        assert info.limits.max_questions == 64, info
        assert info.limits.max_options == 26, info
        assert info.limits.max_body_bytes == 4 << 20, info
        assert info.limits.max_prompt_tokens == 16384, info
        assert info.confidence_kind == "entropy", info
        assert info.queue.capacity == 64 and info.queue.refused == 0, info
        assert info.queue.units_run >= 1, "the warm-up ran a unit"

    def is_healthy(self):
        check = self.channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=serialize,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        for name in (SERVICE, ""):
            request = health_pb2.HealthCheckRequest(service=name)
            answer = check(request, timeout=TIMEOUT_S)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING, name
        request = health_pb2.HealthCheckRequest(service="omni.v1.Unknown")
        try:
            check(request, timeout=TIMEOUT_S)
            raise AssertionError("an unknown service has a health")
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.NOT_FOUND, error

    def decides(self):
        """Both methods give one answer to one question, in its order."""
        request = self.request_type(model=self.info.request_models[0])
        request.state.raw_json = b'{"z": 1.50, "a": ["x"]}'
        labels = {"second": ["b", "a", "c"], "first": ["yes", "no"]}
        for id_, options in labels.items():
            question = request.questions.add(id=id_)
            question.instructions.text = "Pick one."
            for label in options:
                option = question.choice.options.add(label=label)
                option.description.null.SetInParent()
        response = self.decide(request, timeout=TIMEOUT_S)
        assert response.model == self.info.model, response
        assert [a.id for a in response.answers] == list(labels), response
        for answer, options in zip(response.answers, labels.values()):
            choice = answer.choice
            assert [p.key for p in choice.probabilities] == options, answer
            values = [p.value for p in choice.probabilities]
            assert abs(sum(values) - 1) < 1e-6, answer
            assert choice.choice == options[values.index(max(values))], answer
            assert 0 <= choice.confidence <= 1, answer
        assert response.usage.input_tokens > 0, response
        assert response.usage.output_tokens == 0, response
        assert response.timing.total_seconds > 0, response

        body = {
            "model": request.model,
            "state": "STATE",
            "questions": {
                id_: {
                    "type": "choice",
                    "instructions": "Pick one.",
                    "criteria": {label: None for label in options},
                }
                for id_, options in labels.items()
            },
        }
        # 1.50 as it stands: Python would not write it so.
        text = json.dumps(body).replace('"STATE"', '{"z": 1.50, "a": ["x"]}')
        reply = self.decide_json(
            self.json_type(body=text.encode()), timeout=TIMEOUT_S
        )
        answered = json.loads(reply.body)
        assert answered == {
            "model": response.model,
            "answers": {
                a.id: {
                    "type": "choice",
                    "choice": a.choice.choice,
                    "probabilities": {
                        p.key: p.value for p in a.choice.probabilities
                    },
                    "confidence": a.choice.confidence,
                }
                for a in response.answers
            },
            "usage": {
                "input_tokens": response.usage.input_tokens,
                "output_tokens": 0,
            },
        }, (reply, response)
        assert list(answered["answers"]) == list(labels), reply

    def expect_error(self, body, reason, **metadata):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        try:
            self.decide_json(self.json_type(body=body), timeout=TIMEOUT_S)
            raise AssertionError(f"not refused with {reason}")
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error
            trailers = dict(error.trailing_metadata())
            status = self.reflection.message("google.rpc.Status").FromString(
                trailers["grpc-status-details-bin"]
            )
            assert status.code == error.code().value[0], status
            assert status.message == error.details(), status
            (detail,) = status.details
            assert detail.type_url.endswith("/google.rpc.ErrorInfo"), detail
            info = self.reflection.message("google.rpc.ErrorInfo").FromString(
                detail.value
            )
            assert (info.domain, info.reason) == ("omni.v1", reason), info
            for key, value in metadata.items():
                assert info.metadata[key] == value, info

    def explains_errors(self):
        question = {"type": "choice", "instructions": None, "criteria": {"a": None}}
        good = {
            "model": self.info.request_models[0],
            "state": "s",
            "questions": {"q": question},
        }
        self.expect_error(b"{", "MALFORMED_JSON")
        self.expect_error(b'{"model": 1, "model": 1}', "DUPLICATE_KEY")
        self.expect_error({**good, "model": "other"}, "MODEL_MISMATCH")
        self.expect_error({**good, "state": {}}, "EMPTY_STATE")
        many = {str(i): question for i in range(65)}
        self.expect_error(
            {**good, "questions": many},
            "TOO_MANY_QUESTIONS",
            limit="64",
            actual="65",
        )
        score = {"type": "score", "instructions": "i", "criteria": ["a", "b"]}
        self.expect_error(
            {**good, "questions": {"q": question, "bad": score}},
            "TYPE_NOT_SUPPORTED",
            question="bad",
        )
        crowd = {**question, "criteria": {str(i): None for i in range(27)}}
        self.expect_error(
            {**good, "questions": {"crowd": crowd}},
            "BAD_CRITERIA",
            question="crowd",
        )


def main():
    binary, checkpoint = sys.argv[1:3]
    with Worker(binary, checkpoint) as worker:
        with grpc.insecure_channel(worker.address) as channel:
            checks = Checks(channel)
            checks.lists_services()
            checks.says_what_it_serves()
            checks.is_healthy()
            checks.decides()
            checks.explains_errors()


main()
