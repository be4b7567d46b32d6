#include "workers/model/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status_macros.h"
#include "workers/model/tokenizer/fields.h"
#include "workers/model/tokenizer/unicode.h"

namespace omni::tokenizer {
namespace {

constexpr int kBitsOfByte = 8;

uint64_t Edge(uint32_t node, char byte) {
  return uint64_t{node} << kBitsOfByte | static_cast<unsigned char>(byte);
}

}  // namespace

absl::StatusOr<std::vector<AddedToken>> ReadAddedTokens(
    const json::Value* section) {
  std::vector<AddedToken> tokens;
  if (section == nullptr) return tokens;
  if (!section->is_array()) {
    return absl::InvalidArgumentError("added_tokens: must be an array");
  }
  absl::flat_hash_set<std::string> contents;
  for (const json::Value& entry : section->array()) {
    ASSIGN_OR_RETURN(
        const Fields fields,
        Fields::Of(entry, absl::StrFormat("added_tokens[%d]", tokens.size())));
    AddedToken token;
    ASSIGN_OR_RETURN(token.id, fields.Uint32("id"));
    ASSIGN_OR_RETURN(token.content, fields.String("content"));
    ASSIGN_OR_RETURN(token.special, fields.Bool("special"));
    ASSIGN_OR_RETURN(token.lstrip, fields.Bool("lstrip"));
    ASSIGN_OR_RETURN(token.rstrip, fields.Bool("rstrip"));
    ASSIGN_OR_RETURN(token.single_word, fields.Bool("single_word"));
    ASSIGN_OR_RETURN(token.normalized, fields.Bool("normalized"));
    if (token.content.empty()) return fields.Error("\"content\" is empty");
    if (!contents.insert(token.content).second) {
      return fields.Error(
          absl::StrFormat("\"%s\" is listed twice", token.content));
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

AddedTokenSplitter::AddedTokenSplitter(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)), ends_(1) {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    uint32_t node = 0;
    for (const char byte : tokens_[i].content) {
      const auto [child, is_new] = children_.try_emplace(
          Edge(node, byte), static_cast<uint32_t>(ends_.size()));
      if (is_new) ends_.emplace_back();
      node = child->second;
    }
    if (!ends_[node].has_value()) ends_[node] = i;
    begins_[static_cast<unsigned char>(tokens_[i].content.front())] = true;
  }
}

std::optional<AddedTokenSplitter::Match> AddedTokenSplitter::Find(
    std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!begins_[static_cast<unsigned char>(text[begin])]) continue;
    std::optional<Match> longest;
    uint32_t node = 0;
    for (size_t at = begin; at < text.size(); ++at) {
      const auto child = children_.find(Edge(node, text[at]));
      if (child == children_.end()) break;
      node = child->second;
      if (ends_[node].has_value()) longest = Match{*ends_[node], begin, at + 1};
    }
    if (longest.has_value()) return longest;
  }
  return std::nullopt;
}

std::vector<Segment> AddedTokenSplitter::Split(std::string_view text) const {
  std::vector<Segment> segments;
  size_t done = 0;  // Up to here `text` is in segments.
  size_t from = 0;
  size_t white_end = 0;  // End of the last white space that was looked at.
  while (const std::optional<Match> match = Find(text, from)) {
    // White space that the match takes along may still hold another match.
    from = match->end;
    const AddedToken& token = tokens_[match->token];
    size_t begin = match->begin;
    size_t end = match->end;
    if (token.single_word && (EndsWithWordCharacter(text.substr(0, begin)) ||
                              StartsWithWordCharacter(text.substr(end)))) {
      continue;
    }
    if (token.lstrip && begin > done) {
      begin -= TrailingWhiteSpace(text.substr(done, begin - done));
    }
    if (token.rstrip) {
      // Not measured again from inside, which would take quadratic time.
      if (end >= white_end) {
        white_end = end + LeadingWhiteSpace(text.substr(end));
      }
      end = white_end;
    }
    if (done < begin) {
      segments.push_back({std::nullopt, text.substr(done, begin - done)});
    }
    segments.push_back({token.id, text.substr(begin, end - begin)});
    done = end;
  }
  if (done < text.size()) {
    segments.push_back({std::nullopt, text.substr(done)});
  }
  return segments;
}

}  // namespace omni::tokenizer
