#include "workers/model/ops/linear.h"

#include <exception>
#include <new>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/base/status_macros.h"
#include "workers/model/ops/parallel.h"

namespace omni::ops {
namespace {

using dnnl::memory;

// Runs a piece of oneDNN code; it and the containers around it report errors by
// throwing.
template <typename Body>
absl::Status Guarded(const char* what, const Body& body) {
  try {
    body();
    return absl::OkStatus();
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_out_of_memory) {
      return absl::ResourceExhaustedError(
          absl::StrFormat("no memory to %s", what));
    }
    return absl::InternalError(
        absl::StrFormat("oneDNN failed to %s: %s", what, e.what()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("no memory to %s", what));
  } catch (const std::exception& e) {
    return absl::InternalError(
        absl::StrFormat("cannot %s: %s", what, e.what()));
  }
}

}  // namespace

bool HasFastBf16() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx512_core_bf16:
    case dnnl::cpu_isa::avx512_core_amx:
      return true;
    default:
      return false;
  }
}

bool HasAvx512() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx512_core:
    case dnnl::cpu_isa::avx512_core_vnni:
    case dnnl::cpu_isa::avx512_core_bf16:
    case dnnl::cpu_isa::avx512_core_amx:
      return true;
    default:
      return false;
  }
}

struct LinearEngine::Weights::Packed {
  memory weights;
};

LinearEngine::Weights::Weights() = default;
LinearEngine::Weights::Weights(Weights&&) noexcept = default;
LinearEngine::Weights& LinearEngine::Weights::operator=(Weights&&) noexcept =
    default;
LinearEngine::Weights::~Weights() = default;

int64_t LinearEngine::Weights::bytes() const {
  if (packed_ == nullptr) return 0;
  return static_cast<int64_t>(packed_->weights.get_desc().get_size());
}

struct LinearEngine::State {
  struct Plan {
    dnnl::matmul::primitive_desc description;
    dnnl::matmul primitive;
  };
  // Rows, outputs, inputs, add.
  using PlanKey = std::tuple<int64_t, int64_t, int64_t, bool>;

  State(Operand operand, int threads)
      : type(operand == Operand::kF32 ? memory::data_type::f32
                                      : memory::data_type::bf16),
        threads(threads),
        engine(dnnl::engine::kind::cpu, 0),
        stream(engine) {}

  // With `weights` of any layout, oneDNN chooses one.
  dnnl::matmul::primitive_desc Describe(int64_t rows, int64_t outputs,
                                        int64_t inputs, bool add,
                                        const memory::desc& weights) const {
    const memory::desc x({rows, inputs}, type, memory::format_tag::ab);
    const memory::desc y({rows, outputs}, memory::data_type::f32,
                         memory::format_tag::ab);
    dnnl::primitive_attr attributes;
    if (add) {
      dnnl::post_ops operations;
      operations.append_sum(1.0F);
      attributes.set_post_ops(operations);
    }
    return {dnnl::matmul::desc(x, weights, y), attributes, engine};
  }

  const memory::data_type type;
  const int threads;
  dnnl::engine engine;
  dnnl::stream stream;
  absl::flat_hash_map<PlanKey, Plan> plans;
};

LinearEngine::LinearEngine(std::unique_ptr<State> state)
    : state_(std::move(state)) {}

LinearEngine::~LinearEngine() = default;

absl::StatusOr<std::unique_ptr<LinearEngine>> LinearEngine::Create(
    Operand operand, int threads) {
  if (operand == Operand::kBF16 && !HasFastBf16()) {
    return absl::FailedPreconditionError(
        "this processor has no AVX512-BF16 instructions (or DNNL_MAX_CPU_ISA "
        "forbids them)");
  }
  std::unique_ptr<State> state;
  RETURN_IF_ERROR(Guarded(
      "start", [&] { state = std::make_unique<State>(operand, threads); }));
  return std::unique_ptr<LinearEngine>(new LinearEngine(std::move(state)));
}

absl::StatusOr<LinearEngine::Weights> LinearEngine::Pack(int64_t outputs,
                                                         int64_t inputs,
                                                         const void* plain) {
  Weights result;
  result.outputs_ = outputs;
  result.inputs_ = inputs;
  RETURN_IF_ERROR(Guarded("pack weights", [&] {
    result.packed_ = std::make_unique<Weights::Packed>();
    UseThreads(state_->threads);
    // The layout that the largest block likes; smaller ones then use it too.
    const memory::desc any({inputs, outputs}, state_->type,
                           memory::format_tag::any);
    const auto description =
        state_->Describe(kMaxRows, outputs, inputs, /*add=*/false, any);
    // [outputs, inputs] row-major is [inputs, outputs] column-major.
    const memory source(
        {{inputs, outputs}, state_->type, memory::format_tag::ba},
        state_->engine, const_cast<void*>(plain));
    memory& packed = result.packed_->weights;
    packed = memory(description.weights_desc(), state_->engine);
    dnnl::reorder(source, packed)
        .execute(state_->stream, const_cast<memory&>(source), packed);
    state_->stream.wait();
  }));
  return result;
}

absl::Status LinearEngine::Run(const Weights& weights, int64_t rows,
                               const void* x, bool add, float* y) {
  return Guarded("multiply", [&] {
    UseThreads(state_->threads);
    const State::PlanKey key(rows, weights.outputs_, weights.inputs_, add);
    auto found = state_->plans.find(key);
    if (found == state_->plans.end()) {
      auto description =
          state_->Describe(rows, weights.outputs_, weights.inputs_, add,
                           weights.packed_->weights.get_desc());
      dnnl::matmul primitive(description);
      found = state_->plans
                  .emplace(key, State::Plan{std::move(description),
                                            std::move(primitive)})
                  .first;
    }
    State::Plan& plan = found->second;
    const memory source(plan.description.src_desc(), state_->engine,
                        const_cast<void*>(x));
    const memory target(plan.description.dst_desc(), state_->engine, y);
    plan.primitive.execute(state_->stream,
                           {{DNNL_ARG_SRC, source},
                            {DNNL_ARG_WEIGHTS, weights.packed_->weights},
                            {DNNL_ARG_DST, target}});
    state_->stream.wait();
  });
}

}  // namespace omni::ops
