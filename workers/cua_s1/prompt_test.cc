#include "workers/cua_s1/prompt.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace omni::cua_s1 {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(RenderPromptTest, WritesEveryLine) {
  EXPECT_EQ(RenderPrompt("Be brief.", "Order a new one", "Parcel 88", {"yes"}),
            "<|im_start|>system\n"
            "Be brief.<|im_end|>\n"
            "<|im_start|>user\n"
            "Goal: Order a new one\n"
            "\n"
            "App: Cua Driver\n"
            "Task family: closed-candidate decision\n"
            "\n"
            "Accessibility tree:\n"
            "Parcel 88\n"
            "\n"
            "Options:\n"
            "A. Decision \"yes\" -> select\n"
            "\n"
            "Answer with a single letter.<|im_end|>\n"
            "<|im_start|>assistant\n"
            "<think>\n");
}

TEST(RenderPromptTest, AnEmptyGoalHasNoLine) {
  EXPECT_THAT(RenderPrompt("S", "", "state", {"a"}),
              HasSubstr("<|im_start|>user\nApp: Cua Driver\n"));
}

TEST(RenderPromptTest, EscapesLabelsAndNothingElse) {
  const std::string prompt = RenderPrompt("S", "say \"hi\"\nnow", "a\tb",
                                          {"say \"hi\"\nnow", "\u00e9"});
  EXPECT_THAT(prompt, HasSubstr("Goal: say \"hi\"\nnow\n\n"));
  EXPECT_THAT(prompt, HasSubstr("Accessibility tree:\na\tb\n\n"));
  EXPECT_THAT(prompt,
              HasSubstr("A. Decision \"say \\\"hi\\\"\\nnow\" -> select\n"
                        "B. Decision \"\u00e9\" -> select\n\n"));
}

TEST(RenderPromptTest, LettersFollowTheOrderOfTheOptions) {
  std::vector<std::string> labels;
  for (int i = 0; i < kMaxOptions; ++i) {
    labels.push_back("option " + std::to_string(i));
  }
  const std::string prompt = RenderPrompt("S", "", "state", labels);
  EXPECT_THAT(prompt, HasSubstr("\nA. Decision \"option 0\" -> select\n"));
  EXPECT_THAT(prompt, HasSubstr("\nZ. Decision \"option 25\" -> select\n\n"));
  EXPECT_THAT(prompt, Not(HasSubstr("[. Decision")));
}

}  // namespace
}  // namespace omni::cua_s1
