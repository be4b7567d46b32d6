#include "runtime/json/system_one.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/base/request_error.h"
#include "runtime/json/render.h"
#include "runtime/testing/status_matchers.h"

namespace omni::json {
namespace {

using ::omni::testing::HasReason;
using ::omni::testing::IsOkAndHolds;
using ::omni::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

v1::DecideRequest Request(const std::string& text) {
  v1::DecideRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request));
  return request;
}

v1::DecideResponse Response(const std::string& text) {
  v1::DecideResponse response;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &response));
  return response;
}

// The JSON form as one line.
absl::StatusOr<std::string> Line(const v1::DecideRequest& request,
                                 Dialect dialect = Dialect::kStrict) {
  absl::StatusOr<Value> value = FromRequest(request, dialect);
  if (!value.ok()) return value.status();
  return DumpVerbatim(*value);
}

std::string Nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

// A request with `content` in one place after the other.
const struct {
  const char* name;
  const char* before;
  const char* after;
  int outer_depth;
} kPlaces[] = {
    {"state", "state { ", " }", 1},
    {"instructions", "questions { id: 'q' instructions { ", " } }", 3},
    {"option", "questions { id: 'q' choice { options { description { ",
     " } } } }", 4},
    {"level", "questions { id: 'q' score { levels { ", " } } }", 4},
    {"yes", "questions { id: 'q' noul { when_true { ", " } } }", 4},
    {"no", "questions { id: 'q' noul { when_false { ", " } } }", 4},
};

TEST(FromRequestTest, WritesWhatIsSetInOrder) {
  EXPECT_THAT(
      Line(Request(R"(
        model: "m"
        state { raw_json: '{"z": 1.0, "a": [12345678901234567890123]}' }
        questions {
          id: "z" instructions { text: "go?" }
          choice {
            options { label: "b" description { text: "" } }
            options { label: "a" description { null {} } }
            options { label: "c" }
            options { label: "" description { raw_json: "[]" } }
          }
        }
        questions {
          id: "" instructions { null {} }
          score { levels { text: "low" } levels { raw_json: '{"x": 1}' } levels {} }
        }
        questions {
          id: "n" instructions { raw_json: "\"text\"" }
          noul {
            when_true { text: "y" } when_false { null {} }
            label_true: "ja" label_false: "nein"
          }
        }
        questions { id: "bare" noul {} }
        questions { id: "one" noul { when_false { text: "n" } label_true: "t" } }
        questions { id: "none" choice {} }
        questions { id: "untyped" instructions { raw_json: "null" } }
        lang: "en"
      )")),
      IsOkAndHolds(std::string(
          R"({"model": "m", "state": {"z": 1.0, "a": [12345678901234567890123]}, )"
          R"("questions": {)"
          R"("z": {"type": "choice", "instructions": "go?", )"
          R"("criteria": {"b": "", "a": null, "c": null, "": []}}, )"
          R"("": {"type": "score", "instructions": null, )"
          R"("criteria": ["low", {"x": 1}, null]}, )"
          R"("n": {"type": "noul", "instructions": "text", )"
          R"("criteria": {"true": "y", "false": null}, )"
          R"("labels": {"false": "nein", "true": "ja"}}, )"
          R"("bare": {"type": "noul"}, )"
          R"("one": {"type": "noul", "criteria": {"false": "n"}, )"
          R"("labels": {"true": "t"}}, )"
          R"("none": {"type": "choice", "criteria": {}}, )"
          R"("untyped": {"instructions": null}}, "lang": "en"})")));
}

TEST(FromRequestTest, AbsentFieldsGetNoMember) {
  EXPECT_THAT(Line(v1::DecideRequest()),
              IsOkAndHolds(std::string(R"({"questions": {}})")));
  EXPECT_THAT(Line(Request("state {} questions { id: 'q' instructions {} }")),
              IsOkAndHolds(std::string(R"({"questions": {"q": {}}})")));
  EXPECT_THAT(
      Line(Request("model: '' state { text: '' } lang: ''")),
      IsOkAndHolds(std::string(
          R"({"model": "", "state": "", "questions": {}, "lang": ""})")));
}

TEST(FromRequestTest, CountsTheContainersOfTheJsonForm) {
  for (const auto& place : kPlaces) {
    SCOPED_TRACE(place.name);
    const int room = kMaxDepth - place.outer_depth;
    const auto request = [&](int depth) {
      return Request(absl::StrCat(place.before, "raw_json: '", Nested(depth),
                                  "'", place.after));
    };
    absl::StatusOr<std::string> line = Line(request(room));
    ASSERT_OK(line);
    // Exactly what the JSON form allows.
    EXPECT_OK(Read(*line));
    EXPECT_THAT(Line(request(room + 1)),
                HasReason(v1::ErrorReason::MALFORMED_JSON));
  }
}

TEST(FromRequestTest, BadRawJsonIsRefusedWhereverItIs) {
  const struct {
    const char* raw_json;
    v1::ErrorReason::Value reason;
  } cases[] = {
      {"", v1::ErrorReason::MALFORMED_JSON},
      {"{secret}", v1::ErrorReason::MALFORMED_JSON},
      {"[1e400]", v1::ErrorReason::MALFORMED_JSON},
      {"\\\"\\377\\\"", v1::ErrorReason::MALFORMED_JSON},
      {"{\\\"secret\\\":1,\\\"secret\\\":2}", v1::ErrorReason::DUPLICATE_KEY},
  };
  for (const auto& place : kPlaces) {
    for (const auto& c : cases) {
      SCOPED_TRACE(absl::StrCat(place.name, ": ", c.raw_json));
      const auto status =
          FromRequest(Request(absl::StrCat(place.before, "raw_json: \"",
                                           c.raw_json, "\"", place.after)),
                      Dialect::kStrict)
              .status();
      EXPECT_THAT(status, HasReason(c.reason));
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                   Not(HasSubstr("secret"))));
      const auto metadata = ErrorInfoOf(status)->metadata();
      EXPECT_EQ(metadata.count("question"), place.outer_depth == 1 ? 0u : 1u);
    }
  }
}

