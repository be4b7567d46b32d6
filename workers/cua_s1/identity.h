#ifndef OMNI_WORKERS_CUA_S1_IDENTITY_H_
#define OMNI_WORKERS_CUA_S1_IDENTITY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workers/model/qwen3_5/config.h"

namespace omni::cua_s1 {

// The system message of the published model: one paragraph of 331 bytes. From
// trycua/cua (MIT, Copyright (c) 2025 Cua AI, Inc.); see NOTICE.
extern const char kSystemPrompt[];

// Who a checkpoint says it is. The defaults are the published cua-s1-4b-0.2;
// a checkpoint of another name carries its own.
struct Identity {
  // What a request's `model` must be.
  std::string request_model = "cua-s1-4b-0.2";
  // What answers carry as `model`.
  std::string response_model =
      "cua-ai/cua-s1-4b-0.2@16818868b0cc7813808aae4e87b417657046ab79:text";
  // Revision of the checkpoint, for GetInfo; may be empty.
  std::string revision = "16818868b0cc7813808aae4e87b417657046ab79";
  std::string system_prompt = kSystemPrompt;
  // What users must know about the checkpoint; empty if nothing.
  std::string notice;
  // Whether answers carry the published model's name.
  bool published = true;
};

// The identity of the checkpoint folder `checkpoint`, with the LoRA adapter of
// folder `adapter` merged in unless that is empty.
//
// A merged export must hold the marker cua_s1_export.json, whose `format` is
// "cua-s1-text-merged/1"; its optional strings `request_model`,
// `response_model`, `revision`, `system_prompt` and `notice` replace the
// published ones; names have 1 to 256 bytes. With an adapter it is the
// adapter's folder that may hold a marker, and the checkpoint's must not: it
// would be merged twice.
//
// Errors: FAILED_PRECONDITION, naming the file and what is wrong with it.
absl::StatusOr<Identity> LoadIdentity(const std::string& checkpoint,
                                      const std::string& adapter);

// FAILED_PRECONDITION, naming key, value and requirement, for a model that
// cannot serve under `identity`: the letters are read out of the input
// embedding, so output embeddings of their own are refused; and what answers
// under the published name must have the published shape.
absl::Status CheckModel(const Identity& identity,
                        const qwen3_5::Config& config);

}  // namespace omni::cua_s1

#endif  // OMNI_WORKERS_CUA_S1_IDENTITY_H_
