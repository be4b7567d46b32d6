#!/usr/bin/env python3
"""Records what the transformers package computes with random Qwen3.5 models.

    tools/golden/with_venv qwen3_5 tools/golden/make_qwen3_5_golden.py [--check]

Writes tests/golden/qwen3_5/, one folder a case: a tiny checkpoint as it would
be published (none where the weights are a formula), an adapter where the case
has one, and expected.json with prompts and, for each, the last row after the
final norm in an FP32 and in a BF16 run.  With --check it writes nothing, makes
everything anew and compares.
"""

import argparse
import dataclasses
import filecmp
import json
import os
import pathlib
import sys
import tempfile

# Nothing here may ask a hub for anything.
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import peft
import safetensors.torch
import torch
import transformers
from transformers.models.qwen3_5 import modeling_qwen3_5 as qwen3_5

DESTINATION = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/qwen3_5"

LENGTHS = (1, 5, 63, 64, 65, 150, 700)
LETTERS = 26
# Least size of what an attention, a DeltaNet or an MLP adds, relative to the
# residual stream that it adds to: each must be seen in the result.
LEAST_CHANGE = 0.15
# Least change of a row by the adapter.
LEAST_ADAPTER_CHANGE = 0.2
# Most by which BF16 may change an element: a model that magnifies rounding more
# than trained ones do would test little.
LARGEST_BF16_ERROR = 0.2
# FP32 rows may differ by this much between processors and thread counts, which
# sum in other orders; the tests allow an implementation 1e-4.
FP32_TOLERANCE = 2e-5


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    seed: int
    prefix: str  # Of the tensor names in the file.
    text_config: dict
    # In the published base files these are FP32, all else is BF16.
    fp32_tensors: tuple = ()
    lora: dict | None = None
    # Weights by the formula of workers/model/qwen3_5/formula_weights.h, with
    # these prompts; else both are random.
    formula_prompts: tuple = ()


def text_config(**overrides):
    config = {
        "model_type": "qwen3_5_text",
        "attention_bias": False,
        "attn_output_gate": True,
        "dtype": "bfloat16",
        "hidden_act": "silu",
        "linear_conv_kernel_dim": 4,
        "max_position_embeddings": 1024,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": True,
    }
    config.update(overrides)
    return config


def rope(theta, factor, section):
    return {
        "mrope_interleaved": True,
        "mrope_section": section,
        "partial_rotary_factor": factor,
        "rope_theta": theta,
        "rope_type": "default",
    }


def published_heads(value_heads, layer_types):
    """The head sizes, rotation and eps of every published model."""
    return text_config(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=len(layer_types),
        layer_types=layer_types,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=256,
        linear_num_key_heads=2,
        linear_num_value_heads=value_heads,
        linear_key_head_dim=128,
        linear_value_head_dim=128,
        vocab_size=64,
        rope_parameters=rope(10000000, 0.25, [11, 11, 10]),
    )


def formula_prompt(tokens, vocabulary, first=3):
    return [(7 * t + first) % vocabulary for t in range(tokens)]


# On both sides of every border that a chunk, a tile or a convolution may have.
BORDER_LENGTHS = (
    *range(1, 21),
    *(32 * n + d for n in (1, 2, 3, 4, 6, 8) for d in (-1, 0, 1)),
)


LINEAR, FULL = "linear_attention", "full_attention"

