// Compares with the ids that tools/golden/make_tokenizer_golden.py recorded.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/render.h"
#include "runtime/json/value.h"
#include "runtime/testing/reference_data.h"
#include "runtime/testing/status_matchers.h"
#include "workers/model/tokenizer.h"

namespace omni {
namespace {

using Ids = std::vector<uint32_t>;

constexpr size_t kStrings = 2000;

json::Value Recorded(const std::string& name) {
  return testing::MustReadJsonFile("tests/golden/tokenizer/" + name);
}

uint32_t ToNumber(absl::string_view digits) {
  uint32_t number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(digits, &number)) << digits;
  return number;
}

std::string Joined(const json::Value& parts) {
  std::string text;
  for (const json::Value& part : parts.array()) {
    const uint32_t times = ToNumber(part.array()[1].number().text);
    for (uint32_t i = 0; i < times; ++i) text += part.array()[0].string();
  }
  return text;
}

// "5 1,2*3" stands for 5 1 2 1 2 1 2.
Ids Expanded(const std::string& compact) {
  Ids ids;
  for (const absl::string_view word :
       absl::StrSplit(compact, ' ', absl::SkipEmpty())) {
    const std::vector<absl::string_view> parts = absl::StrSplit(word, '*');
    const uint32_t times = parts.size() == 2 ? ToNumber(parts[1]) : 1;
    Ids block;
    for (const absl::string_view id : absl::StrSplit(parts[0], ',')) {
      block.push_back(ToNumber(id));
    }
    for (uint32_t i = 0; i < times; ++i) {
      ids.insert(ids.end(), block.begin(), block.end());
    }
  }
  return ids;
}

void SetMember(json::Value* object, const std::string& key, json::Value value) {
  for (json::Member& member : object->object()) {
    if (member.first == key) {
      member.second = std::move(value);
      return;
    }
  }
  ADD_FAILURE() << "no member " << key;
}

json::Value MergesAsStrings(const json::Value& merges) {
  json::Array strings;
  for (const json::Value& pair : merges.array()) {
    strings.emplace_back(pair.array()[0].string() + " " +
                         pair.array()[1].string());
  }
  return strings;
}

// The text of `base` with the members of `sections` in place of its own.
std::string Variant(json::Value base, const json::Value& sections) {
  json::Value model = *base.Find("model");
  for (const auto& [key, value] : sections.object()) {
    if (key != "model") {
      SetMember(&base, key, value);
      continue;
    }
    for (const auto& [name, setting] : value.object()) {
      SetMember(&model, name,
                setting == json::Value("strings")
                    ? MergesAsStrings(*model.Find("merges"))
                    : setting);
    }
  }
  SetMember(&base, "model", std::move(model));
  return json::Dump(base, json::Dialect::kStrict);
}

TEST(TokenizerGoldenTest, IdsAreTheRecordedOnesInEveryVariant) {
  const json::Value base = Recorded("tokenizer.json");
  const json::Value cases = Recorded("cases.json");
  std::vector<std::string> strings;
  for (const json::Value& parts : cases.Find("strings")->array()) {
    strings.push_back(Joined(parts));
  }
  ASSERT_EQ(strings.size(), kStrings);
  const json::Array& variants = cases.Find("variants")->array();
  ASSERT_EQ(variants.size(), 29);
  const json::Array& first_ids = variants[0].Find("ids")->array();
  for (const json::Value& variant : variants) {
    SCOPED_TRACE(variant.Find("name")->string());
    const json::Value& sections = *variant.Find("sections");
    ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                         Tokenizer::FromJson(Variant(base, sections)));
    const Tokenizer::EncodeOptions options = {
        .add_special_tokens = sections.Find("post_processor") != nullptr};
    const size_t stride = ToNumber(variant.Find("stride")->number().text);
    const json::Array& recorded = variant.Find("ids")->array();
    ASSERT_EQ(recorded.size(), kStrings / stride);
    for (size_t i = 0; i < kStrings; i += stride) {
      SCOPED_TRACE(json::Escape(strings[i]).substr(0, 200));
      const json::Value& ids =
          recorded[i / stride].is_null() ? first_ids[i] : recorded[i / stride];
      EXPECT_THAT(tokenizer->Encode(strings[i], options),
                  testing::IsOkAndHolds(Expanded(ids.string())));
    }
  }
}

}  // namespace
}  // namespace omni
