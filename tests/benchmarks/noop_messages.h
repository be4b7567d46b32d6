#ifndef OMNI_TESTS_BENCHMARKS_NOOP_MESSAGES_H_
#define OMNI_TESTS_BENCHMARKS_NOOP_MESSAGES_H_

#include "omni/v1/decision.pb.h"

namespace omni {

// What echo and no-op calls carry: one short choice.
inline v1::DecideRequest NoopRequest() {
  v1::DecideRequest request;
  request.set_model("noop");
  request.mutable_state()->set_text("a short state");
  v1::Question& question = *request.add_questions();
  question.set_id("q");
  question.mutable_instructions()->set_text("Pick one.");
  for (const char* label : {"yes", "no"}) {
    question.mutable_choice()->add_options()->set_label(label);
  }
  return request;
}

// The answer to it, without `timing`.
inline v1::DecideResponse NoopResponse() {
  v1::DecideResponse response;
  response.set_model("noop@1");
  v1::Answer& answer = *response.add_answers();
  answer.set_id("q");
  v1::ChoiceAnswer& choice = *answer.mutable_choice();
  choice.set_choice("yes");
  for (const char* label : {"yes", "no"}) {
    v1::Probability& probability = *choice.add_probabilities();
    probability.set_key(label);
    probability.set_value(0.5);
  }
  response.mutable_usage()->set_input_tokens(1);
  return response;
}

}  // namespace omni

#endif  // OMNI_TESTS_BENCHMARKS_NOOP_MESSAGES_H_
