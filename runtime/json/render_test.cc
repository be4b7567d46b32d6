#include "runtime/json/render.h"

#include <cmath>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/testing/status_matchers.h"

namespace omni::json {
namespace {

TEST(PythonReprTest, WritesTheShortestDigitsInPythonsLayout) {
  const struct {
    double value;
    const char* repr;
  } cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-1.5, "-1.5"},
      {100.0, "100.0"},
      {123456.789, "123456.789"},
      {0.1, "0.1"},
      {1.0 / 3.0, "0.3333333333333333"},
      {1e15, "1000000000000000.0"},
      {1331752170181752.2, "1331752170181752.2"},
      {9999999999999998.0, "9999999999999998.0"},
      {1e16, "1e+16"},
      {1.2345678901234567e16, "1.2345678901234568e+16"},
      {1e21, "1e+21"},
      {1e100, "1e+100"},
      {1e-4, "0.0001"},
      {1.5e-4, "0.00015"},
      {1e-5, "1e-05"},
      {-1.5e-7, "-1.5e-07"},
      {3.14e-7, "3.14e-07"},
      {1e-100, "1e-100"},
      {5e-324, "5e-324"},
      {std::numeric_limits<double>::min(), "2.2250738585072014e-308"},
      {std::numeric_limits<double>::max(), "1.7976931348623157e+308"},
      {-std::numeric_limits<double>::max(), "-1.7976931348623157e+308"},
      {18446744073709551616.0, "1.8446744073709552e+19"},
  };
  for (const auto& c : cases) EXPECT_EQ(PythonRepr(c.value), c.repr);
}

TEST(EscapeTest, EscapesWhatPythonEscapes) {
  EXPECT_EQ(Escape("a\"b\\c/d"), "a\\\"b\\\\c/d");
  EXPECT_EQ(Escape("\b\f\n\r\t"), "\\b\\f\\n\\r\\t");
  EXPECT_EQ(Escape(std::string("\0\x01\x0b\x1f\x20\x7f", 6)),
            "\\u0000\\u0001\\u000b\\u001f \x7f");
  EXPECT_EQ(Escape("é猫\u2028😀"), "é猫\u2028😀");
}

TEST(DumpTest, SeparatesAsPythonDoes) {
  const Value value(Object{
      {"a", Array{Number{"1.5"}, "é"}},
      {"", Object{{"t", true}, {"f", false}, {"n", Value()}}},
      {"empty", Array{Object{}, Array{}, ""}},
  });
  EXPECT_EQ(Dump(value, Dialect::kStrict),
            "{\"a\": [1.5, \"é\"], \"\": {\"t\": true, \"f\": false, "
            "\"n\": null}, \"empty\": [{}, [], \"\"]}");
}

TEST(DumpTest, SortsKeysByCodePointAtEveryLevel) {
  // U+FF5E sorts before U+1F600 by code point, but not by UTF-16 unit.
  const Value value(Object{
      {"😀", true},
      {"～", Object{{"b", Array{Object{{"z", "1"}, {"a", "2"}}}}, {"B", "3"}}},
      {"é", "4"},
      {"z", "5"},
      {"", "6"},
  });
  EXPECT_EQ(Dump(value, Dialect::kStrict, KeyOrder::kSorted),
            "{\"\": \"6\", \"z\": \"5\", \"é\": \"4\", \"～\": {\"B\": \"3\", "
            "\"b\": [{\"a\": \"2\", \"z\": \"1\"}]}, \"😀\": true}");
}

TEST(DumpTest, SpellsNumbersByDialect) {
  const struct {
    const char* text;
    const char* strict;
    const char* laya;
  } cases[] = {
      {"0", "0", "0"},
      {"-0", "-0.0", "-0"},
      {"-7", "-7", "-7"},
      {"9223372036854775808", "9223372036854775808", "9223372036854775808"},
      {"18446744073709551615", "18446744073709551615", "18446744073709551615"},
      {"18446744073709551616", "1.8446744073709552e+19",
       "18446744073709551616"},
      {"-9223372036854775808", "-9223372036854775808", "-9223372036854775808"},
      {"-9223372036854775809", "-9.223372036854776e+18",
       "-9223372036854775809"},
      {"1.0", "1.0", "1.0"},
      {"1.50", "1.5", "1.5"},
      {"1E2", "100.0", "100.0"},
      {"1e16", "1e+16", "1e+16"},
      {"-0.0", "-0.0", "-0.0"},
      {"-0e5", "-0.0", "-0.0"},
      {"1e-5", "1e-05", "1e-05"},
      {"1e-400", "0.0", "0.0"},
      {"-1e-400", "-0.0", "-0.0"},
      // Half way between two doubles, and a hair above: rounding is exact.
      {"9007199254740993.0", "9007199254740992.0", "9007199254740992.0"},
      {"9007199254740993.00000000000000000000000000000000001",
       "9007199254740994.0", "9007199254740994.0"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(Dump(Number{c.text}, Dialect::kStrict), c.strict);
    EXPECT_EQ(Dump(Number{c.text}, Dialect::kLaya), c.laya);
    EXPECT_EQ(DumpVerbatim(Number{c.text}), c.text);
  }
}

TEST(RenderTest, OnlyAStringAtTheTopIsBare) {
  EXPECT_EQ(Render("a \"b\"\n", Dialect::kStrict), "a \"b\"\n");
  EXPECT_EQ(Render(Array{"a"}, Dialect::kStrict), "[\"a\"]");
  EXPECT_EQ(Render(Value(), Dialect::kStrict), "null");
  EXPECT_EQ(Render(Object{{"b", true}, {"a", false}}, Dialect::kStrict,
                   KeyOrder::kSorted),
            "{\"a\": false, \"b\": true}");
}

TEST(RenderTest, KeepsKeyOrderThroughTheReader) {
  ASSERT_OK_AND_ASSIGN(
      const Value value,
      Read("{\"z\":1,\"a\":{\"10\":[],\"9\":{}},\"m\":\"\\u00e9\\/\"}"));
  EXPECT_EQ(Render(value, Dialect::kStrict),
            "{\"z\": 1, \"a\": {\"10\": [], \"9\": {}}, \"m\": \"é/\"}");
}

}  // namespace
}  // namespace omni::json
