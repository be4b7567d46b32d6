#include "runtime/json/value.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace omni::json {
namespace {

TEST(ValueTest, KnowsItsType) {
  EXPECT_TRUE(Value().is_null());
  EXPECT_TRUE(Value(false).is_bool());
  EXPECT_TRUE(Value(Number{"1"}).is_number());
  EXPECT_TRUE(Value("text").is_string());
  EXPECT_TRUE(Value(Array{}).is_array());
  EXPECT_TRUE(Value(Object{}).is_object());
}

TEST(ValueTest, FindTakesTheLastMemberOfAName) {
  const Value value(Object{{"a", "first"}, {"b", true}, {"a", "last"}});
  ASSERT_NE(value.Find("a"), nullptr);
  EXPECT_EQ(value.Find("a")->string(), "last");
  EXPECT_EQ(value.Find("c"), nullptr);
  EXPECT_EQ(Value("a").Find("a"), nullptr);
}

TEST(ValueTest, EqualityHeedsOrderAndSpelling) {
  const Value value(Object{{"a", Number{"1.0"}}, {"b", Array{Value(), "x"}}});
  EXPECT_EQ(value, Value(value));
  const Value others[] = {
      Object{{"b", Array{Value(), "x"}}, {"a", Number{"1.0"}}},
      Object{{"a", Number{"1"}}, {"b", Array{Value(), "x"}}},
      Object{{"a", "1.0"}, {"b", Array{Value(), "x"}}},
      Object{{"a", Number{"1.0"}}, {"b", Array{"x", Value()}}},
      Object{{"a", Number{"1.0"}}},
  };
  for (const Value& other : others) EXPECT_FALSE(value == other);
}

}  // namespace
}  // namespace omni::json
