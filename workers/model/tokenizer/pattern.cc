#include "workers/model/tokenizer/pattern.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"

namespace omni::tokenizer {
namespace {

constexpr size_t kHexDigitsOfU = 4;

bool IsHex(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c));
  });
}

// How PCRE2 spells the property that both Oniguruma and Unicode call `name`;
// nullopt where there is none.
std::optional<std::string> PropertyName(const std::string& name) {
  const int32_t category =
      u_getPropertyValueEnum(UCHAR_GENERAL_CATEGORY_MASK, name.c_str());
  if (category != UCHAR_INVALID_CODE) {
    return u_getPropertyValueName(UCHAR_GENERAL_CATEGORY_MASK, category,
                                  U_SHORT_PROPERTY_NAME);
  }
  const int32_t script = u_getPropertyValueEnum(UCHAR_SCRIPT, name.c_str());
  if (script != UCHAR_INVALID_CODE) {
    return absl::StrCat("sc:", u_getPropertyValueName(UCHAR_SCRIPT, script,
                                                      U_LONG_PROPERTY_NAME));
  }
  const UProperty property = u_getPropertyEnum(name.c_str());
  if (property >= UCHAR_BINARY_START && property < UCHAR_BINARY_LIMIT) {
    return u_getPropertyName(property, U_LONG_PROPERTY_NAME);
  }
  return std::nullopt;
}

// One walk over a pattern.
class Rewriter {
 public:
  explicit Rewriter(std::string_view pattern) : pattern_(pattern) {}

  absl::StatusOr<std::string> Run() {
    while (position_ < pattern_.size()) RETURN_IF_ERROR(Step());
    return std::move(result_);
  }

 private:
  char Peek(size_t ahead = 0) const {
    const size_t at = position_ + ahead;
    return at < pattern_.size() ? pattern_[at] : '\0';
  }

  bool At(std::string_view text) const {
    return pattern_.substr(position_).substr(0, text.size()) == text;
  }

  void Copy(size_t length) {
    result_.append(pattern_.substr(position_, length));
    position_ += length;
  }

  absl::Status Refuse(size_t length) const {
    return absl::InvalidArgumentError(
        absl::StrFormat("\"%s\" at byte %d is not served",
                        pattern_.substr(position_, length), position_));
  }

  absl::Status Step() {
    const char c = Peek();
    if (c == '\\') return Escape();
    if (in_class_) return InClass(c);
    switch (c) {
      case '[':
        return OpenClass();
      case '(':
        return OpenGroup();
      case ')':
        if (!caseless_outside_.empty()) {
          caseless_ = caseless_outside_.back();
          caseless_outside_.pop_back();
        }
        break;
      case '{':
        return Interval();
      default:
        break;
    }
    Copy(1);
    return absl::OkStatus();
  }

  absl::Status OpenClass() {
    in_class_ = true;
    Copy(Peek(1) == '^' ? 2 : 1);
    // One of the engines takes it for an empty class.
    if (Peek() == ']') return Refuse(1);
    return absl::OkStatus();
  }

  absl::Status InClass(char c) {
    // A class within the class, a POSIX bracket or an intersection.
    if (c == '[') return Refuse(2);
    if (At("&&")) return Refuse(2);
    if (c == ']') in_class_ = false;
    Copy(1);
    return absl::OkStatus();
  }

  absl::Status OpenGroup() {
    if (Peek(1) == '*') return Refuse(2);
    bool caseless = caseless_;
    if (Peek(1) != '?') {
      Copy(1);
    } else if (At("(?:") || At("(?=") || At("(?!") || At("(?>")) {
      Copy(3);
    } else if (At("(?<=") || At("(?<!")) {
      Copy(4);
    } else if (At("(?i:")) {
      caseless = true;
      Copy(4);
    } else if (At("(?-i:")) {
      caseless = false;
      Copy(5);
    } else if (At("(?i)") && position_ == 0) {
      caseless_ = true;
      Copy(4);
      return absl::OkStatus();
    } else {
      return Refuse(4);
    }
    caseless_outside_.push_back(caseless_);
    caseless_ = caseless;
    return absl::OkStatus();
  }

