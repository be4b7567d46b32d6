#!/usr/bin/env python3
"""Trains a small tokenizer and records what the tokenizers package makes of
odd strings.

    tools/golden/with_venv tokenizer \\
        python tools/golden/make_tokenizer_golden.py [--check]

Writes tokenizer.json and cases.json in tests/golden/tokenizer; --check compares
with the files there instead.  See the README there for their form.
"""

import argparse
import copy
import itertools
import json
import pathlib
import random
import sys
import unicodedata

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers import models, normalizers, pre_tokenizers, trainers

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/tokenizer"
COMMAND = (
    "tools/golden/with_venv tokenizer python tools/golden/make_tokenizer_golden.py"
)
VOCABULARY_SIZE = 1000
STRINGS = 2000
# Most variants encode every so many-th string.
STRIDE = 10

QWEN3_5_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

WORDS = """answer question option state letter screen button window choose exactly
single best next action proposed correct context service account charged order
customer message duplicate security team the a an of to in is it and or for with
this that should which no yes only given evidence low middle high first second
user assistant system naïve café résumé über straße größe année señor cœur
привет мир данные ответ αβγ λόγος שלום مرحبا नमस्ते สวัสดี 你好 世界 こんにちは カタカナ 한국어""".split()

MARKS = ["e\u0301", "\u00e9", "q\u0307\u0323", "a\u0323\u0302", "a\u0302\u0323",
         "\u0301", "\u1112\u1161\u11ab", "\ud55c", "\u304b\u3099", "\u304c",
         "\u0928\u092e\u0938\u094d\u0924\u0947", "\u0e2a\u0e27\u0e31\u0e2a",
         "\u0645\u064e\u0631\u0652", "\u212b", "\u2126", "\uf900", "\u1e9b\u0323",
         "\ufb01", "\u00b2", "\uff21\uff11", "\u2460", "\u0130", "\u00df",
         "a" + "\u0301\u0323" * 20, "\u1100\u1161", "\u0344", "\u0958", "\u2adc"]
SPACES = [" ", "  ", "   ", " " * 7, "\t", "\n", "\n\n", "\r", "\r\n", "\r\n\r\n",
          " \n", "\n ", " \r\n ", "\u000b", "\u000c", "\u001c", "\u001d", "\u001f",
          "\u0085", "\u00a0", "\u1680", "\u180e", "\u2000", "\u2009", "\u2028",
          "\u2029", "\u202f", "\u205f", "\u3000", "\u200b", "\ufeff", "\u2060"]
SPELLED = ["<|im_start|>", "<|im_end|>", "<think>", "</think>", "<|im_start", "|>",
           "<|", "<think", "<<think>>", "<|im_start|><|im_end|>", "[MASK]", " [MASK]",
           "[R] ", "[B]", "[B]  [B]", "lone", "alone", "lone.", "lonely", "<n\u00e9>",
           "<ne\u0301>", "[RR]", "[R][RR]", "<|IM_START|>", "[M", "\u3000[MASK]"]
NUMBERS = ["0", "7", "42", "2024", "3.14", "1,000", "0x1F", "\u0661\u0662", "\u216b",
           "\u00bd", "\u09ea", "1e-05", "v2.0.1", "\U0001d7ce", "1st", "a1b2"]
QUOTED = ["'s", "'S", "'t", "'T", "'re", "'RE", "'Ve", "'m", "'ll", "'LL", "'lL",
          "'d", "'D", "'\u017f", "'\u212a", "\u2019s", "'x", "''s", "it's", "IT'S",
          "we'll", "WE'LL", "I'm", "don't", "'tis", "x'\u017fy", "'s's", "'rev"]
SYMBOLS = [".", ",", "...", "!?", "->", "=>", "!=", "()", "[]", "{}", "{\"a\": [1]}",
           "$$", "#", "_", "__init__", "-", "--", "\u2014", "\u2026", "\u00a9",
           "\u20ac", "\u2192", "\u00b7", "\u30fb", "\uff0c", "\"", "`", "~", "\\n",
           "/usr/bin", "a_b-c", "\u00ac", "\u00ad", "^"]
EMOJI = ["\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f",
         "\U0001f44d\U0001f3fd", "\U0001f1eb\U0001f1f7", "\u0023\ufe0f\u20e3"]
CONTROLS = ["\u0000", "\u0001", "\u0007", "\u001b[0m", "\u007f", "\u0080", "\u009f",
            "\ue000", "\u0378", "\uffff", "\ufffd", "\U0010ffff", "\u200d", "\u200e",
            "\U000e0001", "\U00020000", "\u00ff", "\u0100", "\u0142"]
FAMILIES = [WORDS, MARKS, SPACES, SPELLED, NUMBERS, QUOTED, SYMBOLS, EMOJI, CONTROLS]


