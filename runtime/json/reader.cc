#include "runtime/json/reader.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "omni/v1/decision.pb.h"
#include "runtime/base/request_error.h"

namespace omni::json {
namespace {

namespace bj = ::boost::json;

// Digits of an exponent that the parser can count with; far more than a double
// needs.
constexpr size_t kMaxExponentDigits = 9;

// Objects up to this size are searched for repeated keys pair by pair.
constexpr size_t kSmallObject = 8;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsInteger(std::string_view number) {
  return number.find_first_of(".eE") == std::string_view::npos;
}

// Moves the value of a repeated key to the key's first position. Returns
// whether there was a repeated key.
bool MergeRepeatedKeys(Object* members) {
  Object& all = *members;
  size_t kept = 0;
  const auto keep = [&](size_t i, size_t first) {
    if (first < kept) {
      all[first].second = std::move(all[i].second);
      return;
    }
    if (i != kept) all[kept] = std::move(all[i]);
    ++kept;
  };
  if (all.size() <= kSmallObject) {
    for (size_t i = 0; i < all.size(); ++i) {
      size_t first = 0;
      while (first < kept && all[first].first != all[i].first) ++first;
      keep(i, first);
    }
  } else {
    // Members that were moved away leave no key in the map, so the views stay
    // valid only while no kept member moves: keys are looked up first, in a
    // pass that moves nothing.
    absl::flat_hash_map<absl::string_view, size_t> positions;
    positions.reserve(all.size());
    std::vector<size_t> first(all.size());
    size_t distinct = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const auto [it, is_new] = positions.try_emplace(all[i].first, distinct);
      if (is_new) ++distinct;
      first[i] = it->second;
    }
    if (distinct == all.size()) return false;
    for (size_t i = 0; i < all.size(); ++i) keep(i, first[i]);
  }
  const bool repeated = kept < all.size();
  all.resize(kept);
  return repeated;
}

// Builds the value from the parser's events. What fails here and not in the
// parser is kept in failure().
class Builder {
 public:
  // Named by the parser.
  static constexpr size_t max_object_size = SIZE_MAX;
  static constexpr size_t max_array_size = SIZE_MAX;
  static constexpr size_t max_key_size = SIZE_MAX;
  static constexpr size_t max_string_size = SIZE_MAX;

  enum class Failure { kNone, kRepeatedKey, kNumberRange };

  // `parsed` is what the parser reads, `original` the text that numbers are
  // kept from; equally long.
  Builder(std::string_view parsed, std::string_view original,
          const ReadOptions& options)
      : parsed_(parsed), original_(original), options_(options) {}

  Failure failure() const { return failure_; }
  Value& root() { return root_; }

  bool on_document_begin(bj::error_code&) { return true; }
  bool on_document_end(bj::error_code&) { return true; }

  bool on_array_begin(bj::error_code&) {
    open_.emplace_back(Array());
    return true;
  }
  bool on_array_end(size_t, bj::error_code&) {
    Add(CloseContainer());
    return true;
  }

  bool on_object_begin(bj::error_code&) {
    open_.emplace_back(Object());
    return true;
  }
  bool on_object_end(size_t, bj::error_code& error) {
    Value object = CloseContainer();
    const bool tolerant = options_.dialect == Dialect::kLaya &&
                          (options_.outer_depth > 0 || !open_.empty());
    if (MergeRepeatedKeys(&object.object()) && !tolerant) {
      return Fail(Failure::kRepeatedKey, error);
    }
    Add(std::move(object));
    return true;
  }

