// Reads the reference data, where there is any.

#include "runtime/testing/reference_data.h"

#include <sstream>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/json/json_file.h"
#include "runtime/json/reader.h"
#include "runtime/json/render.h"
#include "runtime/json/system_one.h"
#include "runtime/testing/status_matchers.h"

namespace omni::json {
namespace {

using ::omni::testing::IsOkAndHolds;

constexpr Dialect kDialects[] = {Dialect::kStrict, Dialect::kLaya};

class ReferenceDataTest : public omni::testing::ReferenceDataTest {
 protected:
  std::string Text(const std::string& name) const {
    const absl::StatusOr<std::string> text = ReadFile(Path(name), 1 << 24);
    EXPECT_OK(text);
    return text.value_or("");
  }
};

TEST_F(ReferenceDataTest, RendersStatesAsTheModelSawThem) {
  for (const Dialect dialect : kDialects) {
    ASSERT_OK_AND_ASSIGN(const Value cases,
                         Read(Text("laya-golden/serialization_cases.json"),
                              {.dialect = dialect}));
    ASSERT_FALSE(cases.array().empty());
    for (const Value& c : cases.array()) {
      ASSERT_OK_AND_ASSIGN(const Value value, Read(c.Find("raw_json")->string(),
                                                   {.dialect = dialect}));
      EXPECT_EQ(value, *c.Find("value"));
      EXPECT_EQ(Render(value, dialect), c.Find("rendered")->string());
    }
  }
}

TEST_F(ReferenceDataTest, RendersStatesOfDecisionsAsTheModelSawThem) {
  ASSERT_OK_AND_ASSIGN(const Value cases,
                       Read(Text("laya-golden/typed_decisions_cases.json")));
  ASSERT_FALSE(cases.array().empty());
  for (const Value& c : cases.array()) {
    EXPECT_EQ(Render(*c.Find("state"), Dialect::kLaya),
              c.Find("serialized_state")->string());
  }
}

// FromRequest writes what noul means in its own order.
Value TrueBeforeFalse(Value value) {
  if (value.is_array()) {
    for (Value& element : value.array()) {
      element = TrueBeforeFalse(std::move(element));
    }
  } else if (value.is_object()) {
    Object& members = value.object();
    if (members.size() == 2 && members[0].first == "false" &&
        members[1].first == "true") {
      std::swap(members[0], members[1]);
    }
    for (auto& [key, member] : members) {
      member = TrueBeforeFalse(std::move(member));
    }
  }
  return value;
}

TEST_F(ReferenceDataTest, RequestsSurviveTheTypedForm) {
  std::istringstream lines(Text("request-load/requests.jsonl"));
  int requests = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    ++requests;
    SCOPED_TRACE(requests);
    for (const Dialect dialect : kDialects) {
      ASSERT_OK_AND_ASSIGN(const Value entry, Read(line, {.dialect = dialect}));
      ASSERT_NE(entry.Find("request"), nullptr);
      const Value& request = *entry.Find("request");
      ASSERT_OK_AND_ASSIGN(const v1::DecideRequest typed,
                           ToRequest(request, dialect));
      EXPECT_THAT(FromRequest(typed, dialect),
                  IsOkAndHolds(TrueBeforeFalse(request)));
    }
  }
  EXPECT_GT(requests, 0);
}

}  // namespace
}  // namespace omni::json