TEST(FromRequestTest, LayaMergesRepeatedKeysOfContent) {
  EXPECT_THAT(Line(Request(R"(state { raw_json: '{"a":1,"b":2,"a":3}' })"),
                   Dialect::kLaya),
              IsOkAndHolds(std::string(
                  R"({"state": {"a": 3, "b": 2}, "questions": {}})")));
}

TEST(FromRequestTest, RefusesRepeatedIdsAndLabelsInBothDialects) {
  for (const Dialect dialect : {Dialect::kStrict, Dialect::kLaya}) {
    EXPECT_THAT(Line(Request("questions { id: 'a' } questions { id: 'b' } "
                             "questions { id: 'a' }"),
                     dialect),
                HasReason(v1::ErrorReason::DUPLICATE_KEY));
    const auto status = Line(Request(R"(questions { id: 'a' choice {
                                 options { label: "secret" }
                                 options { label: "x" }
                                 options { label: "secret" } } })"),
                             dialect)
                            .status();
    EXPECT_THAT(status, HasReason(v1::ErrorReason::DUPLICATE_KEY));
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("option 2"),
                                       Not(HasSubstr("secret")))));
    // Two questions may have the same labels.
    EXPECT_OK(Line(Request("questions { id: 'a' choice { options { label: 'x' "
                           "} } } questions { id: 'b' choice { options { "
                           "label: 'x' } } }"),
                   dialect));
  }
}

TEST(ToRequestTest, FromRequestGivesTheSameValueAgain) {
  const struct {
    const char* text;
    Dialect dialect;
  } cases[] = {
      {R"({"questions": {}})", Dialect::kStrict},
      {R"({"model": "m", "state": "", "questions": {"": {}}})",
       Dialect::kStrict},
      {R"({"state": null, "questions": {"q": {"instructions": null}}})",
       Dialect::kStrict},
      {R"({"state": {"z": [1.50, -0, 1E5, 123456789012345678901234567890],
           "a": {"10": true, "9": false}}, "questions": {}})",
       Dialect::kStrict},
      {R"({"state": 5, "questions": {"q": {"type": "choice",
           "instructions": true, "criteria": {"b": "B", "a": null, "": "",
           "é": {"z": 1, "a": 2.0}, "l": [null], "n": 7, "f": false}}}})",
       Dialect::kStrict},
      {R"({"state": [], "questions": {"q": {"type": "score",
           "instructions": ["x"], "criteria": ["a", {"b": 1}, ["c"], null,
           0.10, ""]}, "r": {"type": "score", "criteria": []}}})",
       Dialect::kStrict},
      {R"({"state": {}, "questions": {
           "a": {"type": "noul", "instructions": "i"},
           "b": {"type": "noul", "criteria": {"true": "t", "false": null}},
           "c": {"type": "noul", "criteria": {"true": {"x": 1}}},
           "d": {"type": "noul", "criteria": {"false": [1.0]}}}})",
       Dialect::kStrict},
      {R"({"state": false, "questions": {"a": {"type": "noul",
           "instructions": 1e2, "labels": {"false": "nein", "true": "ja"}}},
           "lang": "en"})",
       Dialect::kLaya},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    ASSERT_OK_AND_ASSIGN(const Value value,
                         Read(c.text, {.dialect = c.dialect}));
    ASSERT_OK_AND_ASSIGN(const v1::DecideRequest request,
                         ToRequest(value, c.dialect));
    // What goes over the wire comes back.
    v1::DecideRequest received;
    ASSERT_TRUE(received.ParseFromString(request.SerializeAsString()));
    EXPECT_THAT(Line(received, c.dialect), IsOkAndHolds(DumpVerbatim(value)));
    EXPECT_THAT(FromRequest(received, c.dialect), IsOkAndHolds(value));
  }
}

