#!/usr/bin/python3
"""Starts the worker with bad flags and files, and with an adapter.

Each bad start must end with 1 and one line that names what is to blame.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from worker import Worker  # noqa: E402


def change(folder, name, **members):
    """Sets members of a JSON file; None removes one."""
    path = os.path.join(folder, name)
    with open(path, encoding="utf-8") as file:
        value = json.load(file)
    part = value.get("text_config", value) if name == "config.json" else value
    for key, member in members.items():
        if member is None:
            part.pop(key, None)
        else:
            part[key] = member
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def copy(checkpoint, folder):
    shutil.copytree(checkpoint, folder)
    for root, _, files in os.walk(folder):
        os.chmod(root, 0o755)
        for name in files:
            os.chmod(os.path.join(root, name), 0o644)
    return folder


def write_adapter(folder, checkpoint):
    """A rank-1 adapter that changes one projection a lot."""
    os.makedirs(folder)
    with open(os.path.join(checkpoint, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    config = config.get("text_config", config)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    module = "base_model.model.model.layers.0.mlp.down_proj."
    tensors = {
        module + "lora_A.weight": ([1, inner], [1.0] * inner),
        module + "lora_B.weight": ([hidden, 1], [float(i) for i in range(hidden)]),
    }
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        block = struct.pack(f"<{len(values)}f", *values)
        header[name] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(block)],
        }
        data += block
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "adapter_model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    with open(os.path.join(folder, "adapter_config.json"), "w") as file:
        json.dump({"peft_type": "LORA", "r": 1, "lora_alpha": 2, "bias": "none"}, file)
    with open(os.path.join(folder, "cua_s1_export.json"), "w") as file:
        json.dump(
            {
                "format": "cua-s1-text-merged/1",
                "request_model": "cua-s1-demo-untrained",
                "response_model": "test/adapted@1",
            },
            file,
        )
    return folder


def decide(client, address, example):
    done = subprocess.run(
        [client, "decide", "--worker=cua-s1", "--address=" + address, example],
        check=True,
        stdout=subprocess.PIPE,
        timeout=60,
    )
    return json.loads(done.stdout)


def main():
    server, demo, client, example = sys.argv[1:5]
    with tempfile.TemporaryDirectory() as temp:

        def folder(name):
            return copy(demo, os.path.join(temp, name))

        base = folder("base")
        os.remove(os.path.join(base, "cua_s1_export.json"))
        adapter = write_adapter(os.path.join(temp, "adapter"), demo)
        bad_format = folder("bad_format")
        change(bad_format, "cua_s1_export.json", format="other/1")
        renamed = folder("renamed")
        change(renamed, "cua_s1_export.json", request_model=None, response_model=None)
        untied = folder("untied")
        change(untied, "config.json", tie_word_embeddings=False)
        wider = folder("wider")
        change(wider, "config.json", hidden_size=128)
        no_tokenizer = folder("no_tokenizer")
        os.remove(os.path.join(no_tokenizer, "tokenizer.json"))
        no_weights = folder("no_weights")
        os.remove(os.path.join(no_weights, "model.safetensors"))

        cases = [
            ([], "--checkpoint"),
            (["--checkpoint=" + temp + "/missing"], temp + "/missing"),
            (["--checkpoint=" + demo, "--precision=f16"], "--precision=f16"),
            (["--checkpoint=" + demo, "--threads=-1"], "--threads"),
            (["--checkpoint=" + demo, "--max_pending=0"], "--max_pending=0"),
            (["--checkpoint=" + base], "cua_s1_export.json"),
            (["--checkpoint=" + bad_format], "cua_s1_export.json"),
            (["--checkpoint=" + renamed], "config.json: hidden_size"),
            (["--checkpoint=" + untied], "tie_word_embeddings"),
            (["--checkpoint=" + wider], "embed_tokens.weight"),
            (["--checkpoint=" + no_tokenizer], "no_tokenizer/tokenizer.json"),
            (["--checkpoint=" + no_weights], "no_weights/model.safetensors"),
            (["--checkpoint=" + demo, "--adapter=" + adapter], "--adapter"),
            (["--checkpoint=" + base, "--adapter=" + temp + "/none"], temp + "/none"),
        ]
        for flags, expected in cases:
            done = subprocess.run(
                [server, "--address=127.0.0.1:0", *flags],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=60,
                text=True,
            )
            lines = [l for l in done.stderr.splitlines() if l.startswith("ERROR: ")]
            assert done.returncode == 1, (flags, done)
            assert len(lines) == 1 and expected in lines[0], (flags, done.stderr)
            assert done.stdout == "", (flags, done.stdout)

        with Worker(server, demo) as worker:
            plain = decide(client, worker.address, example)
        with Worker(server, base, "--adapter=" + adapter) as worker:
            adapted = decide(client, worker.address, example)
        assert adapted["model"] == "test/adapted@1", adapted
        assert adapted["answers"] != plain["answers"], adapted
        assert adapted["usage"] == plain["usage"], adapted


main()
