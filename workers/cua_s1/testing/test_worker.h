#ifndef OMNI_WORKERS_CUA_S1_TESTING_TEST_WORKER_H_
#define OMNI_WORKERS_CUA_S1_TESTING_TEST_WORKER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "workers/cua_s1/identity.h"
#include "workers/cua_s1/testing/fake_decoder.h"
#include "workers/cua_s1/worker.h"
#include "workers/model/qwen3_5/config.h"
#include "workers/model/testing/fake_weights.h"

namespace omni::testing {

// Two hidden values, no layers, more positions than a prompt may have tokens.
qwen3_5::Config SmallConfig();

// The dimensions that the published name stands for.
qwen3_5::Config PublishedConfig();

// An embedding for SmallConfig whose row i is (i, 1).
FakeWeights SmallEmbedding();

// "test-model", answering as "test/model@1".
cua_s1::Identity TestIdentity();

// A Cua-S1 worker with the default checkpoint's tokenizer and no model.
struct TestWorker {
  std::unique_ptr<cua_s1::CuaS1Worker> worker;
  FakeDecoder* decoder;  // Owned by the worker.
};

// Errors as CuaS1Worker::Create.
absl::StatusOr<TestWorker> MakeTestWorker(
    const qwen3_5::Config& config = SmallConfig());

}  // namespace omni::testing

#endif  // OMNI_WORKERS_CUA_S1_TESTING_TEST_WORKER_H_
