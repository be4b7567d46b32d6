#include "workers/model/tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/json_file.h"
#include "runtime/json/reader.h"
#include "runtime/json/value.h"
#include "workers/model/tokenizer/fields.h"
#include "workers/model/tokenizer/unicode.h"

namespace omni {
namespace {

using tokenizer::AddedToken;

// Published files have at most 33 MB.
constexpr int64_t kMaxFileBytes = int64_t{1} << 28;

// Every added token keeps its id of the vocabulary and has none of another.
absl::Status CheckIds(const std::vector<AddedToken>& tokens,
                      const tokenizer::Bpe& bpe) {
  absl::flat_hash_map<uint32_t, std::string> owners;
  for (const AddedToken& token : tokens) {
    const std::optional<uint32_t> known = bpe.TokenId(token.content);
    if (known.has_value() && *known != token.id) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "added_tokens: \"%s\" has the id %d, but %d in the vocabulary",
          token.content, token.id, *known));
    }
    const auto [owner, is_new] = owners.try_emplace(token.id, token.content);
    if (!is_new) {
      return absl::InvalidArgumentError(
          absl::StrFormat("added_tokens: \"%s\" and \"%s\" have the id %d",
                          owner->second, token.content, token.id));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Tokenizer>> Tokenizer::FromFile(
    const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  absl::StatusOr<std::unique_ptr<const Tokenizer>> tokenizer = FromJson(text);
  if (!tokenizer.ok()) {
    return absl::Status(
        tokenizer.status().code(),
        absl::StrFormat("%s: %s", path,
                        std::string(tokenizer.status().message())));
  }
  return tokenizer;
}

absl::StatusOr<std::unique_ptr<const Tokenizer>> Tokenizer::FromJson(
    std::string_view text) {
  absl::StatusOr<json::Value> read = json::Read(text);
  if (!read.ok()) {
    // Without the payload that makes it an error of a request.
    return absl::InvalidArgumentError(read.status().message());
  }
  ASSIGN_OR_RETURN(const tokenizer::Fields file,
                   tokenizer::Fields::Of(*read, "tokenizer"));
  if (file.Find("version") != nullptr) {
    ASSIGN_OR_RETURN(const std::string version, file.String("version"));
    if (version != "1.0") {
      return file.Error(
          absl::StrFormat("version \"%s\" is not served", version));
    }
  }
  ASSIGN_OR_RETURN(tokenizer::Normalizer normalizer,
                   tokenizer::Normalizer::FromJson(file.Find("normalizer")));
  ASSIGN_OR_RETURN(
      tokenizer::PreTokenizer pre_tokenizer,
      tokenizer::PreTokenizer::FromJson(file.Find("pre_tokenizer")));
  ASSIGN_OR_RETURN(
      tokenizer::PostProcessor post_processor,
      tokenizer::PostProcessor::FromJson(file.Find("post_processor")));
  ASSIGN_OR_RETURN(std::vector<AddedToken> tokens,
                   tokenizer::ReadAddedTokens(file.Find("added_tokens")));
  json::Value model;
  for (json::Member& member : read->object()) {
    if (member.first == "model") model = std::move(member.second);
  }
  ASSIGN_OR_RETURN(tokenizer::Bpe bpe,
                   tokenizer::Bpe::FromJson(std::move(model)));
  RETURN_IF_ERROR(CheckIds(tokens, bpe));

  uint32_t size = std::max(bpe.size(), post_processor.size());
  absl::flat_hash_map<std::string, uint32_t> added_ids;
  for (const AddedToken& token : tokens) {
    size = std::max(size, token.id + 1);
    added_ids.emplace(token.content, token.id);
  }
  // Where two contents are alike once normalized, special tokens go first.
  std::stable_partition(tokens.begin(), tokens.end(),
                        [](const AddedToken& token) { return token.special; });
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized;
  for (AddedToken& token : tokens) {
    if (!token.normalized) {
      raw.push_back(std::move(token));
      continue;
    }
    ASSIGN_OR_RETURN(token.content, normalizer.Normalize(token.content));
    normalized.push_back(std::move(token));
  }
  return absl::WrapUnique(new const Tokenizer(
      {.normalizer = std::move(normalizer),
       .pre_tokenizer = std::move(pre_tokenizer),
       .bpe = std::move(bpe),
       .post_processor = std::move(post_processor),
       .raw = tokenizer::AddedTokenSplitter(std::move(raw)),
       .normalized = tokenizer::AddedTokenSplitter(std::move(normalized)),
       .added_ids = std::move(added_ids),
       .vocabulary_size = size}));
}

absl::StatusOr<std::vector<uint32_t>> Tokenizer::Encode(
    std::string_view text, EncodeOptions options) const {
  if (text.size() > kMaxTextBytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the text has %d bytes, at most %d are served",
                        text.size(), kMaxTextBytes));
  }
  if (!tokenizer::IsValidUtf8(text)) {
    return absl::InvalidArgumentError("the text is not valid UTF-8");
  }
  tokenizer::Bpe::Workspace workspace;
  std::vector<uint32_t> ids;
  for (const tokenizer::Segment& segment : parts_.raw.Split(text)) {
    if (segment.id.has_value()) {
      ids.push_back(*segment.id);
    } else {
      RETURN_IF_ERROR(EncodeSegment(segment.text, workspace, ids));
    }
  }
  if (!options.add_special_tokens) return ids;
  return parts_.post_processor.Process(std::move(ids));
}

absl::Status Tokenizer::EncodeSegment(std::string_view text,
                                      tokenizer::Bpe::Workspace& workspace,
                                      std::vector<uint32_t>& ids) const {
  ASSIGN_OR_RETURN(const std::string normalized,
                   parts_.normalizer.Normalize(text));
  for (const tokenizer::Segment& segment :
       parts_.normalized.Split(normalized)) {
    if (segment.id.has_value()) {
      ids.push_back(*segment.id);
      continue;
    }
    ASSIGN_OR_RETURN(const tokenizer::Pieces pieces,
                     parts_.pre_tokenizer.Split(segment.text));
    for (const tokenizer::Range& word : pieces.ranges) {
      parts_.bpe.Encode(std::string_view(pieces.text)
                            .substr(word.begin, word.end - word.begin),
                        workspace, ids);
    }
  }
  return absl::OkStatus();
}

std::optional<uint32_t> Tokenizer::TokenId(std::string_view token) const {
  const auto added =
      parts_.added_ids.find(absl::string_view(token.data(), token.size()));
  if (added != parts_.added_ids.end()) return added->second;
  return parts_.bpe.TokenId(token);
}

}  // namespace omni
