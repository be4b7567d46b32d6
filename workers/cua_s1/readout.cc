#include "workers/cua_s1/readout.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace omni::cua_s1 {

absl::StatusOr<std::vector<float>> ProjectLetters(
    absl::Span<const std::vector<float>> letter_rows,
    absl::Span<const float> hidden, int option_count) {
  std::vector<float> logits;
  logits.reserve(option_count);
  for (const std::vector<float>& row : letter_rows.first(option_count)) {
    if (row.size() != hidden.size()) {
      return absl::InternalError(
          absl::StrFormat("hidden state has %d values, a letter row %d",
                          hidden.size(), row.size()));
    }
    double sum = 0;
    for (size_t j = 0; j < row.size(); ++j) {
      sum += static_cast<double>(row[j]) * static_cast<double>(hidden[j]);
    }
    const float logit = static_cast<float>(sum);
    if (!std::isfinite(logit)) {
      return absl::InternalError(
          absl::StrFormat("logit of letter %c is not finite",
                          static_cast<char>('A' + logits.size())));
    }
    logits.push_back(logit);
  }
  return logits;
}

absl::StatusOr<v1::ChoiceAnswer> AnswerChoice(
    absl::Span<const std::string> labels, absl::Span<const float> logits) {
  if (labels.empty() || labels.size() != logits.size()) {
    return absl::InternalError(absl::StrFormat("%d logits for %d options",
                                               logits.size(), labels.size()));
  }
  for (const float logit : logits) {
    if (!std::isfinite(logit)) {
      return absl::InternalError("a logit is not finite");
    }
  }
  const double max = *std::max_element(logits.begin(), logits.end());
  std::vector<double> exponentials;
  double sum = 0;
  for (const float logit : logits) {
    exponentials.push_back(std::exp(static_cast<double>(logit) - max));
    sum += exponentials.back();
  }

  v1::ChoiceAnswer answer;
  double best = -1;
  double entropy = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const double p = static_cast<float>(exponentials[i] / sum);
    if (p > best) {
      best = p;
      answer.set_choice(labels[i]);
    }
    if (p > 0) entropy -= p * std::log(p);
    v1::Probability* probability = answer.add_probabilities();
    probability->set_key(labels[i]);
    probability->set_value(p);
  }
  answer.set_confidence(
      labels.size() == 1
          ? 1.0
          : std::max(0.0, 1.0 - entropy / std::log(static_cast<double>(
                                              labels.size()))));
  return answer;
}

}  // namespace omni::cua_s1