TEST(ToRequestTest, FormsThatMeanTheSameBecomeOne) {
  const struct {
    const char* name;
    const char* text;
    Dialect dialect;
    const char* same;
  } cases[] = {
      {"null is absent",
       R"({"model": null, "lang": null, "questions": {"q": {"type": "noul",
           "criteria": null, "labels": null}}})",
       Dialect::kLaya, R"({"questions": {"q": {"type": "noul"}}})"},
      {"unknown fields",
       R"({"x": 1, "lang": 2, "questions": {"q": {"y": 3, "type": "choice",
           "labels": 4, "criteria": {}}}})",
       Dialect::kStrict,
       R"({"questions": {"q": {"type": "choice", "criteria": {}}}})"},
      {"order of fields",
       R"({"questions": {"q": {"criteria": {"false": "n", "true": "y"},
           "instructions": "i", "type": "noul"}}, "state": "s", "model": "m"})",
       Dialect::kStrict,
       R"({"model": "m", "state": "s", "questions": {"q": {"type": "noul", )"
       R"("instructions": "i", "criteria": {"true": "y", "false": "n"}}}})"},
      {"labels in a list",
       R"({"questions": {"q": {"type": "choice",
           "criteria": ["b", "a", "b"]}}})",
       Dialect::kLaya,
       R"({"questions": {"q": {"type": "choice", )"
       R"("criteria": {"b": null, "a": null}}}})"},
      {"capitals",
       R"({"questions": {"q": {"type": "noul",
           "criteria": {"FALSE": "n", "True": "y"}}}})",
       Dialect::kLaya,
       R"({"questions": {"q": {"type": "noul", )"
       R"("criteria": {"true": "y", "false": "n"}}}})"},
      {"empty criteria",
       R"({"questions": {"q": {"type": "noul", "criteria": {}}}})",
       Dialect::kLaya, R"({"questions": {"q": {"type": "noul"}}})"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    ASSERT_OK_AND_ASSIGN(const Value value,
                         Read(c.text, {.dialect = c.dialect}));
    ASSERT_OK_AND_ASSIGN(const v1::DecideRequest request,
                         ToRequest(value, c.dialect));
    EXPECT_THAT(Line(request, c.dialect), IsOkAndHolds(std::string(c.same)));
  }
}

