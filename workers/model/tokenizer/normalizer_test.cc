#include "workers/model/tokenizer/normalizer.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/reader.h"
#include "runtime/testing/status_matchers.h"

namespace omni::tokenizer {
namespace {

using ::omni::testing::IsOkAndHolds;
using ::omni::testing::StatusIs;
using ::testing::HasSubstr;

absl::StatusOr<Normalizer> FromText(const std::string& text) {
  ASSIGN_OR_RETURN(const json::Value section, json::Read(text));
  return Normalizer::FromJson(&section);
}

TEST(NormalizerTest, WithoutSectionTextStaysAsItIs) {
  ASSERT_OK_AND_ASSIGN(const Normalizer none, Normalizer::FromJson(nullptr));
  EXPECT_THAT(none.Normalize("e\u0301 \ufb01"), IsOkAndHolds("e\u0301 \ufb01"));
}

TEST(NormalizerTest, EachFormIsTheUnicodeOne) {
  const std::string text = "e\u0301 \u00e9 \ufb01 \u212b a\u0302\u0323 \ud55c";
  const struct {
    const char* form;
    const char* expected;
  } kCases[] = {
      {"NFC", "\u00e9 \u00e9 \ufb01 \u00c5 \u1ead \ud55c"},
      {"NFD",
       "e\u0301 e\u0301 \ufb01 A\u030a a\u0323\u0302 \u1112\u1161\u11ab"},
      {"NFKC", "\u00e9 \u00e9 fi \u00c5 \u1ead \ud55c"},
      {"NFKD", "e\u0301 e\u0301 fi A\u030a a\u0323\u0302 \u1112\u1161\u11ab"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.form);
    ASSERT_OK_AND_ASSIGN(
        const Normalizer normalizer,
        FromText(std::string("{\"type\": \"") + c.form + "\"}"));
    EXPECT_THAT(normalizer.Normalize(text), IsOkAndHolds(c.expected));
    EXPECT_THAT(normalizer.Normalize(c.expected), IsOkAndHolds(c.expected));
    EXPECT_THAT(normalizer.Normalize(""), IsOkAndHolds(""));
  }
}

TEST(NormalizerTest, SequenceAppliesItsPartsInOrder) {
  ASSERT_OK_AND_ASSIGN(const Normalizer normalizer,
                       FromText(R"({"type": "Sequence", "normalizers": [
          {"type": "NFKD"},
          {"type": "Sequence", "normalizers": [{"type": "NFC"}]}]})"));
  EXPECT_THAT(normalizer.Normalize("\ufb01\u00e9"), IsOkAndHolds("fi\u00e9"));
}

TEST(NormalizerTest, OtherTypesAreRefusedByName) {
  EXPECT_THAT(FromText(R"({"type": "Lowercase"})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "normalizer: type \"Lowercase\" is not served"));
  EXPECT_THAT(FromText(R"({"type": "Sequence", "normalizers": [
                  {"type": "NFC"}, {"type": "StripAccents"}]})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("normalizer.normalizers[1]")));
  EXPECT_THAT(FromText("{}"), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("\"type\"")));
  EXPECT_THAT(FromText("[]"), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace omni::tokenizer
