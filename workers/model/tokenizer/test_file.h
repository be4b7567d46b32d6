#ifndef OMNI_WORKERS_MODEL_TOKENIZER_TEST_FILE_H_
#define OMNI_WORKERS_MODEL_TOKENIZER_TEST_FILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "runtime/json/value.h"

namespace omni::tokenizer {

// Writes small tokenizer files for tests.
//
// A fresh one has the byte alphabet in its usual order ('!' is 0, 'A' is 32,
// "\n" is 198, " " is 220), no merges, no added tokens, no normalizer, and
// ByteLevel without prefix space and pattern. Not thread-safe.
class TestFile {
 public:
  TestFile();

  // Adds `text` to the vocabulary, and merges that build it from its first byte
  // to its last. Its prefixes get ids from kFirstPrefixId where they have none.
  TestFile& Token(std::string_view text, uint32_t id);

  // Adds "a b" to the merges; both and "ab" must be in the vocabulary.
  TestFile& Merge(std::string_view left, std::string_view right);

  // Adds to `added_tokens`. `flags` names those that are true: "special",
  // "lstrip", "rstrip", "single_word", "normalized", with spaces between.
  TestFile& Added(std::string_view content, uint32_t id,
                  std::string_view flags = "special");

  // Sets a member of the file or of its model to a JSON text.
  TestFile& Set(std::string_view key, std::string_view json);
  TestFile& SetModel(std::string_view key, std::string_view json);

  std::string Json() const;

  static constexpr uint32_t kFirstPrefixId = 1'000'000;

 private:
  std::map<std::string, uint32_t> ids_;
  json::Array merges_;
  json::Array added_;
  json::Object model_;
  json::Object file_;
  uint32_t next_prefix_ = kFirstPrefixId;
};

// The pre-tokenizer that Qwen3.5's files have.
std::string Qwen35PreTokenizer();

}  // namespace omni::tokenizer

#endif  // OMNI_WORKERS_MODEL_TOKENIZER_TEST_FILE_H_
