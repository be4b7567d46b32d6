// The Cua-S1 worker process.

#include <gflags/gflags.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "omni/v1/cua_s1.grpc.pb.h"
#include "runtime/base/logging.h"
#include "runtime/base/status_macros.h"
#include "runtime/server/service_binding.h"
#include "runtime/server/worker_main.h"
#include "workers/cua_s1/identity.h"
#include "workers/cua_s1/worker.h"
#include "workers/model/checkpoint.h"
#include "workers/model/qwen3_5/config.h"
#include "workers/model/qwen3_5/cpu_decoder.h"
#include "workers/model/qwen3_5/lora.h"
#include "workers/model/tokenizer.h"

DEFINE_string(checkpoint, "",
              "folder of a merged Cua-S1 export, or of the base model if "
              "--adapter is given (required)");
DEFINE_string(adapter, "",
              "folder of a LoRA adapter to merge into the checkpoint");
DEFINE_string(precision, "auto",
              "operands of matrix products: bf16, f32 or auto (bf16 where the "
              "processor has AVX512-BF16)");
DEFINE_int32(threads, 0,
             "threads of one forward pass; 0: as many as processors");

namespace omni::cua_s1 {
namespace {

absl::StatusOr<qwen3_5::CpuDecoderOptions> DecoderOptions() {
  qwen3_5::CpuDecoderOptions options{.threads = FLAGS_threads};
  if (FLAGS_precision == "auto") {
    options.precision = qwen3_5::CpuPrecision::kAuto;
  } else if (FLAGS_precision == "f32") {
    options.precision = qwen3_5::CpuPrecision::kF32;
  } else if (FLAGS_precision == "bf16") {
    options.precision = qwen3_5::CpuPrecision::kBF16;
  } else {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--precision=%s: must be auto, bf16 or f32", FLAGS_precision));
  }
  if (const absl::Status status = qwen3_5::CpuDecoder::CheckOptions(options);
      !status.ok()) {
    return absl::Status(status.code(),
                        absl::StrFormat("--%s", std::string(status.message())));
  }
  return options;
}

absl::StatusOr<std::unique_ptr<WeightSource>> OpenWeights() {
  ASSIGN_OR_RETURN(std::unique_ptr<WeightSource> weights,
                   Checkpoint::Open(FLAGS_checkpoint));
  if (FLAGS_adapter.empty()) return weights;
  ASSIGN_OR_RETURN(
      std::unique_ptr<qwen3_5::AdaptedWeights> adapted,
      qwen3_5::AdaptedWeights::Load(std::move(weights), FLAGS_adapter));
  // The operator knows whether that is what --checkpoint holds: a folder does
  // not say which repository and revision it came from.
  LOG(INFO) << FLAGS_adapter << " changes " << adapted->module_count()
            << " projections and was trained on \"" << adapted->base_model()
            << "\", revision \"" << adapted->base_revision() << "\"";
  return adapted;
}

absl::StatusOr<std::unique_ptr<Worker>> Load() {
  if (FLAGS_checkpoint.empty()) {
    return absl::InvalidArgumentError(
        "--checkpoint: must name a folder with config.json, tokenizer.json and "
        "weights");
  }
  ASSIGN_OR_RETURN(const qwen3_5::CpuDecoderOptions options, DecoderOptions());
  const std::filesystem::path folder(FLAGS_checkpoint);
  ASSIGN_OR_RETURN(Identity identity,
                   LoadIdentity(FLAGS_checkpoint, FLAGS_adapter));
  ASSIGN_OR_RETURN(const qwen3_5::Config config,
                   qwen3_5::LoadConfig((folder / "config.json").string()));
  // Before the weights, which take longest.
  RETURN_IF_ERROR(CheckModel(identity, config));
  ASSIGN_OR_RETURN(std::unique_ptr<const Tokenizer> tokenizer,
                   Tokenizer::FromFile((folder / "tokenizer.json").string()));
  ASSIGN_OR_RETURN(std::unique_ptr<WeightSource> weights, OpenWeights());
  absl::StatusOr<std::unique_ptr<qwen3_5::CpuDecoder>> decoder =
      qwen3_5::CpuDecoder::Load(*weights, config, options);
  if (!decoder.ok()) {
    return absl::Status(
        decoder.status().code(),
        absl::StrFormat("--checkpoint=%s: %s", FLAGS_checkpoint,
                        std::string(decoder.status().message())));
  }
  Device device{.name = "cpu",
                .precision = (*decoder)->operand() == ops::Operand::kBF16
                                 ? "bf16"
                                 : "f32",
                .threads = (*decoder)->threads()};
  LOG(INFO) << "loaded " << FLAGS_checkpoint << " in " << device.precision
            << " for " << device.threads << " threads";
  return CuaS1Worker::Create(std::move(identity), std::move(tokenizer),
                             *std::move(decoder), *weights, std::move(device));
}

}  // namespace
}  // namespace omni::cua_s1

int main(int argc, char** argv) {
  return omni::WorkerMain(
      argc, argv, "Serves the Cua-S1 decision model over gRPC.",
      std::make_unique<omni::ServiceBindingOf<omni::v1::CuaS1>>(),
      [] { return omni::cua_s1::Load(); });
}