  absl::Status Interval() {
    const size_t end = pattern_.find('}', position_);
    const size_t length =
        end == std::string_view::npos ? 1 : end + 1 - position_;
    const std::string_view interval = pattern_.substr(position_, length);
    // "{,n}" is literal text in one engine; "{n,m}+" is possessive in one and a
    // repetition in the other, and so "{n}?" is lazy or optional.
    if (length < 3 ||
        !absl::ascii_isdigit(static_cast<unsigned char>(Peek(1)))) {
      return Refuse(length);
    }
    const bool exact = interval.find(',') == std::string_view::npos;
    if (Peek(length) == '+' || (exact && Peek(length) == '?')) {
      return Refuse(length + 1);
    }
    Copy(length);
    return absl::OkStatus();
  }

  absl::Status Escape() {
    const char kind = Peek(1);
    if (kind == 's' || kind == 'S') {
      absl::StrAppend(&result_, kind == 's' ? "\\p" : "\\P", "{White_Space}");
      position_ += 2;
      return absl::OkStatus();
    }
    if (kind == 'p' || kind == 'P') return Property();
    if (kind == 'u' || kind == 'x') return CodePoint();
    const bool same_in_both =
        std::string_view("dDtrnfaeAzZ").find(kind) != std::string_view::npos ||
        absl::ascii_ispunct(static_cast<unsigned char>(kind)) || kind == ' ';
    if (kind == '\0' || !same_in_both) return Refuse(2);
    Copy(2);
    return absl::OkStatus();
  }

  absl::Status Property() {
    const size_t end = pattern_.find('}', position_);
    if (Peek(2) != '{' || end == std::string_view::npos) return Refuse(3);
    const size_t length = end + 1 - position_;
    // Folding turns \p{Lu} into any cased letter in one engine only.
    if (caseless_) return Refuse(length);
    std::string_view name = pattern_.substr(position_ + 3, length - 4);
    bool negated = Peek(1) == 'P';
    if (!name.empty() && name.front() == '^') {
      negated = !negated;
      name.remove_prefix(1);
    }
    // POSIX's punctuation in one engine, the general category in the other.
    if (absl::AsciiStrToLower(std::string(name)) == "punct") {
      return Refuse(length);
    }
    const std::optional<std::string> spelled = PropertyName(std::string(name));
    if (!spelled.has_value()) return Refuse(length);
    absl::StrAppend(&result_, negated ? "\\P{" : "\\p{", *spelled, "}");
    position_ += length;
    return absl::OkStatus();
  }

  absl::Status CodePoint() {
    std::string_view digits;
    size_t length = 0;
    if (Peek(1) == 'u') {
      digits = pattern_.substr(position_ + 2, kHexDigitsOfU);
      if (digits.size() < kHexDigitsOfU) return Refuse(2);
      length = 2 + kHexDigitsOfU;
    } else if (Peek(2) == '{') {
      const size_t end = pattern_.find('}', position_);
      if (end == std::string_view::npos) return Refuse(3);
      length = end + 1 - position_;
      digits = pattern_.substr(position_ + 3, length - 4);
    } else {
      // Two digits from 80 on are a byte of a character in one engine.
      digits = pattern_.substr(position_ + 2, 2);
      length = 4;
      if (digits.size() < 2 || Peek(2) > '7') return Refuse(length);
    }
    if (!IsHex(digits)) return Refuse(length);
    absl::StrAppend(&result_, "\\x{", std::string(digits), "}");
    position_ += length;
    return absl::OkStatus();
  }

  const std::string_view pattern_;
  size_t position_ = 0;
  bool in_class_ = false;
  // Whether case is ignored here, and was outside of each open group.
  bool caseless_ = false;
  std::vector<bool> caseless_outside_;
  std::string result_;
};

}  // namespace

absl::StatusOr<std::string> PatternForPcre2(std::string_view pattern) {
  return Rewriter(pattern).Run();
}

}  // namespace omni::tokenizer
