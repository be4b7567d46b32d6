#ifndef OMNI_WORKERS_CUA_S1_READOUT_H_
#define OMNI_WORKERS_CUA_S1_READOUT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "omni/v1/decision.pb.h"

namespace omni::cua_s1 {

// The logits of the first `option_count` letters:
//
//   logit[i] = f32( sum over j of f64(letter_rows[i][j]) * f64(hidden[j]) )
//
// j ascending, summed in FP64, rounded once. `letter_rows` are the letters'
// rows of the tied embedding, widened to FP32, each as long as `hidden`; rows
// of letters that are not in use are not read.
//
// Errors: INTERNAL for a row of another length and for a logit that is not
// finite.
absl::StatusOr<std::vector<float>> ProjectLetters(
    absl::Span<const std::vector<float>> letter_rows,
    absl::Span<const float> hidden, int option_count);

// The answer to one question from the logits of its options:
// p = f32(softmax in FP64), the first largest p wins, confidence is
// max(0, 1 - H(p) / ln n) and 1 for a single option.
//
// Errors: INTERNAL unless there is one finite logit for each label.
absl::StatusOr<v1::ChoiceAnswer> AnswerChoice(
    absl::Span<const std::string> labels, absl::Span<const float> logits);

}  // namespace omni::cua_s1

#endif  // OMNI_WORKERS_CUA_S1_READOUT_H_