TEST(ToRequestTest, RefusesWhatTheMessageCannotSay) {
  const std::vector<Dialect> both = {Dialect::kStrict, Dialect::kLaya};
  const std::vector<Dialect> only_strict = {Dialect::kStrict};
  const std::vector<Dialect> only_laya = {Dialect::kLaya};
  const struct {
    const char* text;
    std::vector<Dialect> dialects;
    v1::ErrorReason::Value reason;
  } cases[] = {
      {"[]", both, v1::ErrorReason::MALFORMED_JSON},
      {R"({"model": 1, "questions": {}})", both,
       v1::ErrorReason::MODEL_MISMATCH},
      {"{}", both, v1::ErrorReason::BAD_QUESTIONS},
      {R"({"questions": []})", both, v1::ErrorReason::BAD_QUESTIONS},
      {R"({"questions": {"q": "x"}})", both, v1::ErrorReason::BAD_QUESTION},
      {R"({"questions": {"q": {"type": "rank"}}})", both,
       v1::ErrorReason::UNKNOWN_TYPE},
      {R"({"questions": {"q": {"type": null}}})", both,
       v1::ErrorReason::UNKNOWN_TYPE},
      {R"({"questions": {"q": {"criteria": {"a": null}}}})", both,
       v1::ErrorReason::UNKNOWN_TYPE},
      {R"({"questions": {"q": {"type": "choice"}}})", both,
       v1::ErrorReason::BAD_CRITERIA},
      {R"({"questions": {"q": {"type": "choice", "criteria": ["a"]}}})",
       only_strict, v1::ErrorReason::BAD_CRITERIA},
      {R"({"questions": {"q": {"type": "choice", "criteria": [1]}}})", both,
       v1::ErrorReason::BAD_CRITERIA},
      {R"({"questions": {"q": {"type": "score", "criteria": {"a": "b"}}}})",
       both, v1::ErrorReason::BAD_CRITERIA},
      {R"({"questions": {"q": {"type": "noul", "criteria": ["a", "b"]}}})",
       both, v1::ErrorReason::BAD_CRITERIA},
      {R"({"questions": {"q": {"type": "noul", "criteria": {"yes": "a"}}}})",
       both, v1::ErrorReason::BAD_CRITERIA},
      {R"({"questions": {"q": {"type": "noul",
           "criteria": {"true": "a", "True": "b"}}}})",
       both, v1::ErrorReason::BAD_CRITERIA},
      {R"({"questions": {"q": {"type": "noul", "criteria": {}}}})", only_strict,
       v1::ErrorReason::BAD_CRITERIA},
      {R"({"questions": {"q": {"type": "noul", "labels": ["a", "b"]}}})",
       only_laya, v1::ErrorReason::BAD_QUESTION},
      {R"({"questions": {"q": {"type": "noul", "labels": {"true": "a"}}}})",
       only_laya, v1::ErrorReason::BAD_QUESTION},
      {R"({"questions": {"q": {"type": "noul",
           "labels": {"true": "a", "false": 1}}}})",
       only_laya, v1::ErrorReason::BAD_QUESTION},
      {R"({"questions": {"q": {"type": "score", "criteria": ["a"],
           "labels": null}}})",
       only_laya, v1::ErrorReason::BAD_QUESTION},
      {R"({"questions": {}, "lang": 1})", only_laya,
       v1::ErrorReason::LANGUAGE_NOT_SUPPORTED},
      {R"({"questions": {}, "batch": 1})", only_laya,
       v1::ErrorReason::UNKNOWN_FIELD},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    ASSERT_OK_AND_ASSIGN(const Value value, Read(c.text));
    for (const Dialect dialect : c.dialects) {
      EXPECT_THAT(ToRequest(value, dialect),
                  AllOf(StatusIs(absl::StatusCode::kInvalidArgument),
                        HasReason(c.reason)));
    }
  }
}

TEST(WriteResponseTest, CuaS1) {
  EXPECT_EQ(
      WriteResponse(Response(R"(
        model: "cua@1:text"
        answers {
          id: "next \"step\""
          choice {
            choice: "é" confidence: 0
            probabilities { key: "é" value: 0.7310585975646973 }
            probabilities { key: "2" value: 1e-07 }
            probabilities { key: "1" value: 1 }
          }
        }
        answers { id: "1" choice { choice: "x" confidence: 1
                  probabilities { key: "x" value: 1 } } }
        usage { input_tokens: 4294967295 }
        timing { total_seconds: 1 }
      )")),
      R"({"model": "cua@1:text", "answers": {"next \"step\"": )"
      R"({"type": "choice", "choice": "é", "probabilities": )"
      R"({"é": 0.7310585975646973, "2": 1e-07, "1": 1.0}, "confidence": 0.0}, )"
      R"("1": {"type": "choice", "choice": "x", "probabilities": {"x": 1.0}, )"
      R"("confidence": 1.0}}, )"
      R"("usage": {"input_tokens": 4294967295, "output_tokens": 0}})");
}