def corpus(random_source):
    """Made-up sentences, so that nothing of others ends up in the files."""
    for _ in range(4000):
        words = random_source.choices(WORDS, k=random_source.randint(3, 12))
        if random_source.random() < 0.3:
            words[0] = words[0].capitalize()
        if random_source.random() < 0.3:
            words.append(str(random_source.randint(0, 9999)))
        separator = random_source.choice([" ", " ", " ", ", ", "\n", "  ", ": "])
        words.insert(
            random_source.randint(0, len(words)),
            random_source.choice(random_source.choice(FAMILIES)),
        )
        yield separator.join(words) + random_source.choice([".", "?", "!", "\n", ".\n\n"])


def added_tokens():
    return [
        AddedToken("<|im_start|>", normalized=False, special=True),
        AddedToken("<|im_end|>", normalized=False, special=True),
        AddedToken("<think>", normalized=False, special=False),
        AddedToken("</think>", normalized=False, special=False),
        AddedToken("[MASK]", normalized=False, special=True, lstrip=True),
        AddedToken("[R]", normalized=False, special=True, rstrip=True),
        AddedToken("[RR]", normalized=False, special=True, rstrip=True),
        AddedToken("[B]", normalized=False, special=True, lstrip=True, rstrip=True),
        AddedToken("lone", normalized=False, special=False, single_word=True),
        AddedToken("<n\u00e9>", normalized=True, special=False),
        AddedToken("       ", normalized=True, special=False),
        AddedToken("once", normalized=True, special=False, single_word=True),
    ]


def train():
    tokenizer = Tokenizer(models.BPE())
    # Trained on whole sentences, the vocabulary has entries that cross words: any
    # text that is cut in a wrong place then shows in the ids.
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=False
    )
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus(random.Random(1)), trainer)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN3_5_PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.add_tokens(added_tokens())
    return json.loads(tokenizer.to_str())


def split(pattern, behavior, invert=False):
    return {
        "type": "Split",
        "pattern": pattern,
        "behavior": behavior,
        "invert": invert,
    }


def byte_level(prefix=False, regex=False):
    return {
        "type": "ByteLevel",
        "add_prefix_space": prefix,
        "trim_offsets": True,
        "use_regex": regex,
    }


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


def variants(base):
    """Sections to put in place of the base file's, by name of the variant."""
    pairs = base["model"]["merges"]
    merges = [" ".join(pair) for pair in pairs]
    template = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "<|im_start|>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "<|im_end|>", "type_id": 0}},
            {"SpecialToken": {"id": "<|im_end|>", "type_id": 0}},
        ],
        "pair": [
            {"Sequence": {"id": "A", "type_id": 0}},
            {"Sequence": {"id": "B", "type_id": 1}},
        ],
        "special_tokens": {
            name: {"id": name, "ids": [id], "tokens": [name]}
            for name, id in (("<|im_start|>", 1000), ("<|im_end|>", 1001))
        },
    }
    roberta = {
        "type": "RobertaProcessing",
        "sep": ["<|im_end|>", 1001],
        "cls": ["<|im_start|>", 1000],
        "trim_offsets": True,
        "add_prefix_space": False,
    }
    punctuation = {"Regex": r"\s+|[,.;:!?]"}
    result = {
        "qwen": {},
        "gpt2": {
            "pre_tokenizer": byte_level(regex=True),
            "post_processor": template,
            "model": {"merges": "strings"},
        },
        "no normalizer": {"normalizer": None},
        "nfd": {"normalizer": {"type": "NFD"}},
        "nfkc": {"normalizer": {"type": "NFKC"}},
        "nfkd": {"normalizer": {"type": "NFKD"}},
        "nfkd, nfc": {
            "normalizer": {
                "type": "Sequence",
                "normalizers": [{"type": "NFKD"}, {"type": "NFC"}],
            }
        },
        "prefix space": {"pre_tokenizer": byte_level(prefix=True, regex=True)},
        "prefix space, no pattern": {"pre_tokenizer": byte_level(prefix=True)},
        "digits": {
            "pre_tokenizer": sequence(
                {"type": "Digits", "individual_digits": True}, byte_level(regex=True)
            )
        },
        "digit runs": {
            "pre_tokenizer": sequence(
                {"type": "Digits", "individual_digits": False}, byte_level()
            )
        },
        "text": {
            "pre_tokenizer": sequence(
                split({"String": "a."}, "MergedWithNext"),
                split({"String": " "}, "MergedWithPrevious"),
                byte_level(),
            )
        },
        "lines": {
            "pre_tokenizer": sequence(
                split({"Regex": r"^.|.$|\Aa|(?<=e)\d*"}, "Isolated"), byte_level()
            )
        },
        "scripts": {
            "pre_tokenizer": sequence(
                split(
                    {
                        "Regex": r"[\p{Han}\p{Hiragana}\u30A0-\u30FF]+|\p{Greek}+"
                        r"|(?:\p{Lu}|\p{Uppercase_Letter})++|\p{^L}\S{1,2}?|[^\S\r\n]"
                    },
                    "Contiguous",
                ),
                byte_level(),
            )
        },
        "ignore merges": {"model": {"ignore_merges": True, "merges": []}},
        "template": {"post_processor": template},
        "bert": {
            "post_processor": {
                "type": "BertProcessing",
                "sep": ["x", 40],
                "cls": ["y", 41],
            }
        },
        "roberta": {"post_processor": roberta},
        "processors": {
            "post_processor": {
                "type": "Sequence",
                "processors": [byte_level(), template],
            }
        },
    }
    behaviors = (
        "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"
    )
    for behavior, invert in itertools.product(behaviors, (False, True)):
        name = f"{behavior}{', invert' if invert else ''}"
        result[name] = {
            "pre_tokenizer": sequence(split(punctuation, behavior, invert), byte_level())
        }
    return result, merges


