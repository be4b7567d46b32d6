#include "tools/checkpoint/demo_tokenizer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "runtime/json/render.h"
#include "workers/model/qwen3_5/split_pattern.h"

namespace omni {
namespace {

constexpr int kMergeCount = 240;

constexpr std::string_view kAddedTokens[] = {
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"};

// What the merges are learned from, each word alone and after a space.
constexpr char kWords[] =
    "user assistant system goal app task family decision option options select "
    "answer single letter state message order refund invoice payment ticket "
    "support agent customer account screen window button field form page link "
    "click check skip open close submit cancel confirm approve reject escalate "
    "route reply wait retry yes no true false null name date time total number "
    "text title label value type status error warning request response "
    "question choose which what when where who how the this that with from "
    "have has not and for are was were will would should could please thank "
    "need want help late early paid unpaid damaged missing delivered shipped";

// The alphabet of byte-level BPE: printable bytes stand for themselves, in
// their order; then the others get the characters from U+0100 on.
std::vector<std::pair<uint8_t, char32_t>> ByteAlphabet() {
  std::vector<std::pair<uint8_t, char32_t>> printable;
  std::vector<std::pair<uint8_t, char32_t>> others;
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_printable = (byte >= 33 && byte <= 126) ||
                              (byte >= 161 && byte <= 172) || byte >= 174;
    if (is_printable) {
      printable.emplace_back(byte, byte);
    } else {
      others.emplace_back(byte, 0x100 + others.size());
    }
  }
  printable.insert(printable.end(), others.begin(), others.end());
  return printable;
}

// The alphabet has nothing beyond two bytes.
std::string Utf8(char32_t character) {
  if (character < 0x80) return std::string(1, static_cast<char>(character));
  return {static_cast<char>(0xc0 | (character >> 6)),
          static_cast<char>(0x80 | (character & 0x3f))};
}

using Symbols = std::vector<std::string>;
using Pair = std::pair<std::string, std::string>;

// The pair that occurs most often; of equals the first in byte order.
Pair MostFrequentPair(const std::vector<Symbols>& words) {
  std::map<Pair, int> counts;
  for (const Symbols& word : words) {
    for (size_t i = 1; i < word.size(); ++i) ++counts[{word[i - 1], word[i]}];
  }
  Pair best;
  int best_count = 0;
  for (const auto& [pair, count] : counts) {
    if (count > best_count) {
      best = pair;
      best_count = count;
    }
  }
  return best;
}

void Merge(const Pair& pair, Symbols& word) {
  Symbols merged;
  for (size_t i = 0; i < word.size(); ++i) {
    if (i + 1 < word.size() && word[i] == pair.first &&
        word[i + 1] == pair.second) {
      merged.push_back(pair.first + pair.second);
      ++i;
    } else {
      merged.push_back(word[i]);
    }
  }
  word = std::move(merged);
}

std::vector<Pair> LearnMerges(const std::array<std::string, 256>& symbols) {
  std::vector<Symbols> words;
  for (const absl::string_view word : absl::StrSplit(kWords, ' ')) {
    Symbols bare;
    for (const char letter : word) {
      bare.push_back(symbols[static_cast<uint8_t>(letter)]);
    }
    Symbols spaced = bare;
    spaced.insert(spaced.begin(), symbols[' ']);
    words.push_back(std::move(bare));
    words.push_back(std::move(spaced));
  }
  std::vector<Pair> merges;
  for (int i = 0; i < kMergeCount; ++i) {
    merges.push_back(MostFrequentPair(words));
    for (Symbols& word : words) Merge(merges.back(), word);
  }
  return merges;
}

std::string Quoted(std::string_view text) {
  return absl::StrFormat("\"%s\"", json::Escape(text));
}

constexpr std::string_view kByteLevel =
    "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
    "\"trim_offsets\": false, \"use_regex\": false}";

}  // namespace

std::string DemoTokenizerJson() {
  std::array<std::string, 256> symbols;
  std::vector<std::string> vocabulary;
  for (const auto& [byte, character] : ByteAlphabet()) {
    symbols[byte] = Utf8(character);
    vocabulary.push_back(symbols[byte]);
  }
  std::string merges;
  for (const auto& [left, right] : LearnMerges(symbols)) {
    vocabulary.push_back(left + right);
    absl::StrAppendFormat(&merges, "%s\n      [%s, %s]",
                          merges.empty() ? "" : ",", Quoted(left),
                          Quoted(right));
  }
  std::string entries;
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    absl::StrAppendFormat(&entries, "%s\n      %s: %d", id == 0 ? "" : ",",
                          Quoted(vocabulary[id]), id);
  }
  std::string added;
  size_t next_id = vocabulary.size();
  for (const std::string_view token : kAddedTokens) {
    absl::StrAppendFormat(
        &added,
        "%s\n    {\"id\": %d, \"content\": %s, \"single_word\": false, "
        "\"lstrip\": false, \"rstrip\": false, \"normalized\": false, "
        "\"special\": %s}",
        added.empty() ? "" : ",", next_id++, Quoted(token),
        // The published file counts the thinking marks as plain text.
        token.find("think") == std::string_view::npos ? "true" : "false");
  }
  std::string text = "{\n  \"version\": \"1.0\",\n";
  absl::StrAppendFormat(&text,
                        "  \"truncation\": null,\n"
                        "  \"padding\": null,\n"
                        "  \"added_tokens\": [%s\n  ],\n"
                        "  \"normalizer\": {\"type\": \"NFC\"},\n",
                        added);
  absl::StrAppendFormat(
      &text,
      "  \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [\n"
      "    {\"type\": \"Split\", \"pattern\": {\"Regex\": %s}, "
      "\"behavior\": \"Isolated\", \"invert\": false},\n"
      "    %s]},\n"
      "  \"post_processor\": %s,\n"
      "  \"decoder\": %s,\n",
      Quoted(qwen3_5::kSplitPattern), kByteLevel, kByteLevel, kByteLevel);
  absl::StrAppendFormat(
      &text,
      "  \"model\": {\n"
      "    \"type\": \"BPE\", \"dropout\": null, \"unk_token\": null,\n"
      "    \"continuing_subword_prefix\": \"\", "
      "\"end_of_word_suffix\": \"\",\n"
      "    \"fuse_unk\": false, \"byte_fallback\": false, "
      "\"ignore_merges\": false,\n"
      "    \"vocab\": {%s\n    },\n"
      "    \"merges\": [%s\n    ]\n"
      "  }\n}\n",
      entries, merges);
  return text;
}

}  // namespace omni
