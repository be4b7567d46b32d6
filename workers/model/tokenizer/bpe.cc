#include "workers/model/tokenizer/bpe.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "runtime/base/status_macros.h"
#include "workers/model/tokenizer/fields.h"
#include "workers/model/tokenizer/pre_tokenizer.h"

namespace omni::tokenizer {
namespace {

constexpr int kHalf = 32;

// Valid UTF-8 has no larger byte.
constexpr int kLastUtf8Byte = 0xF4;

uint64_t Pack(uint32_t high, uint32_t low) {
  return uint64_t{high} << kHalf | low;
}

// Code point of the one- or two-byte character at `*position`, which is moved
// over it.
size_t NextCharacter(std::string_view text, size_t* position) {
  const auto lead = static_cast<unsigned char>(text[(*position)++]);
  if (lead < 0x80) return lead;
  const auto trail = static_cast<unsigned char>(text[(*position)++]);
  return (lead & 0x1Fu) << 6 | (trail & 0x3Fu);
}

// Refuses what would make this another algorithm than the one here.
absl::Status CheckSettings(const Fields& fields) {
  // Old files name no type.
  if (fields.Find("type") != nullptr) {
    ASSIGN_OR_RETURN(const std::string type, fields.String("type"));
    if (type != "BPE") {
      return fields.Error(absl::StrFormat("type \"%s\" is not served", type));
    }
  }
  if (const json::Value* const dropout = fields.Find("dropout")) {
    double value = 0;
    if (!dropout->is_number() ||
        !absl::SimpleAtod(dropout->number().text, &value) || value != 0) {
      return fields.Error("\"dropout\" is not served");
    }
  }
  ASSIGN_OR_RETURN(const bool byte_fallback,
                   fields.BoolOr("byte_fallback", false));
  if (byte_fallback) return fields.Error("\"byte_fallback\" is not served");
  for (const char* const affix :
       {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (fields.Find(affix) == nullptr) continue;
    ASSIGN_OR_RETURN(const std::string value, fields.String(affix));
    if (!value.empty()) {
      return fields.Error(absl::StrFormat("\"%s\" is not served", affix));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Bpe> Bpe::FromJson(json::Value section) {
  ASSIGN_OR_RETURN(const Fields fields, Fields::Of(section, "model"));
  RETURN_IF_ERROR(CheckSettings(fields));
  Bpe bpe;
  ASSIGN_OR_RETURN(bpe.ignore_merges_, fields.BoolOr("ignore_merges", false));
  for (json::Member& member : section.object()) {
    if (member.first == "vocab") {
      RETURN_IF_ERROR(bpe.ReadVocabulary(&member.second));
    }
  }
  RETURN_IF_ERROR(bpe.ReadAlphabet());
  ASSIGN_OR_RETURN(const json::Array* const merges, fields.Array("merges"));
  RETURN_IF_ERROR(bpe.ReadMerges(*merges));
  return bpe;
}

absl::Status Bpe::ReadVocabulary(json::Value* vocabulary) {
  if (!vocabulary->is_object()) {
    return absl::InvalidArgumentError("model.vocab: must be an object");
  }
  json::Object& entries = vocabulary->object();
  vocabulary_.reserve(entries.size());
  for (json::Member& entry : entries) {
    ASSIGN_OR_RETURN(const uint32_t id, ReadId(entry.second, "model.vocab"));
    size_ = std::max(size_, id + 1);
    vocabulary_.emplace(std::move(entry.first), id);
  }
  std::vector<bool> taken(size_);
  for (const auto& [token, id] : vocabulary_) {
    if (taken[id]) {
      return absl::InvalidArgumentError(
          absl::StrFormat("model.vocab: two entries have the id %d", id));
    }
    taken[id] = true;
  }
  return absl::OkStatus();
}

absl::Status Bpe::ReadAlphabet() {
  for (int byte = 0; byte <= kLastUtf8Byte; ++byte) {
    if (byte == 0xC0 || byte == 0xC1) continue;  // Not in UTF-8 either.
    const std::string_view spelling =
        ByteSpelling(static_cast<unsigned char>(byte));
    const std::optional<uint32_t> id = TokenId(spelling);
    if (!id.has_value()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "model.vocab: \"%s\", which stands for the byte 0x%02X, is missing",
          spelling, byte));
    }
    size_t position = 0;
    alphabet_[NextCharacter(spelling, &position)] = *id;
  }
  return absl::OkStatus();
}

absl::Status Bpe::ReadMerges(const json::Array& merges) {
  merges_.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const json::Value& entry = merges[rank];
    std::string_view left;
    std::string_view right;
    if (entry.is_array() && entry.array().size() == 2 &&
        entry.array()[0].is_string() && entry.array()[1].is_string()) {
      left = entry.array()[0].string();
      right = entry.array()[1].string();
    } else if (entry.is_string()) {
      const std::string_view both = entry.string();
      const size_t space = both.find(' ');
      left = both.substr(0, space);
      if (space != std::string_view::npos) right = both.substr(space + 1);
    }
    const auto error = [rank](std::string_view message) {
      return absl::InvalidArgumentError(
          absl::StrFormat("model.merges[%d]: %s", rank, message));
    };
    if (left.empty() || right.empty() ||
        (entry.is_string() && right.find(' ') != std::string_view::npos)) {
      return error("must be \"a b\" or [\"a\", \"b\"]");
    }
    const std::optional<uint32_t> left_id = TokenId(left);
    const std::optional<uint32_t> right_id = TokenId(right);
    const std::optional<uint32_t> id =
        TokenId(absl::StrFormat("%s%s", left, right));
    if (!left_id.has_value() || !right_id.has_value() || !id.has_value()) {
      return error(absl::StrFormat(
          "\"%s\", \"%s\" or what they merge to is not in the vocabulary", left,
          right));
    }
    merges_[Pack(*left_id, *right_id)] = {static_cast<uint32_t>(rank), *id};
  }
  return absl::OkStatus();
}

std::optional<uint32_t> Bpe::TokenId(std::string_view token) const {
  const auto found =
      vocabulary_.find(absl::string_view(token.data(), token.size()));
  if (found == vocabulary_.end()) return std::nullopt;
  return found->second;
}

void Bpe::Offer(uint32_t index, Workspace& workspace) const {
  Workspace::Symbol& symbol = workspace.symbols_[index];
  symbol.rank = Workspace::kNone;
  if (symbol.next == Workspace::kNone) return;
  const auto merge =
      merges_.find(Pack(symbol.id, workspace.symbols_[symbol.next].id));
  if (merge == merges_.end()) return;
  symbol.rank = merge->second.rank;
  symbol.merged = merge->second.id;
  workspace.queue_.push_back(Pack(symbol.rank, index));
}

void Bpe::Encode(std::string_view word, Workspace& workspace,
                 std::vector<uint32_t>& ids) const {
  if (ignore_merges_) {
    if (const std::optional<uint32_t> id = TokenId(word)) {
      ids.push_back(*id);
      return;
    }
  }
  std::vector<Workspace::Symbol>& symbols = workspace.symbols_;
  std::vector<uint64_t>& queue = workspace.queue_;
  symbols.clear();
  queue.clear();
  for (size_t position = 0; position < word.size();) {
    const size_t character = NextCharacter(word, &position);
    const auto index = static_cast<uint32_t>(symbols.size());
    symbols.push_back({.id = alphabet_[character],
                       .previous = index == 0 ? Workspace::kNone : index - 1,
                       .next = index + 1});
  }
  if (symbols.empty()) return;
  symbols.back().next = Workspace::kNone;
  for (uint32_t i = 0; i < symbols.size(); ++i) Offer(i, workspace);

  std::make_heap(queue.begin(), queue.end(), std::greater<>());
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    const auto rank = static_cast<uint32_t>(queue.back() >> kHalf);
    const auto index = static_cast<uint32_t>(queue.back());
    queue.pop_back();
    Workspace::Symbol& symbol = symbols[index];
    // A rank belongs to one pair, so the same rank means the same pair.
    if (symbol.rank != rank) continue;
    Workspace::Symbol& eaten = symbols[symbol.next];
    symbol.id = symbol.merged;
    symbol.next = eaten.next;
    eaten.rank = Workspace::kNone;
    if (symbol.next != Workspace::kNone) symbols[symbol.next].previous = index;

    const size_t queued = queue.size();
    Offer(index, workspace);
    if (queue.size() > queued) {
      std::push_heap(queue.begin(), queue.end(), std::greater<>());
    }
    if (symbol.previous != Workspace::kNone) {
      const size_t before = queue.size();
      Offer(symbol.previous, workspace);
      if (queue.size() > before) {
        std::push_heap(queue.begin(), queue.end(), std::greater<>());
      }
    }
  }
  for (uint32_t i = 0; i != Workspace::kNone; i = symbols[i].next) {
    ids.push_back(symbols[i].id);
  }
}

}  // namespace omni::tokenizer