def apply(base, sections, merges):
    """The file of a variant, as the C++ test builds it too."""
    file = copy.deepcopy(base)
    for key, value in sections.items():
        if key != "model":
            file[key] = value
    for key, value in sections.get("model", {}).items():
        file["model"][key] = merges if value == "strings" else value
    return file


def strings():
    """Each is a list of [text, repetitions]."""
    random_source = random.Random(2)
    seen = set()
    result = []

    def add(*parts):
        text = "".join(part * count for part, count in parts)
        if text not in seen:
            seen.add(text)
            result.append([list(part) for part in parts])

    add(("", 1))
    for family in FAMILIES:
        for fragment in family:
            add((fragment, 1))
            add((fragment + fragment, 1))
            add(("a " + fragment + "b", 1))
            add((unicodedata.normalize("NFD", fragment), 1))
    for text, count in (
        ("a", 20000), (" ", 20000), ("\n", 3000), ("ab", 5000), ("e\u0301", 3000),
        ("!", 5000), ("9", 3000), ("\u4f60", 2000), (" a", 3000), ("\r\n", 2000),
        ("\u0301", 4000), ("<|im_end|>", 500), ("<", 3000), ("[B] ", 500),
        ("[R]   ", 300), ("   [MASK]", 300), (" lone", 500), ("'s", 1000),
    ):
        add((text, count))
        add(("x", 1), (text, count), ("y", 1))
        add((text, count), (" ", 1), (text, count // 2))
    while len(result) < STRINGS:
        families = random_source.choices(FAMILIES, k=random_source.randint(2, 4))
        add(("".join(random_source.choice(family) for family in families), 1))
    return result[:STRINGS]


def compact(ids):
    """'5 7*3 1,2*4' for 5, 7, 7, 7 and four times 1, 2."""
    words = []
    at = 0
    while at < len(ids):
        best_period, best_count = 1, 1
        for period in range(1, 17):
            block = ids[at : at + period]
            count = 1
            while ids[at + period * count : at + period * (count + 1)] == block:
                count += 1
            if count > 1 and period * count > best_period * best_count:
                best_period, best_count = period, count
        block = ",".join(map(str, ids[at : at + best_period]))
        words.append(block if best_count == 1 else f"{block}*{best_count}")
        at += best_period * best_count
    return " ".join(words)


def record():
    base = train()
    sections, merges = variants(base)
    texts = strings()
    joined = ["".join(part * count for part, count in text) for text in texts]
    recorded = {}
    strides = {}

    def recorded_ids(i, ids):
        """None where the first variant has the same."""
        known = recorded.get("qwen")
        return None if known and known[i] == ids else ids

    for name, changes in sections.items():
        tokenizer = Tokenizer.from_str(json.dumps(apply(base, changes, merges)))
        strides[name] = 1 if name in ("qwen", "gpt2") else STRIDE
        special = "post_processor" in changes
        recorded[name] = [
            recorded_ids(
                i, compact(tokenizer.encode(text, add_special_tokens=special).ids)
            )
            for i, text in list(enumerate(joined))[:: strides[name]]
        ]
    lines = [
        '{"command": %s,' % json.dumps(COMMAND),
        '"tokenizers": %s,' % json.dumps(tokenizers.__version__),
        '"strings": [',
    ]
    lines.append(",\n".join(json.dumps(text) for text in texts) + "],")
    lines.append('"variants": [')
    blocks = [
        json.dumps({"name": name, "stride": strides[name], "sections": sections[name]})[:-1]
        + ', "ids": [\n'
        + ",\n".join(json.dumps(ids) for ids in recorded[name])
        + "]}"
        for name in sections
    ]
    lines.append(",\n".join(blocks) + "]}")
    tokenizer_json = json.dumps(base, ensure_ascii=False, separators=(",", ":"))
    return {"tokenizer.json": tokenizer_json + "\n", "cases.json": "\n".join(lines) + "\n"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    different = []
    for name, text in record().items():
        path = FOLDER / name
        if not check:
            path.write_text(text, encoding="utf-8")
            print(f"{path.name}: {len(text.encode())} bytes")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            different.append(name)
    if different:
        sys.exit("not as recorded: " + ", ".join(different))


if __name__ == "__main__":
    main()