CASES = (
    Case(
        name="heads_256_128_ratio_1",
        seed=101,
        prefix="model.language_model.",
        text_config=published_heads(2, [LINEAR, FULL, LINEAR]),
        fp32_tensors=("linear_attn.A_log", "linear_attn.norm.weight"),
    ),
    Case(
        name="heads_256_128_ratio_2",
        seed=102,
        prefix="model.",
        text_config=published_heads(4, [FULL, LINEAR, LINEAR]),
    ),
    Case(
        name="heads_256_128_ratio_3",
        seed=103,
        prefix="model.language_model.",
        text_config=published_heads(6, [LINEAR, LINEAR, FULL]),
    ),
    # Without layer_types: every fourth layer is full.
    Case(
        name="odd_heads_ratio_3",
        seed=104,
        prefix="",
        text_config=text_config(
            hidden_size=40,
            intermediate_size=44,
            num_hidden_layers=5,
            full_attention_interval=4,
            num_attention_heads=6,
            num_key_value_heads=2,
            head_dim=12,
            linear_num_key_heads=3,
            linear_num_value_heads=9,
            linear_key_head_dim=5,
            linear_value_head_dim=7,
            vocab_size=75,
            rms_norm_eps=1e-5,
            rope_parameters=rope(10000, 0.5, [1, 1, 1]),
        ),
    ),
    Case(
        name="odd_heads_ratio_2",
        seed=105,
        prefix="model.",
        text_config=text_config(
            hidden_size=24,
            intermediate_size=52,
            num_hidden_layers=3,
            layer_types=[LINEAR, FULL, FULL],
            num_attention_heads=3,
            num_key_value_heads=3,
            head_dim=10,
            linear_num_key_heads=1,
            linear_num_value_heads=2,
            linear_key_head_dim=9,
            linear_value_head_dim=6,
            vocab_size=61,
            rms_norm_eps=1e-3,
            rope_parameters=rope(500, 0.4, [1, 1, 0]),
        ),
    ),
    Case(
        name="adapter",
        seed=116,
        prefix="model.language_model.",
        text_config=text_config(
            hidden_size=32,
            intermediate_size=40,
            num_hidden_layers=4,
            full_attention_interval=4,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            linear_num_key_heads=2,
            linear_num_value_heads=4,
            linear_key_head_dim=8,
            linear_value_head_dim=8,
            vocab_size=64,
            rope_parameters=rope(10000000, 0.25, [1, 1, 0]),
        ),
        lora={
            "r": 3,
            "lora_alpha": 6,
            "target_modules": [
                "down_proj",
                "gate_proj",
                "in_proj_a",
                "in_proj_b",
                "in_proj_qkv",
                "in_proj_z",
                "k_proj",
                "o_proj",
                "out_proj",
                "q_proj",
                "up_proj",
                "v_proj",
            ],
        },
    ),
    Case(
        name="formula_small",
        seed=107,
        prefix="",
        text_config=text_config(
            hidden_size=8,
            intermediate_size=12,
            num_hidden_layers=2,
            layer_types=[LINEAR, FULL],
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=8,
            linear_num_key_heads=1,
            linear_num_value_heads=2,
            linear_key_head_dim=4,
            linear_value_head_dim=4,
            vocab_size=11,
            rope_parameters=rope(10000, 0.5, [1, 1, 0]),
        ),
        fp32_tensors=("",),
        formula_prompts=(
            [7],
            [3, 1, 4, 1, 5],
            formula_prompt(64, 11),
            formula_prompt(65, 11),
            formula_prompt(150, 11),
        ),
    ),
    Case(
        name="formula_ratio",
        seed=108,
        prefix="",
        text_config=text_config(
            hidden_size=12,
            intermediate_size=10,
            num_hidden_layers=3,
            layer_types=[LINEAR, FULL, LINEAR],
            num_attention_heads=8,
            num_key_value_heads=2,
            head_dim=8,
            linear_num_key_heads=2,
            linear_num_value_heads=6,
            linear_key_head_dim=4,
            linear_value_head_dim=3,
            vocab_size=13,
            rms_norm_eps=0.01,
            rope_parameters=rope(100, 0.5, [1, 1, 0]),
        ),
        fp32_tensors=("",),
        formula_prompts=(
            [7],
            [3, 10, 4, 11, 5],
            formula_prompt(70, 13),
            *(formula_prompt(n, 13, first=n) for n in BORDER_LENGTHS),
        ),
    ),
)

# The order in which the formula numbers the tensors of a layer.
MIXER_TENSORS = {
    LINEAR: [
        f"linear_attn.{name}"
        for name in (
            "in_proj_qkv.weight",
            "in_proj_z.weight",
            "in_proj_b.weight",
            "in_proj_a.weight",
            "conv1d.weight",
            "A_log",
            "dt_bias",
            "norm.weight",
            "out_proj.weight",
        )
    ],
    FULL: [
        f"self_attn.{name}.weight"
        for name in ("q_proj", "k_proj", "v_proj", "o_proj", "q_norm", "k_norm")
    ],
}
OTHER_TENSORS = [
    f"{name}.weight"
    for name in (
        "input_layernorm",
        "post_attention_layernorm",
        "mlp.gate_proj",
        "mlp.up_proj",
        "mlp.down_proj",
    )
]


def formula_order(layer_types):
    return [
        "embed_tokens.weight",
        *(
            f"layers.{layer}.{name}"
            for layer, kind in enumerate(layer_types)
            for name in MIXER_TENSORS[kind] + OTHER_TENSORS
        ),
        "norm.weight",
    ]


def formula_tensor(number, shape):
    i = np.arange(np.prod(shape), dtype=np.float64)
    values = 0.5 * np.sin(1.7 * i + 0.013 * i * i + 0.9 * number + 0.3)
    return values.reshape(shape)


