#include "runtime/json/render.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"

namespace omni::json {
namespace {

// Digits that std::to_chars needs at most in scientific form:
// -1.2345678901234567e-308.
constexpr size_t kMaxDoubleChars = 32;

// Decimal exponents for which Python prints no exponent.
constexpr int kMinFixedExponent = -4;
constexpr int kMaxFixedExponent = 15;

template <typename Integer>
bool Fits(std::string_view text) {
  Integer value = 0;
  return std::from_chars(text.data(), text.data() + text.size(), value).ec ==
         std::errc();
}

std::string Spell(std::string_view text, Dialect dialect) {
  if (text.find_first_of(".eE") == std::string_view::npos) {
    if (dialect == Dialect::kLaya) return std::string(text);
    // An integer has no negative zero, so this one has to be a double.
    if (text != "-0" && (Fits<uint64_t>(text) || Fits<int64_t>(text))) {
      return std::string(text);
    }
  }
  double value = 0;
  const auto result =
      std::from_chars(text.data(), text.data() + text.size(), value);
  // The reader has refused what is too large, so this is too small, and
  // from_chars has left `value` alone.
  if (result.ec == std::errc::result_out_of_range) {
    value = text.front() == '-' ? -0.0 : 0.0;
  }
  return PythonRepr(value);
}

void AppendEscaped(std::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (const char c : text) {
    switch (c) {
      case '"':
        out->append("\\\"");
        break;
      case '\\':
        out->append("\\\\");
        break;
      case '\b':
        out->append("\\b");
        break;
      case '\f':
        out->append("\\f");
        break;
      case '\n':
        out->append("\\n");
        break;
      case '\r':
        out->append("\\r");
        break;
      case '\t':
        out->append("\\t");
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20) {
          out->append("\\u00");
          out->push_back(kHex[byte >> 4]);
          out->push_back(kHex[byte & 15]);
        } else {
          out->push_back(c);
        }
      }
    }
  }
}

// Appends one value after the other to one string.
class Writer {
 public:
  // Without a dialect numbers stay as they are spelled.
  Writer(std::optional<Dialect> dialect, KeyOrder order)
      : dialect_(dialect), order_(order) {}

  void Write(const Value& value) {
    if (value.is_null()) {
      out_.append("null");
    } else if (value.is_bool()) {
      out_.append(value.bool_value() ? "true" : "false");
    } else if (value.is_number()) {
      const std::string& text = value.number().text;
      out_.append(dialect_.has_value() ? Spell(text, *dialect_) : text);
    } else if (value.is_string()) {
      WriteString(value.string());
    } else if (value.is_array()) {
      WriteArray(value.array());
    } else {
      WriteObject(value.object());
    }
  }

  std::string Take() && { return std::move(out_); }

 private:
  void WriteString(std::string_view text) {
    out_.push_back('"');
    AppendEscaped(text, &out_);
    out_.push_back('"');
  }

  void WriteArray(const Array& array) {
    out_.push_back('[');
    for (size_t i = 0; i < array.size(); ++i) {
      if (i > 0) out_.append(", ");
      Write(array[i]);
    }
    out_.push_back(']');
  }

  void WriteObject(const Object& object) {
    out_.push_back('{');
    if (order_ == KeyOrder::kRequest) {
      for (const Member& member : object) WriteMember(member, object.front());
    } else {
      std::vector<const Member*> sorted;
      sorted.reserve(object.size());
      for (const Member& member : object) sorted.push_back(&member);
      // The bytes of UTF-8 sort as the code points do.
      std::stable_sort(
          sorted.begin(), sorted.end(),
          [](const Member* a, const Member* b) { return a->first < b->first; });
      for (const Member* member : sorted) WriteMember(*member, *sorted.front());
    }
    out_.push_back('}');
  }

  void WriteMember(const Member& member, const Member& first) {
    if (&member != &first) out_.append(", ");
    WriteString(member.first);
    out_.append(": ");
    Write(member.second);
  }

  const std::optional<Dialect> dialect_;
  const KeyOrder order_;
  std::string out_;
};

}  // namespace

std::string Dump(const Value& value, Dialect dialect, KeyOrder order) {
  Writer writer(dialect, order);
  writer.Write(value);
  return std::move(writer).Take();
}

std::string DumpVerbatim(const Value& value) {
  Writer writer(std::nullopt, KeyOrder::kRequest);
  writer.Write(value);
  return std::move(writer).Take();
}

std::string Render(const Value& value, Dialect dialect, KeyOrder order) {
  if (value.is_string()) return value.string();
  return Dump(value, dialect, order);
}

std::string Escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  AppendEscaped(text, &out);
  return out;
}

std::string PythonRepr(double value) {
  char buffer[kMaxDoubleChars];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer),
                                 std::abs(value), std::chars_format::scientific)
                       .ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  std::string digits(1, text[0]);
  if (e > 2) digits.append(text.substr(2, e - 2));
  const size_t exponent_sign = e + 1;
  int exponent = 0;
  std::from_chars(text.data() + exponent_sign + 1, end, exponent);
  if (text[exponent_sign] == '-') exponent = -exponent;

  std::string out(std::signbit(value) ? "-" : "");
  if (exponent < kMinFixedExponent || exponent > kMaxFixedExponent) {
    out.append(digits, 0, 1);
    if (digits.size() > 1) absl::StrAppend(&out, ".", digits.substr(1));
    const int magnitude = std::abs(exponent);
    absl::StrAppend(&out, exponent < 0 ? "e-" : "e+", magnitude < 10 ? "0" : "",
                    magnitude);
  } else if (exponent < 0) {
    out.append("0.");
    out.append(static_cast<size_t>(-exponent - 1), '0');
    out.append(digits);
  } else {
    const auto whole = static_cast<size_t>(exponent) + 1;
    if (digits.size() <= whole) digits.append(whole + 1 - digits.size(), '0');
    absl::StrAppend(&out, digits.substr(0, whole), ".", digits.substr(whole));
  }
  return out;
}

}  // namespace omni::json
