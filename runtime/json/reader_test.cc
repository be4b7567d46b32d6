#include "runtime/json/reader.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "omni/v1/decision.pb.h"
#include "runtime/json/render.h"
#include "runtime/testing/status_matchers.h"

namespace omni::json {
namespace {

using ::omni::testing::HasReason;
using ::omni::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Dialect kDialects[] = {Dialect::kStrict, Dialect::kLaya};

std::string Nested(int depth, const std::string& open, const std::string& leaf,
                   const std::string& close) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  text += leaf;
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(ReaderTest, ReadsEveryKindOfValue) {
  for (const Dialect dialect : kDialects) {
    ASSERT_OK_AND_ASSIGN(
        const Value value,
        Read(" {\"n\":null,\"t\":true,\"f\":false,\"i\":-12,\"d\":1.50E+3,"
             "\"s\":\"x\",\"a\":[[],{}]}\r\n\t ",
             {.dialect = dialect}));
    const Value expected(Object{
        {"n", Value()},
        {"t", true},
        {"f", false},
        {"i", Number{"-12"}},
        {"d", Number{"1.50E+3"}},
        {"s", "x"},
        {"a", Array{Array{}, Object{}}},
    });
    EXPECT_EQ(value, expected);
  }
}

TEST(ReaderTest, ReadsAScalarAlone) {
  for (const Dialect dialect : kDialects) {
    const ReadOptions options{.dialect = dialect};
    EXPECT_THAT(Read("null", options), testing::IsOkAndHolds(Value()));
    EXPECT_THAT(Read("\"\"", options), testing::IsOkAndHolds(Value("")));
    EXPECT_THAT(Read("0", options), testing::IsOkAndHolds(Value(Number{"0"})));
  }
}

TEST(ReaderTest, RefusesWhatIsNotJson) {
  const struct {
    const char* name;
    std::string text;
  } cases[] = {
      {"empty", ""},
      {"only space", " \n"},
      {"byte-order mark", "\xef\xbb\xbf{}"},
      {"byte-order mark after space", " \xef\xbb\xbf{}"},
      {"byte-order mark at the end", "{}\xef\xbb\xbf"},
      {"UTF-16", std::string("{\0}\0", 4)},
      {"second value", "{} {}"},
      {"garbage", "{}x"},
      {"zero byte at the end", std::string("{}\0", 3)},
      {"form feed is no white space", "\f{}"},
      {"no-break space is no white space", "\xc2\xa0{}"},
      {"NaN", "NaN"},
      {"NaN inside", "[NaN]"},
      {"Infinity", "[Infinity]"},
      {"-Infinity", "[-Infinity]"},
      {"leading zero", "[01]"},
      {"leading zero after minus", "[-01]"},
      {"two zeros", "[00]"},
      {"plus", "[+1]"},
      {"minus alone", "[-]"},
      {"no digit before point", "[.5]"},
      {"no digit after point", "[1.]"},
      {"no digit after point, long", "[12345678901234567890.]"},
      {"point then exponent", "[1.e5]"},
      {"no exponent digits", "[1e]"},
      {"sign without exponent digits", "[1e+]"},
      {"hexadecimal", "[0x10]"},
      {"ends in number", "1."},
      {"ends in exponent", "1e"},
      {"ends in minus", "-"},
      {"trailing comma in array", "[1,]"},
      {"trailing comma in object", "{\"a\":1,}"},
      {"comma alone", "[,]"},
      {"no comma", "[1 2]"},
      {"no colon", "{\"a\" 1}"},
      {"key without quotes", "{a:1}"},
      {"key in single quotes", "{'a':1}"},
      {"number as key", "{1:1}"},
      {"no value", "{\"a\":}"},
      {"comment", "[/**/]"},
      {"line comment", "{} // x"},
      {"open array", "[1"},
      {"open object", "{\"a\":1"},
      {"open string", "\"a"},
      {"open escape", "\"a\\"},
      {"open unicode escape", "\"\\u00"},
      {"mismatched close", "[}"},
      {"word cut short", "nul"},
      {"word in capitals", "True"},
      {"word with tail", "nullx"},
      {"unknown escape", "\"\\x\""},
      {"bad hex digit", "\"\\u00g0\""},
      {"tab in string", "\"\t\""},
      {"line feed in string", "\"\n\""},
      {"zero byte in string", std::string("\"\0\"", 3)},
      {"control in key", "{\"\x1f\":1}"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    for (const Dialect dialect : kDialects) {
      EXPECT_THAT(Read(c.text, {.dialect = dialect}),
                  AllOf(StatusIs(absl::StatusCode::kInvalidArgument),
                        HasReason(v1::ErrorReason::MALFORMED_JSON)));
    }
  }
}

TEST(ReaderTest, DecodesEscapes) {
  const struct {
    const char* text;
    std::string value;
  } cases[] = {
      {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
      {"\"\\u0000\"", std::string(1, '\0')},
      {"\"\\u00e9\\u00E9\"", "éé"},
      {"\"\\ud7ff\\ue000\\uffff\"", "\ud7ff\ue000\uffff"},
      {"\"\\ud83d\\ude00\"", "😀"},
      {"\"\\uD83D\\uDE00 and more text behind it\"",
       "😀 and more text behind it"},
      {"\"\\udbff\\udfff\"", "\U0010ffff"},
      {"\"\x7f\"", "\x7f"},
      {"\"raw é猫😀\"", "raw é猫😀"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    for (const Dialect dialect : kDialects) {
      EXPECT_THAT(Read(c.text, {.dialect = dialect}),
                  testing::IsOkAndHolds(Value(c.value)));
    }
    // The same as a key.
    EXPECT_THAT(Read(absl::StrCat("{", c.text, ":0}")),
                testing::IsOkAndHolds(Value(Object{{c.value, Number{"0"}}})));
  }
}

TEST(ReaderTest, LongStringsWithEscapesArriveWhole) {
  std::string text = "\"";
  std::string expected;
  for (int i = 0; i < 5000; ++i) {
    text += "ab\\n\\ud83d\\ude00é";
    expected += "ab\n😀é";
  }
  EXPECT_THAT(Read(text + "\""), testing::IsOkAndHolds(Value(expected)));
}

TEST(ReaderTest, RefusesLoneSurrogates) {
  const char* const escapes[] = {
      "\\ud800",    "\\udbff",        "\\udc00",        "\\udfff",
      "\\uDC00",    "\\ude00\\ud83d", "\\ud800\\ud800", "\\ud83dx",
      "\\ud83d\\n", "\\ud83d\\u0041", "\\ud83d\\ue000", "\\ud83d\\ude0",
  };
  // The parser has a fast way for escapes far from the end of the text.
  for (const char* const tail : {"\"", " and far more text behind it\""}) {
    for (const char* const escape : escapes) {
      for (const Dialect dialect : kDialects) {
        const std::string text = absl::StrCat("\"x", escape, tail);
        SCOPED_TRACE(text);
        EXPECT_THAT(Read(text, {.dialect = dialect}),
                    HasReason(v1::ErrorReason::MALFORMED_JSON));
        EXPECT_THAT(Read(absl::StrCat("{", text, ":0}"), {.dialect = dialect}),
                    HasReason(v1::ErrorReason::MALFORMED_JSON));
      }
    }
  }
}

// Whether `bytes` is one well-formed character, after table 3-7 of the Unicode
// standard.
bool IsOneCharacter(const std::string& bytes) {
  const auto in = [&bytes](size_t i, int low, int high) {
    const int byte = static_cast<unsigned char>(bytes[i]);
    return byte >= low && byte <= high;
  };
  switch (bytes.size()) {
    case 2:
      return in(0, 0xC2, 0xDF) && in(1, 0x80, 0xBF);
    case 3:
      return in(2, 0x80, 0xBF) && ((in(0, 0xE0, 0xE0) && in(1, 0xA0, 0xBF)) ||
                                   (in(0, 0xE1, 0xEC) && in(1, 0x80, 0xBF)) ||
                                   (in(0, 0xED, 0xED) && in(1, 0x80, 0x9F)) ||
                                   (in(0, 0xEE, 0xEF) && in(1, 0x80, 0xBF)));
    case 4:
      return in(2, 0x80, 0xBF) && in(3, 0x80, 0xBF) &&
             ((in(0, 0xF0, 0xF0) && in(1, 0x90, 0xBF)) ||
              (in(0, 0xF1, 0xF3) && in(1, 0x80, 0xBF)) ||
              (in(0, 0xF4, 0xF4) && in(1, 0x80, 0x8F)));
    default:
      return false;
  }
}

TEST(ReaderTest, AcceptsExactlyWellFormedUtf8) {
  std::vector<std::string> sequences;
  for (int a = 0x80; a < 0x100; ++a) {
    sequences.push_back({static_cast<char>(a)});
    for (const int b : {0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0}) {
      sequences.push_back({static_cast<char>(a), static_cast<char>(b)});
      for (const int c : {0x7F, 0x80, 0xBF, 0xC0}) {
        sequences.push_back(
            {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c)});
        for (const int d : {0x7F, 0x80, 0xBF, 0xC0}) {
          sequences.push_back({static_cast<char>(a), static_cast<char>(b),
                               static_cast<char>(c), static_cast<char>(d)});
        }
      }
    }
  }
  // Whole characters one after the other and characters with ASCII behind them
  // are well-formed too.
  const auto is_text = [](std::string bytes) {
    while (!bytes.empty()) {
      size_t size = 1;
      if (static_cast<unsigned char>(bytes[0]) >= 0x80) {
        while (size <= bytes.size() && !IsOneCharacter(bytes.substr(0, size))) {
          ++size;
        }
        if (size > bytes.size()) return false;
      }
      bytes.erase(0, size);
    }
    return true;
  };
  // The parser takes different ways at the end of the text, far from it, and
  // behind an escape.
  const std::string far(40, 'x');
  for (const std::string& bytes : sequences) {
    const bool valid = is_text(bytes);
    const std::string texts[] = {
        absl::StrCat("\"", bytes, "\""),
        absl::StrCat("\"", far, bytes, far, "\""),
        absl::StrCat("\"\\n", bytes, "\""),
        absl::StrCat("\"\\n", bytes, far, "\""),
    };
    for (const std::string& text : texts) {
      ASSERT_EQ(Read(text).ok(), valid) << Escape(text);
    }
  }
}

TEST(ReaderTest, CountsContainersUpTo127) {
  const struct {
    const char* open;
    const char* close;
  } shapes[] = {{"[", "]"}, {"{\"a\":", "}"}};
  for (const auto& shape : shapes) {
    for (const Dialect dialect : kDialects) {
      const auto read = [&](int depth, int outer_depth) {
        return Read(Nested(depth, shape.open, "1", shape.close),
                    {.dialect = dialect, .outer_depth = outer_depth});
      };
      EXPECT_OK(read(127, 0));
      EXPECT_THAT(read(128, 0), HasReason(v1::ErrorReason::MALFORMED_JSON));
      EXPECT_OK(read(123, 4));
      EXPECT_THAT(read(124, 4), HasReason(v1::ErrorReason::MALFORMED_JSON));
      // Only containers count.
      EXPECT_OK(read(0, 127));
      EXPECT_THAT(read(1, 127), HasReason(v1::ErrorReason::MALFORMED_JSON));
      EXPECT_THAT(read(1000000, 0), HasReason(v1::ErrorReason::MALFORMED_JSON));
    }
  }
  // Depth is what is open, not what was.
  EXPECT_OK(Read("[" + Nested(126, "[", "", "]") + "," +
                 Nested(126, "[", "", "]") + "]"));
}

TEST(ReaderTest, StrictRefusesRepeatedKeysAtAnyDepth) {
  for (const char* const text :
       {"{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":2}", "{\"\":1,\"\":2}",
        "[{\"a\":{\"b\":1,\"c\":2,\"b\":3}}]"}) {
    SCOPED_TRACE(text);
    EXPECT_THAT(Read(text), AllOf(StatusIs(absl::StatusCode::kInvalidArgument),
                                  HasReason(v1::ErrorReason::DUPLICATE_KEY)));
  }
  // No normalization: these are two keys.
  EXPECT_OK(Read("{\"\\u00e9\":1,\"e\\u0301\":2,\"A\":3,\"a\":4}"));
  EXPECT_OK(Read("[{\"a\":1},{\"a\":1}]"));
}

TEST(ReaderTest, LayaRefusesRepeatedKeysOnlyAtTheTop) {
  const auto read = [](std::string_view text, int outer_depth = 0) {
    return Read(text, {.dialect = Dialect::kLaya, .outer_depth = outer_depth});
  };
  EXPECT_THAT(read("{\"a\":1,\"b\":2,\"a\":3}"),
              HasReason(v1::ErrorReason::DUPLICATE_KEY));
  const Value merged(Object{{"a", Number{"4"}}, {"b", Number{"2"}}});
  const char* const repeated = "{\"a\":1,\"b\":2,\"a\":3,\"a\":4}";
  EXPECT_THAT(read(absl::StrCat("{\"q\":", repeated, "}")),
              testing::IsOkAndHolds(Value(Object{{"q", merged}})));
  EXPECT_THAT(read(absl::StrCat("[", repeated, "]")),
              testing::IsOkAndHolds(Value(Array{merged})));
  // A value inside a request is below the request's top.
  EXPECT_THAT(read(repeated, 1), testing::IsOkAndHolds(merged));
}

TEST(ReaderTest, LayaMergesRepeatedKeysOfLargeObjects) {
  std::string text = "{";
  Object expected;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, "\"k", i, "\":1,");
  for (int i = 0; i < 1000; i += 3) absl::StrAppend(&text, "\"k", i, "\":2,");
  text += "\"end\":3}";
  for (int i = 0; i < 1000; ++i) {
    expected.emplace_back(absl::StrCat("k", i), Number{i % 3 == 0 ? "2" : "1"});
  }
  expected.emplace_back("end", Number{"3"});
  EXPECT_THAT(Read(text, {.dialect = Dialect::kLaya, .outer_depth = 1}),
              testing::IsOkAndHolds(Value(expected)));
  EXPECT_THAT(Read(text), HasReason(v1::ErrorReason::DUPLICATE_KEY));
}

TEST(ReaderTest, KeysOfLargeObjectsAreNotComparedPairByPair) {
  // Pair by pair this is 45 billion comparisons: the test would time out.
  constexpr int kKeys = 300000;
  std::string text = "{";
  for (int i = 0; i < kKeys; ++i) absl::StrAppend(&text, "\"", i, "\":0,");
  ASSERT_OK_AND_ASSIGN(const Value value, Read(text + "\"x\":0}"));
  EXPECT_EQ(value.object().size(), size_t{kKeys + 1});
  EXPECT_THAT(Read(text + "\"7\":0}"),
              HasReason(v1::ErrorReason::DUPLICATE_KEY));
}

TEST(ReaderTest, NumbersKeepTheirSpelling) {
  const std::string digits(400, '7');
  const std::string numbers[] = {
      "0",
      "-0",
      "-0.0",
      "0e0",
      "0E-000",
      "9223372036854775807",
      "-9223372036854775808",
      "18446744073709551615",
      "18446744073709551616",
      "-9223372036854775809",
      "123456789012345678901234567890",
      "1.50",
      "1e5",
      "1E+05",
      "0.1e1",
      "12345678901234567.12345678901234567e-3",
      "1.7976931348623157e308",
      "5e-324",
      // Too small for a double is zero, however it is spelled.
      "1e-400",
      "-1e-400",
      "1e-99999999999999999999",
      "0e99999999999999999999",
      "0." + std::string(400, '0') + "1",
      digits + "e-399",
      "0.00" + digits,
  };
  for (const std::string& number : numbers) {
    SCOPED_TRACE(number);
    for (const Dialect dialect : kDialects) {
      const ReadOptions options{.dialect = dialect};
      EXPECT_THAT(Read(number, options),
                  testing::IsOkAndHolds(Value(Number{number})));
      // The parser has a fast way for numbers far from the end of the text.
      const std::string tail(50, 'x');
      EXPECT_THAT(Read(absl::StrCat("[", number, ",\"", tail, "\"]"), options),
                  testing::IsOkAndHolds(Value(Array{Number{number}, tail})));
    }
  }
}

TEST(ReaderTest, HugeExponentsLeaveTheRestOfTheTextAlone) {
  const std::string text =
      "[\"1e-9999999999\\\"e-9999999999\", 1e-9999999999, true, "
      "1e-0000000000001]";
  const Value expected(Array{"1e-9999999999\"e-9999999999",
                             Number{"1e-9999999999"}, true,
                             Number{"1e-0000000000001"}});
  EXPECT_THAT(Read(text), testing::IsOkAndHolds(expected));
  EXPECT_THAT(Read("[1e-9999999999, 1e]"),
              HasReason(v1::ErrorReason::MALFORMED_JSON));
}

TEST(ReaderTest, RefusesNumbersBeyondDoubleRange) {
  const std::string digits(400, '7');
  const std::string numbers[] = {
      "1e400",
      "-1e400",
      "1e309",
      "1.7976931348623159e308",
      "1e9999999999",
      "-1E+99999999999999999999",
      digits + ".0",
      digits + "e0",
      "0." + digits + "e309",
  };
  for (const std::string& number : numbers) {
    SCOPED_TRACE(number);
    for (const Dialect dialect : kDialects) {
      EXPECT_THAT(Read(absl::StrCat("[", number, "]"), {.dialect = dialect}),
                  HasReason(v1::ErrorReason::MALFORMED_JSON));
    }
  }
}

TEST(ReaderTest, OnlyLayaTakesIntegersBeyondDoubleRange) {
  for (const std::string sign : {"", "-"}) {
    const std::string number = sign + std::string(400, '7');
    EXPECT_THAT(Read(number), HasReason(v1::ErrorReason::MALFORMED_JSON));
    EXPECT_THAT(Read(number, {.dialect = Dialect::kLaya}),
                testing::IsOkAndHolds(Value(Number{number})));
    // The largest one that is a double.
    const std::string large = sign + std::string(308, '9');
    EXPECT_THAT(Read(large), testing::IsOkAndHolds(Value(Number{large})));
  }
}

TEST(ReaderTest, ErrorsNameTheByteAndNeverTheText) {
  EXPECT_THAT(Read("{\"secret\": tru}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("byte 11"), Not(HasSubstr("tru")),
                             Not(HasSubstr("secret")))));
  EXPECT_THAT(Read("{} secret"), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("byte 3")));
  EXPECT_THAT(Read("[{\"secret\":1,\"secret\":2}]"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("byte 23"), Not(HasSubstr("secret")))));
  EXPECT_THAT(Read("[1, 1e400]"), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("byte 9")));
  EXPECT_THAT(Read("[1, "), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("byte 4")));
  const auto too_deep = Read(Nested(200, "[", "", "]"));
  EXPECT_THAT(too_deep, StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("byte 127")));
  EXPECT_EQ(ErrorInfoOf(too_deep.status())->metadata().at("limit"), "127");
}

}  // namespace
}  // namespace omni::json