def random_tensor(name, shape, random):
    """Values of the size that trained weights have at this place."""
    normal = random.standard_normal(shape)
    if name == "embed_tokens.weight":
        return 0.4 * normal
    if name.endswith("A_log"):
        # From a state that keeps everything to one that forgets at once.
        return random.uniform(np.log(0.003), np.log(4), shape)
    if name.endswith("dt_bias"):
        return normal - 1
    if name.endswith("linear_attn.norm.weight"):
        return 1 + 0.3 * normal
    if name.endswith(("q_norm.weight", "k_norm.weight")):
        return 0.1 + 0.3 * normal  # Attention that prefers some tokens.
    if name.endswith("norm.weight"):  # Each stands for one more than it says.
        return 0.3 * normal
    if name.endswith("conv1d.weight"):
        return 0.6 * normal
    # Attention averages over tokens, the gates and the SiLU take a part away:
    # what is added to the residual stream makes up for it.
    gains = {"o_proj": 4, "out_proj": 1.5, "down_proj": 1.8}
    return gains.get(name.split(".")[-2], 1.3) * normal / np.sqrt(shape[-1])


def make_weights(case, random):
    """The checkpoint's tensors without the prefix, in BF16 or FP32."""
    config = transformers.Qwen3_5TextConfig(**case.text_config)
    with torch.device("meta"):
        shapes = qwen3_5.Qwen3_5TextModel(config).state_dict()
    weights = {}
    for name in sorted(shapes):
        shape = tuple(shapes[name].shape)
        if case.formula_prompts:
            values = formula_tensor(formula_order(config.layer_types).index(name), shape)
        else:
            values = random_tensor(name, shape, random)
        values = torch.from_numpy(values.astype(np.float32))
        if not name.endswith(case.fp32_tensors):
            values = values.to(torch.bfloat16)
        weights[name] = values
    return weights


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


def write_checkpoint(folder, text, prefix, weights):
    folder.mkdir(parents=True)
    nested = prefix == "model.language_model."
    write_json(
        folder / "config.json",
        {
            "architectures": ["Qwen3_5ForConditionalGeneration"],
            "model_type": "qwen3_5",
            "text_config": text,
            "tie_word_embeddings": True,
        }
        if nested
        else text,
    )
    safetensors.torch.save_file(
        {prefix + name: values for name, values in weights.items()},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )


def load(folder, dtype, adapter=None):
    # Not model.to(dtype), which would round the rotary frequencies as well.
    model = transformers.Qwen3_5ForCausalLM.from_pretrained(
        folder, dtype=dtype, attn_implementation="eager"
    )
    if adapter is not None:
        model = peft.PeftModel.from_pretrained(model, adapter).merge_and_unload()
    return model.eval()


def write_adapter(folder, base_folder, lora, random):
    model = transformers.Qwen3_5ForCausalLM.from_pretrained(
        base_folder, dtype=torch.float32
    )
    model = peft.get_peft_model(
        model,
        peft.LoraConfig(bias="none", lora_dropout=0.05, task_type="CAUSAL_LM", **lora),
    )
    for name, values in sorted(model.named_parameters()):
        if "lora_" in name:
            normal = random.standard_normal(tuple(values.shape))
            normal *= 0.4 / np.sqrt(values.shape[-1])
            values.data.copy_(torch.from_numpy(normal.astype(np.float32)))
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)  # A model card to fill in.
    # The targets are a set, which Python orders anew in every process, and the
    # base model is named by its temporary folder.
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text())
    config["target_modules"] = sorted(config["target_modules"])
    config["base_model_name_or_path"] = "omni/random-qwen3.5"
    write_json(path, config)


def last_rows(model, prompts):
    with torch.no_grad():
        return torch.stack(
            [
                model.model(torch.tensor([ids]), use_cache=False)
                .last_hidden_state[0, -1]
                .float()
                for ids in prompts
            ]
        )


def changes(model, ids):
    """What each mixer and MLP adds, relative to what it adds to."""
    relative = []
    inputs = []

    def remember(module, args):
        inputs.append(args[0])

    def compare(module, args, output):
        added = output[0] if isinstance(output, tuple) else output
        relative.append(((added.norm() / inputs[-1].norm()).item()))

    handles = []
    for layer in model.model.layers:
        mixer = layer.linear_attn if hasattr(layer, "linear_attn") else layer.self_attn
        # The norms see the residual stream.
        for norm, adder in (
            (layer.input_layernorm, mixer),
            (layer.post_attention_layernorm, layer.mlp),
        ):
            handles.append(norm.register_forward_pre_hook(remember))
            handles.append(adder.register_forward_hook(compare))
    last_rows(model, [ids])
    for handle in handles:
        handle.remove()
    return relative


