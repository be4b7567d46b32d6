#include "runtime/server/decision_calls.h"

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "runtime/base/logging.h"
#include "runtime/base/request_error.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/reader.h"
#include "runtime/json/system_one.h"
#include "runtime/server/response_check.h"

namespace omni {
namespace {

absl::Status CheckBodySize(size_t bytes) {
  if (bytes <= kMaxBodyBytes) return absl::OkStatus();
  return RequestError(
      v1::ErrorReason::BODY_TOO_LARGE,
      absl::StrFormat("the request has %d bytes, more than %d", bytes,
                      kMaxBodyBytes),
      {.limit = kMaxBodyBytes, .actual = static_cast<int64_t>(bytes)});
}

// The JSON form of a request, in which the worker validates it.
absl::StatusOr<json::Value> Decode(const v1::DecideRequest& request,
                                   json::Dialect dialect) {
  RETURN_IF_ERROR(CheckBodySize(request.ByteSizeLong()));
  return json::FromRequest(request, dialect);
}

absl::StatusOr<json::Value> Decode(const v1::DecideJsonRequest& request,
                                   json::Dialect dialect) {
  RETURN_IF_ERROR(CheckBodySize(request.body().size()));
  return json::Read(request.body(), {.dialect = dialect});
}

void Encode(v1::DecideResponse from, v1::DecideResponse& to) {
  to = std::move(from);
}

void Encode(const v1::DecideResponse& from, v1::DecideJsonResponse& to) {
  to.set_body(json::WriteResponse(from));
}

// Decide or DecideJson.
template <typename Request, typename Response>
class DecideCall final : public TypedUnaryCall<Request, Response> {
 public:
  // The member of ServiceBinding that asks for this method.
  using RequestFunction = void (ServiceBinding::*)(
      grpc::ServerContext*, Request*, typename DecideCall::Responder*,
      grpc::ServerCompletionQueue*, void*);

  DecideCall(const CallEnvironment& environment,
             RequestFunction request_function)
      : TypedUnaryCall<Request, Response>(environment.live),
        environment_(environment),
        request_function_(request_function) {}

 private:
  using UnaryCall::context;
  using UnaryCall::FinishOnce;
  using TypedUnaryCall<Request, Response>::request_;
  using TypedUnaryCall<Request, Response>::responder_;
  using TypedUnaryCall<Request, Response>::response_;

  void RequestMethod(void* tag) override {
    (environment_.binding->*request_function_)(
        &context(), &request_, &responder_, environment_.queue, tag);
  }

  void ArmReplacement() override {
    if (environment_.going_down->load()) return;
    (new DecideCall(environment_, request_function_))->Arm();
  }

  void OnRequest() override ABSL_LOCKS_EXCLUDED(mu_) {
    Pipeline* const pipeline = environment_.pipeline;
    absl::StatusOr<std::shared_ptr<Pipeline::Run>> run = pipeline->Admit(
        {.decode = [this,
                    pipeline] { return Decode(request_, pipeline->dialect()); },
         .deadline = Deadline(),
         .caller_gone = [this] { return context().IsCancelled(); },
         .on_done =
             [this](absl::StatusOr<v1::DecideResponse> result) {
               Reply(std::move(result));
             }});
    if (!run.ok()) {
      FinishOnce(run.status(), pipeline->EstimatedWait());
      return;
    }
    bool caller_gone;
    {
      absl::MutexLock lock(&mu_);
      run_ = *run;
      caller_gone = caller_gone_;
    }
    if (caller_gone) (*run)->Cancel();
    // The call may be finished and deleted before this returns.
    (*run)->Start();
  }

  void OnCallerGone() override ABSL_LOCKS_EXCLUDED(mu_) {
    std::shared_ptr<Pipeline::Run> run;
    {
      absl::MutexLock lock(&mu_);
      caller_gone_ = true;
      run = run_;
    }
    // Not under mu_: the reply may be sent in here.
    if (run != nullptr) run->Cancel();
  }

  // The caller's deadline on the pipeline's clock.
  absl::Time Deadline() {
    const absl::Time now = environment_.pipeline->clock()->Now();
    const auto deadline = context().deadline();
    if (deadline == std::chrono::system_clock::time_point::max()) {
      return now + kDefaultDeadline;
    }
    return now + (absl::FromChrono(deadline) - absl::Now());
  }

  void Reply(absl::StatusOr<v1::DecideResponse> result) {
    absl::Status status = result.status();
    if (status.ok()) {
      try {
        Encode(*std::move(result), response_);
      } catch (const std::exception& e) {
        status = absl::InternalError(e.what());
        LOG(ERROR) << "encoding a response threw: " << e.what();
      }
    }
    FinishOnce(status);
  }

  const CallEnvironment environment_;
  const RequestFunction request_function_;

  absl::Mutex mu_;
  bool caller_gone_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<Pipeline::Run> run_ ABSL_GUARDED_BY(mu_);
};

class GetInfoCall final
    : public TypedUnaryCall<v1::GetInfoRequest, v1::WorkerInfo> {
 public:
  explicit GetInfoCall(const CallEnvironment& environment)
      : TypedUnaryCall(environment.live), environment_(environment) {}

 private:
  void RequestMethod(void* tag) override {
    environment_.binding->RequestGetInfo(&context(), &request_, &responder_,
                                         environment_.queue, tag);
  }

  void ArmReplacement() override {
    if (environment_.going_down->load()) return;
    (new GetInfoCall(environment_))->Arm();
  }

  void OnRequest() override {
    response_ = environment_.pipeline->Info();
    const absl::Status status = CheckStringsAreUtf8(response_);
    if (!status.ok()) LOG(ERROR) << status.ToString();
    FinishOnce(status);
  }

  const CallEnvironment environment_;
};

}  // namespace

void ArmOneCallOfEachMethod(const CallEnvironment& environment) {
  (new DecideCall<v1::DecideRequest, v1::DecideResponse>(
       environment, &ServiceBinding::RequestDecide))
      ->Arm();
  (new DecideCall<v1::DecideJsonRequest, v1::DecideJsonResponse>(
       environment, &ServiceBinding::RequestDecideJson))
      ->Arm();
  (new GetInfoCall(environment))->Arm();
}

}  // namespace omni
