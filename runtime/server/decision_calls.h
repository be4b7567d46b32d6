#ifndef OMNI_RUNTIME_SERVER_DECISION_CALLS_H_
#define OMNI_RUNTIME_SERVER_DECISION_CALLS_H_

#include <atomic>

#include "grpcpp/completion_queue.h"
#include "runtime/server/pipeline.h"
#include "runtime/server/service_binding.h"
#include "runtime/server/unary_call.h"

namespace omni {

// What the calls of one server share. Nothing is owned, all of it outlives
// every call.
struct CallEnvironment {
  ServiceBinding* binding;
  Pipeline* pipeline;
  grpc::ServerCompletionQueue* queue;
  LiveCalls* live;
  // Set when the server goes down: calls are no longer replaced.
  const std::atomic<bool>* going_down;
};

// Arms one call of each method: Decide and DecideJson, which go through the
// pipeline, and GetInfo, which is answered where it arrives.
void ArmOneCallOfEachMethod(const CallEnvironment& environment);

}  // namespace omni

#endif  // OMNI_RUNTIME_SERVER_DECISION_CALLS_H_