  bool on_string_part(bj::string_view part, size_t, bj::error_code&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_string(bj::string_view part, size_t, bj::error_code&) {
    Add(TakeText(part));
    return true;
  }
  bool on_key_part(bj::string_view part, size_t, bj::error_code&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_key(bj::string_view part, size_t, bj::error_code&) {
    keys_.push_back(TakeText(part));
    return true;
  }

  bool on_number_part(bj::string_view, bj::error_code&) { return true; }
  bool on_int64(int64_t, bj::string_view text, bj::error_code&) {
    AddNumber(Spelling(text));
    return true;
  }
  bool on_uint64(uint64_t, bj::string_view text, bj::error_code&) {
    AddNumber(Spelling(text));
    return true;
  }
  // `approximate` is not the nearest double, but its size is right.
  bool on_double(double approximate, bj::string_view text,
                 bj::error_code& error) {
    const std::string_view number = Spelling(text);
    if (options_.dialect == Dialect::kStrict || !IsInteger(number)) {
      double value = 0;
      const auto result =
          std::from_chars(number.data(), number.data() + number.size(), value);
      // What is too small for a double is zero.
      if (result.ec == std::errc::result_out_of_range &&
          std::abs(approximate) > 1) {
        return Fail(Failure::kNumberRange, error);
      }
    }
    AddNumber(number);
    return true;
  }

  bool on_bool(bool value, bj::error_code&) {
    Add(value);
    return true;
  }
  bool on_null(bj::error_code&) {
    Add(Value());
    return true;
  }

  // Called only by a parser that allows comments.
  bool on_comment_part(bj::string_view, bj::error_code&) { return true; }
  bool on_comment(bj::string_view, bj::error_code&) { return true; }

 private:
  bool Fail(Failure failure, bj::error_code& error) {
    failure_ = failure;
    error = bj::error::syntax;
    return false;
  }

  std::string_view Spelling(bj::string_view text) const {
    return original_.substr(static_cast<size_t>(text.data() - parsed_.data()),
                            text.size());
  }

  std::string TakeText(bj::string_view last_part) {
    text_.append(last_part.data(), last_part.size());
    return std::exchange(text_, std::string());
  }

  Value CloseContainer() {
    Value container = std::move(open_.back());
    open_.pop_back();
    return container;
  }

  void AddNumber(std::string_view text) { Add(Number{std::string(text)}); }

  void Add(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().is_array()) {
      open_.back().array().push_back(std::move(value));
    } else {
      open_.back().object().emplace_back(std::move(keys_.back()),
                                         std::move(value));
      keys_.pop_back();
    }
  }

  const std::string_view parsed_;
  const std::string_view original_;
  const ReadOptions options_;
  Failure failure_ = Failure::kNone;
  Value root_;
  std::vector<Value> open_;        // The containers around the next value.
  std::vector<std::string> keys_;  // Keys whose value is not there yet.
  std::string text_;               // The parts of a string up to now.
};

// The text with every exponent that the parser cannot count cut to one that is
// beyond double range as well, and as long as before.
std::string CapExponents(std::string_view text) {
  std::string capped(text);
  bool in_string = false;
  for (size_t i = 0; i < capped.size(); ++i) {
    if (in_string) {
      if (capped[i] == '\\') {
        ++i;
      } else if (capped[i] == '"') {
        in_string = false;
      }
      continue;
    }
    if (capped[i] == '"') in_string = true;
    if (capped[i] != 'e' && capped[i] != 'E') continue;
    size_t begin = i + 1;
    if (begin < capped.size() &&
        (capped[begin] == '+' || capped[begin] == '-')) {
      ++begin;
    }
    while (begin < capped.size() && capped[begin] == '0') ++begin;
    size_t end = begin;
    while (end < capped.size() && IsDigit(capped[end])) ++end;
    if (end - begin > kMaxExponentDigits) {
      const size_t nines = end - kMaxExponentDigits;
      std::fill(capped.begin() + begin, capped.begin() + nines, '0');
      std::fill(capped.begin() + nines, capped.begin() + end, '9');
    }
  }
  return capped;
}

struct Parsed {
  Value value;
  Builder::Failure failure = Builder::Failure::kNone;
  bj::error_code error;
  size_t offset = 0;  // Where the parser stopped.
};

Parsed Parse(std::string_view parsed, std::string_view original,
             const ReadOptions& options) {
  bj::parse_options parse_options;
  parse_options.max_depth =
      static_cast<size_t>(std::max(0, kMaxDepth - options.outer_depth));
  bj::basic_parser<Builder> parser(parse_options, parsed, original, options);
  Parsed result;
  result.offset = parser.write_some(/*more=*/false, parsed.data(),
                                    parsed.size(), result.error);
  result.failure = parser.handler().failure();
  result.value = std::move(parser.handler().root());
  return result;
}

}  // namespace

absl::StatusOr<Value> Read(std::string_view text, ReadOptions options) {
  Parsed parsed = Parse(text, text, options);
  if (parsed.error == bj::error::exponent_overflow) {
    parsed = Parse(CapExponents(text), text, options);
  }
  const std::string at = absl::StrCat(" at byte ", parsed.offset);
  if (parsed.failure == Builder::Failure::kRepeatedKey) {
    return RequestError(v1::ErrorReason::DUPLICATE_KEY,
                        "repeated key in the JSON object that ends" + at);
  }
  if (parsed.failure == Builder::Failure::kNumberRange) {
    return RequestError(v1::ErrorReason::MALFORMED_JSON,
                        "JSON number beyond double range" + at);
  }
  if (parsed.error == bj::error::too_deep) {
    return RequestError(
        v1::ErrorReason::MALFORMED_JSON,
        absl::StrCat("JSON nests deeper than ", kMaxDepth, " containers", at),
        {.limit = kMaxDepth});
  }
  if (parsed.error == bj::error::incomplete) {
    return RequestError(v1::ErrorReason::MALFORMED_JSON,
                        "JSON ends too early" + at);
  }
  if (parsed.error || parsed.offset != text.size()) {
    return RequestError(v1::ErrorReason::MALFORMED_JSON, "bad JSON" + at);
  }
  return std::move(parsed.value);
}

}  // namespace omni::json
