#include "workers/model/tokenizer/test_file.h"

#include <cstdlib>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "runtime/json/reader.h"
#include "runtime/json/render.h"
#include "workers/model/qwen3_5/split_pattern.h"
#include "workers/model/tokenizer/pre_tokenizer.h"

namespace omni::tokenizer {
namespace {

std::string Spell(std::string_view text) {
  std::string spelled;
  for (const char c : text) {
    spelled += ByteSpelling(static_cast<unsigned char>(c));
  }
  return spelled;
}

json::Value Id(uint32_t id) { return json::Number{absl::StrCat(id)}; }

json::Value Parse(std::string_view text) {
  absl::StatusOr<json::Value> value = json::Read(text);
  if (!value.ok()) {
    std::cerr << value.status() << ": " << text << "\n";
    std::abort();
  }
  return *std::move(value);
}

void SetMember(json::Object* object, std::string_view key, json::Value value) {
  for (json::Member& member : *object) {
    if (member.first == key) {
      member.second = std::move(value);
      return;
    }
  }
  object->emplace_back(std::string(key), std::move(value));
}

}  // namespace

std::string Qwen35PreTokenizer() {
  return absl::StrFormat(
      R"({"type": "Sequence", "pretokenizers": [
          {"type": "Split", "pattern": {"Regex": "%s"},
           "behavior": "Isolated", "invert": false},
          {"type": "ByteLevel", "add_prefix_space": false,
           "trim_offsets": false, "use_regex": false}]})",
      json::Escape(qwen3_5::kSplitPattern));
}

TestFile::TestFile() {
  uint32_t next = 0;
  // Bytes that are spelled as themselves come first.
  for (const bool as_itself : {true, false}) {
    for (int byte = 0; byte < 256; ++byte) {
      const std::string spelling(
          ByteSpelling(static_cast<unsigned char>(byte)));
      const bool is_itself =
          byte < 0x80 ? spelling.size() == 1
                      : static_cast<unsigned char>(spelling[0]) < 0xC4;
      if (is_itself != as_itself) continue;
      ids_.emplace(spelling, next++);
    }
  }
  file_.emplace_back("version", "1.0");
  Set("normalizer", "null");
  Set("pre_tokenizer",
      R"({"type": "ByteLevel", "add_prefix_space": false,
          "use_regex": false})");
  model_.emplace_back("type", "BPE");
}

TestFile& TestFile::Token(std::string_view text, uint32_t id) {
  for (size_t length = 2; length <= text.size(); ++length) {
    const std::string_view prefix = text.substr(0, length);
    if (prefix != text &&
        ids_.try_emplace(Spell(prefix), next_prefix_).second) {
      ++next_prefix_;
    }
    Merge(text.substr(0, length - 1), text.substr(length - 1, 1));
  }
  ids_[Spell(text)] = id;
  return *this;
}

TestFile& TestFile::Merge(std::string_view left, std::string_view right) {
  json::Value merge = absl::StrCat(Spell(left), " ", Spell(right));
  for (const json::Value& known : merges_) {
    if (known == merge) return *this;
  }
  merges_.push_back(std::move(merge));
  return *this;
}

TestFile& TestFile::Added(std::string_view content, uint32_t id,
                          std::string_view flags) {
  json::Object token = {{"id", Id(id)}, {"content", std::string(content)}};
  for (const char* const flag :
       {"special", "lstrip", "rstrip", "single_word", "normalized"}) {
    token.emplace_back(flag, flags.find(flag) != std::string_view::npos);
  }
  added_.emplace_back(std::move(token));
  return *this;
}

TestFile& TestFile::Set(std::string_view key, std::string_view json) {
  SetMember(&file_, key, Parse(json));
  return *this;
}

TestFile& TestFile::SetModel(std::string_view key, std::string_view json) {
  SetMember(&model_, key, Parse(json));
  return *this;
}

std::string TestFile::Json() const {
  json::Object vocabulary;
  for (const auto& [token, id] : ids_) vocabulary.emplace_back(token, Id(id));
  json::Object model = {{"vocab", std::move(vocabulary)}, {"merges", merges_}};
  for (const json::Member& member : model_) {
    SetMember(&model, member.first, member.second);
  }
  json::Object file = {{"added_tokens", added_}, {"model", std::move(model)}};
  for (const json::Member& member : file_) {
    SetMember(&file, member.first, member.second);
  }
  return json::Dump(file, json::Dialect::kStrict);
}

}  // namespace omni::tokenizer
