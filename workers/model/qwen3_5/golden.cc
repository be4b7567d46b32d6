#include "workers/model/qwen3_5/golden.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/base/logging.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/json_file.h"
#include "runtime/json/value.h"

namespace omni::qwen3_5 {
namespace {

// Tests run in the folder that holds their data.
constexpr char kCases[] = "tests/golden/qwen3_5";

absl::Status MalformedError(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrFormat("expected.json: %s is missing or malformed", what));
}

absl::StatusOr<std::vector<uint32_t>> ReadIds(const json::Value& object,
                                              std::string_view key) {
  const json::Value* const value = object.Find(key);
  if (value == nullptr || !value->is_array()) return MalformedError(key);
  std::vector<uint32_t> ids;
  for (const json::Value& element : value->array()) {
    const std::optional<int64_t> id = IntegerOf(element);
    if (!id.has_value() || *id < 0 ||
        *id > std::numeric_limits<uint32_t>::max()) {
      return MalformedError(key);
    }
    ids.push_back(static_cast<uint32_t>(*id));
  }
  return ids;
}

absl::StatusOr<std::vector<float>> ReadRow(const json::Value& object,
                                           std::string_view key, int size) {
  const json::Value* const value = object.Find(key);
  if (value == nullptr || !value->is_array()) return MalformedError(key);
  std::vector<float> row;
  for (const json::Value& element : value->array()) {
    const std::optional<double> number = DoubleOf(element);
    if (!number.has_value()) return MalformedError(key);
    row.push_back(static_cast<float>(*number));
  }
  if (row.size() != static_cast<size_t>(size)) return MalformedError(key);
  return row;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> GoldenCaseNames() {
  std::error_code error;
  std::filesystem::directory_iterator folder(kCases, error);
  if (error) {
    return absl::NotFoundError(
        absl::StrFormat("%s: %s", kCases, error.message()));
  }
  std::vector<std::string> names;
  for (const auto& entry : folder) {
    if (std::filesystem::exists(entry.path() / "config.json")) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<GoldenCase> LoadGoldenCase(std::string_view name) {
  GoldenCase golden;
  golden.folder = absl::StrFormat("%s/%s", kCases, name);
  if (std::filesystem::exists(golden.folder + "/adapter")) {
    golden.adapter = golden.folder + "/adapter";
  }
  ASSIGN_OR_RETURN(golden.config, LoadConfig(golden.folder + "/config.json"));
  ASSIGN_OR_RETURN(golden.expected,
                   LoadGoldenRuns(name, golden.config.hidden_size));
  return golden;
}

absl::StatusOr<GoldenRuns> LoadGoldenRuns(std::string_view name,
                                          int hidden_size) {
  ASSIGN_OR_RETURN(
      const json::Value file,
      ReadJsonFile(absl::StrFormat("%s/%s/expected.json", kCases, name)));
  GoldenRuns expected;
  ASSIGN_OR_RETURN(expected.letters, ReadIds(file, "letters"));
  const json::Value* const runs = file.Find("runs");
  if (runs == nullptr || !runs->is_array()) return MalformedError("runs");
  for (const json::Value& element : runs->array()) {
    GoldenRun run;
    ASSIGN_OR_RETURN(run.prompt, ReadIds(element, "prompt"));
    ASSIGN_OR_RETURN(run.fp32, ReadRow(element, "fp32", hidden_size));
    ASSIGN_OR_RETURN(run.bf16, ReadRow(element, "bf16", hidden_size));
    expected.runs.push_back(std::move(run));
  }
  return expected;
}

std::vector<double> LetterProbabilities(absl::Span<const float> embedding,
                                        absl::Span<const uint32_t> letters,
                                        absl::Span<const float> row) {
  std::vector<double> probabilities;
  for (const uint32_t letter : letters) {
    CHECK((letter + 1) * row.size() <= embedding.size());
    double logit = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      logit += double{embedding[letter * row.size() + i]} * row[i];
    }
    probabilities.push_back(logit);
  }
  const double largest =
      *std::max_element(probabilities.begin(), probabilities.end());
  double sum = 0;
  for (double& p : probabilities) {
    p = std::exp(p - largest);
    sum += p;
  }
  for (double& p : probabilities) p /= sum;
  return probabilities;
}

Deviation DeviationOf(const std::vector<std::vector<float>>& actual,
                      const std::vector<std::vector<float>>& expected) {
  CHECK(actual.size() == expected.size());
  Deviation deviation;
  double squares = 0;
  size_t count = 0;
  for (size_t r = 0; r < actual.size(); ++r) {
    CHECK(actual[r].size() == expected[r].size());
    for (size_t i = 0; i < actual[r].size(); ++i) {
      double difference = std::abs(double{actual[r][i]} - expected[r][i]);
      // A comparison with NaN would overlook it.
      if (!std::isfinite(difference)) {
        difference = std::numeric_limits<double>::infinity();
      }
      deviation.largest = std::max(deviation.largest, difference);
      squares += difference * difference;
      ++count;
    }
  }
  deviation.rms = std::sqrt(squares / static_cast<double>(count));
  return deviation;
}

}  // namespace omni::qwen3_5
