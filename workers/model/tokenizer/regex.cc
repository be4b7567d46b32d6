#include "workers/model/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"
#include "workers/model/tokenizer/pattern.h"

namespace omni::tokenizer {
namespace {

// Bounds on one match. A pattern for tokenizers tries each byte a few times;
// the limits only end one that explodes.
constexpr uint64_t kStepsPerByte = 64;
constexpr uint64_t kLeastSteps = 1'000'000;
constexpr uint32_t kHeapLimitKib = 256 * 1024;

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};

using CompileContext =
    std::unique_ptr<pcre2_compile_context, Free<&pcre2_compile_context_free>>;
using MatchContext =
    std::unique_ptr<pcre2_match_context, Free<&pcre2_match_context_free>>;
using MatchData =
    std::unique_ptr<pcre2_match_data, Free<&pcre2_match_data_free>>;

std::string ErrorText(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

// Length of the UTF-8 character that begins with `lead`.
size_t CharacterLength(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte < 0x80) return 1;
  if (byte < 0xE0) return 2;
  return byte < 0xF0 ? 3 : 4;
}

}  // namespace

absl::StatusOr<Regex> Regex::Compile(std::string_view pattern) {
  absl::StatusOr<std::string> source = PatternForPcre2(pattern);
  if (!source.ok()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "pattern \"%s\": %s", pattern, std::string(source.status().message())));
  }
  return Build(*source, pattern, /*literal=*/false);
}

absl::StatusOr<Regex> Regex::Literal(std::string_view text) {
  if (text.empty()) {
    return absl::InvalidArgumentError("pattern: the text is empty");
  }
  return Build(text, text, /*literal=*/true);
}

absl::StatusOr<Regex> Regex::Build(std::string_view source,
                                   std::string_view shown, bool literal) {
  const CompileContext context(pcre2_compile_context_create(nullptr));
  if (context == nullptr) return absl::ResourceExhaustedError("PCRE2: memory");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  const uint32_t options = literal ? PCRE2_UTF | PCRE2_LITERAL
                                   : PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE;
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(),
                    options, &error, &offset, context.get());
  if (code == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrFormat("pattern \"%s\": %s", shown, ErrorText(error)));
  }
  // Where this fails, matching interprets the pattern.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return Regex(std::shared_ptr<const pcre2_code>(
      code, [](auto* owned) { pcre2_code_free(owned); }));
}

absl::StatusOr<std::vector<Range>> Regex::FindAll(std::string_view text) const {
  const MatchData data(pcre2_match_data_create(1, nullptr));
  const MatchContext context(pcre2_match_context_create(nullptr));
  if (data == nullptr || context == nullptr) {
    return absl::ResourceExhaustedError("PCRE2: memory");
  }
  const uint64_t steps =
      std::min<uint64_t>(kLeastSteps + kStepsPerByte * text.size(),
                         std::numeric_limits<uint32_t>::max());
  pcre2_set_match_limit(context.get(), static_cast<uint32_t>(steps));
  pcre2_set_heap_limit(context.get(), kHeapLimitKib);

  std::vector<Range> matches;
  size_t from = 0;
  while (from <= text.size()) {
    const auto match = [&](uint32_t options) {
      return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                         text.size(), from, PCRE2_NO_UTF_CHECK | options,
                         data.get(), context.get());
    };
    int found = match(0);
    // The interpreter keeps its backtracking on the heap.
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match(PCRE2_NO_JIT);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) {
      return absl::ResourceExhaustedError(
          absl::StrFormat("splitting the text: %s", ErrorText(found)));
    }
    const PCRE2_SIZE* const bounds = pcre2_get_ovector_pointer(data.get());
    const Range range = {bounds[0], bounds[1]};
    const bool repeats = range.begin == range.end && !matches.empty() &&
                         matches.back().end == range.end;
    if (repeats) {
      if (from == text.size()) break;
      from += CharacterLength(text[from]);
    } else {
      matches.push_back(range);
      from = range.end;
    }
  }
  return matches;
}

}  // namespace omni::tokenizer