TEST(WriteResponseTest, OpenJev) {
  EXPECT_EQ(
      WriteResponse(Response(R"(
        model: "base"
        answers { id: "s" score {
          score: 1.2564470917325836 confidence: 0.25
          probabilities { key: "0" value: 0.25 }
          probabilities { key: "1" value: 0.75 }
          legend { text: "a\nb" } legend { raw_json: '{"z":1.50,"a":[2]}' } } }
        answers { id: "n" noul { noul: 0 } }
        usage { input_tokens: 7 output_tokens: 0 }
        open_jev {
          method: "m" temperature: 2.5343690298472983 candidate_sequences: 3
          inference_seconds: 0.125 base_revision: "r" max_length: 4096
          prefix_cache { enabled: true mode: "shared_prefix"
            requested_tokens: 18446744073709551615 computed_tokens: 2
            reused_tokens: 1 } }
      )")),
      R"({"model": "base", "answers": {)"
      R"("s": {"type": "score", "score": 1.2564470917325836, )"
      R"("probabilities": {"0": 0.25, "1": 0.75}, "confidence": 0.25, )"
      R"("legend": {"0": "a\nb", "1": {"z":1.50,"a":[2]}}}, )"
      R"("n": {"type": "noul", "noul": 0.0}}, )"
      R"("usage": {"input_tokens": 7, "output_tokens": 0}, )"
      R"("metadata": {"method": "m", "temperature": 2.5343690298472983, )"
      R"("candidate_sequences": 3, "inference_seconds": 0.125, )"
      R"("base_revision": "r", "max_length": 4096, "prefix_cache": )"
      R"({"enabled": true, "mode": "shared_prefix", )"
      R"("requested_tokens": 18446744073709551615, "computed_tokens": 2, )"
      R"("reused_tokens": 1}}})");
}

TEST(WriteResponseTest, Laya) {
  EXPECT_EQ(
      WriteResponse(Response(R"(
        model: "laya-rl-agent"
        answers { id: "n" noul { noul: 0.7058 confidence: 0.7058 }
                  answer_confidence: 0.7058 act_probability: 0 }
        answers { id: "s" score { score: 0 confidence: 1
                  probabilities { key: "0" value: 1 } legend { null {} } }
                  answer_confidence: 1 act_probability: 0.5 }
        usage {}
        laya { model: "english" repo: "r" reason: "explicit" }
      )")),
      R"({"model": "laya-rl-agent", "answers": {)"
      R"("n": {"type": "noul", "noul": 0.7058, "confidence": 0.7058, )"
      R"("answer_confidence": 0.7058, "action": {"act_probability": 0.0}}, )"
      R"("s": {"type": "score", "score": 0.0, "probabilities": {"0": 1.0}, )"
      R"("confidence": 1.0, "legend": {"0": null}, "answer_confidence": 1.0, )"
      R"("action": {"act_probability": 0.5}}}, )"
      R"("usage": {"input_tokens": 0, "output_tokens": 0}, )"
      R"("routing": {"model": "english", "repo": "r", "reason": "explicit", )"
      R"("detection": null, "workflow": null}})");
}

TEST(WriteResponseTest, IsJsonWhateverTheLabels) {
  v1::DecideResponse response;
  std::string label;
  for (int c = 0; c < 128; ++c) label.push_back(static_cast<char>(c));
  v1::ChoiceAnswer* choice = response.add_answers()->mutable_choice();
  choice->set_choice(label);
  choice->add_probabilities()->set_key(label);
  response.mutable_answers(0)->set_id(label);
  ASSERT_OK_AND_ASSIGN(const Value value, Read(WriteResponse(response)));
  const Value* answer = value.Find("answers")->Find(label);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->Find("choice")->string(), label);
  EXPECT_NE(answer->Find("probabilities")->Find(label), nullptr);
}

// One request and its response with all three kinds, in which the numbers of an
// answer fit together as the System One format wants them.
constexpr char kExampleRequest[] =
    R"({"model":"jev-latest","state":{"subject":"Parcel 88",)"
    R"("note":"Arrived broken, second time. I want a new one."},)"
    R"("questions":{"next step":{"type":"choice",)"
    R"("instructions":"What should happen next?",)"
    R"("criteria":{"replace":"Send a new item",)"
    R"("refund":{"what":"Money back","not_for":"voucher"},"none":null}},)"
    R"("anger":{"type":"score","instructions":"How upset is the writer?",)"
    R"("criteria":["calm","annoyed","angry","furious"]},)"
    R"("repeat":{"type":"noul",)"
    R"("instructions":"This is not the first incident.",)"
    R"("criteria":{"true":"a previous case is named"}}}})";

constexpr char kExampleResponse[] =
    R"({"model":"laya-en","answers":{)"
    R"("next step":{"type":"choice","choice":"replace",)"
    R"("probabilities":{"replace":0.7,"refund":0.2,"none":0.1},)"
    R"("confidence":0.55},)"
    R"("anger":{"type":"score","score":2.05,)"
    R"("legend":{"0":"calm","1":"annoyed","2":"angry","3":"furious"},)"
    R"("probabilities":{"0":0.05,"1":0.15,"2":0.5,"3":0.3},)"
    R"("confidence":0.45},)"
    R"("repeat":{"type":"noul","noul":0.83}},)"
    R"("usage":{"input_tokens":131,"output_tokens":0}})";

TEST(ExampleTest, TheRequestSurvivesTheMessage) {
  for (const Dialect dialect : {Dialect::kStrict, Dialect::kLaya}) {
    ASSERT_OK_AND_ASSIGN(const Value value,
                         Read(kExampleRequest, {.dialect = dialect}));
    ASSERT_OK_AND_ASSIGN(const v1::DecideRequest request,
                         ToRequest(value, dialect));
    const v1::DecideRequest expected = Request(R"(
          model: "jev-latest"
          state { raw_json: '{"subject": "Parcel 88", "note": "Arrived broken, second time. I want a new one."}' }
          questions {
            id: "next step" instructions { text: "What should happen next?" }
            choice {
              options { label: "replace" description { text: "Send a new item" } }
              options { label: "refund" description { raw_json: '{"what": "Money back", "not_for": "voucher"}' } }
              options { label: "none" description { null {} } }
            }
          }
          questions {
            id: "anger" instructions { text: "How upset is the writer?" }
            score {
              levels { text: "calm" } levels { text: "annoyed" }
              levels { text: "angry" } levels { text: "furious" }
            }
          }
          questions {
            id: "repeat" instructions { text: "This is not the first incident." }
            noul { when_true { text: "a previous case is named" } }
          }
        )");
    EXPECT_EQ(request.DebugString(), expected.DebugString());
    EXPECT_THAT(FromRequest(request, dialect), IsOkAndHolds(value));
    EXPECT_THAT(Line(request, dialect), IsOkAndHolds(DumpVerbatim(value)));
  }
}

// Compares what two objects hold whatever the order of their members; every
// difference is one failure that names its place.
void ExpectSameFields(const Value& actual, const Value& expected,
                      const std::string& place) {
  SCOPED_TRACE(place);
  if (!expected.is_object()) {
    EXPECT_EQ(actual, expected);
    return;
  }
  ASSERT_TRUE(actual.is_object());
  EXPECT_EQ(actual.object().size(), expected.object().size());
  for (const auto& [key, value] : expected.object()) {
    const Value* member = actual.Find(key);
    if (member == nullptr) {
      ADD_FAILURE() << "no " << key;
      continue;
    }
    ExpectSameFields(*member, value, absl::StrCat(place, "/", key));
  }
}

std::vector<std::string> Keys(const Value& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.object()) keys.push_back(key);
  return keys;
}