def make_case(case, folder, scratch):
    random = np.random.Generator(np.random.PCG64(case.seed))
    weights = make_weights(case, random)
    if case.formula_prompts:
        folder.mkdir(parents=True)
    else:
        write_checkpoint(folder, case.text_config, case.prefix, weights)
    # transformers' causal class reads the flat form.
    loadable = scratch / case.name
    write_checkpoint(loadable, case.text_config, "model.", weights)
    vocabulary = case.text_config["vocab_size"]
    prompts = case.formula_prompts or [
        random.integers(vocabulary, size=n).tolist() for n in LENGTHS
    ]
    letters = random.permutation(vocabulary)[:LETTERS].tolist()

    adapter = None
    if case.lora is not None:
        adapter = folder / "adapter"
        write_adapter(adapter, loadable, case.lora, random)

    fp32_model = load(loadable, torch.float32, adapter)
    relative = changes(fp32_model, prompts[-1])
    if min(relative) < LEAST_CHANGE and not case.formula_prompts:
        sys.exit(f"{case.name}: some layer changes too little: {min(relative)}")
    fp32 = last_rows(fp32_model, prompts)
    if adapter is not None:
        change = (fp32 - last_rows(load(loadable, torch.float32), prompts)).abs()
        if change.amax(1).min() < LEAST_ADAPTER_CHANGE:
            sys.exit(f"{case.name}: the adapter changes too little")
    bf16 = last_rows(load(loadable, torch.bfloat16, adapter), prompts)
    error = (bf16 - fp32).abs().max().item()
    if error > LARGEST_BF16_ERROR and not case.formula_prompts:
        sys.exit(f"{case.name}: BF16 off by {error:.3f}")
    header = {
        "versions": {
            "peft": peft.__version__,
            "torch": torch.__version__.split("+")[0],
            "transformers": transformers.__version__,
        },
        "letters": letters,
    }
    runs = [
        # Nine digits keep an FP32 value.
        {
            "prompt": prompt,
            "fp32": [float(f"{x:.9g}") for x in fp32[i].tolist()],
            "bf16": [float(f"{x:.9g}") for x in bf16[i].tolist()],
        }
        for i, prompt in enumerate(prompts)
    ]
    # One run a line.
    text = json.dumps(header)[:-1] + ', "runs": [\n'
    text += ",\n".join(json.dumps(run) for run in runs) + "\n]}\n"
    (folder / "expected.json").write_text(text)
    print(
        f"{case.name}: least change {min(relative):.2f}, largest "
        f"{max(relative):.2f}; BF16 off by {error:.3f}"
    )


def rows(expected, key):
    return torch.tensor([run[key] for run in expected["runs"]])


def compare_expected(name, recorded, made):
    """Complaints about run results that differ more than rounding explains."""
    for expected in (recorded, made):
        expected["inputs"] = [run["prompt"] for run in expected["runs"]]
    for key in ("versions", "letters", "inputs"):
        if recorded[key] != made[key]:
            yield f"{name}: {key} differ"
    difference = (rows(recorded, "fp32") - rows(made, "fp32")).abs().max().item()
    if difference > FP32_TOLERANCE:
        yield f"{name}: FP32 rows differ by {difference}"
    # A BF16 result that falls on the other side of one rounding changes all
    # that follow, so two correct runs are about as far from each other as from
    # the FP32 run.
    error = (rows(recorded, "bf16") - rows(recorded, "fp32")).abs().max().item()
    difference = (rows(recorded, "bf16") - rows(made, "bf16")).abs().max().item()
    if difference > 2 * error:
        yield f"{name}: BF16 rows differ by {difference}"


def compare(recorded, made):
    """Complaints about a folder of cases that should equal another."""
    files = {
        folder: sorted(
            path.relative_to(folder) for path in folder.glob("*/**/*") if path.is_file()
        )
        for folder in (recorded, made)
    }
    if files[recorded] != files[made]:
        yield f"other files: {set(files[recorded]) ^ set(files[made])}"
        return
    for file in files[made]:
        if file.name == "expected.json":
            yield from compare_expected(
                file.parent,
                json.loads((recorded / file).read_text()),
                json.loads((made / file).read_text()),
            )
        elif not filecmp.cmp(recorded / file, made / file, shallow=False):
            yield f"{file} differs"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    check = parser.parse_args().check
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = pathlib.Path(temporary)
        made = scratch / "made"
        for case in CASES:
            make_case(case, made / case.name, scratch / "loadable")
        if check:
            complaints = list(compare(DESTINATION, made))
            print("\n".join(complaints) or "everything as recorded")
            sys.exit(1 if complaints else 0)
        for folder in (f for f in DESTINATION.glob("*") if f.is_dir()):
            for path in sorted(folder.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            folder.rmdir()
        for path in (f for f in made.rglob("*") if f.is_file()):
            target = DESTINATION / path.relative_to(made)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())


if __name__ == "__main__":
    main()