TEST(ExampleTest, TheResponseSaysWhatTheAnswersSay) {
  const std::string body = WriteResponse(Response(R"(
    model: "laya-en"
    answers { id: "next step" choice {
      choice: "replace" confidence: 0.55
      probabilities { key: "replace" value: 0.7 }
      probabilities { key: "refund" value: 0.2 }
      probabilities { key: "none" value: 0.1 } } }
    answers { id: "anger" score {
      score: 2.05 confidence: 0.45
      probabilities { key: "0" value: 0.05 }
      probabilities { key: "1" value: 0.15 }
      probabilities { key: "2" value: 0.5 }
      probabilities { key: "3" value: 0.3 }
      legend { text: "calm" } legend { text: "annoyed" }
      legend { text: "angry" } legend { text: "furious" } } }
    answers { id: "repeat" noul { noul: 0.83 } state_truncated: true }
    usage { input_tokens: 131 }
    timing { total_seconds: 1 }
  )"));
  ASSERT_OK_AND_ASSIGN(const Value actual, Read(body));
  ASSERT_OK_AND_ASSIGN(const Value expected, Read(kExampleResponse));
  ExpectSameFields(actual, expected, "");
  // Order counts where it is the order of the request.
  const Value& answers = *actual.Find("answers");
  EXPECT_THAT(Keys(answers), ElementsAre("next step", "anger", "repeat"));
  EXPECT_THAT(Keys(*answers.Find("next step")->Find("probabilities")),
              ElementsAre("replace", "refund", "none"));
  EXPECT_THAT(Keys(*answers.Find("anger")->Find("legend")),
              ElementsAre("0", "1", "2", "3"));
}

}  // namespace
}  // namespace omni::json
