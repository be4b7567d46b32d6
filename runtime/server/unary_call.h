#ifndef OMNI_RUNTIME_SERVER_UNARY_CALL_H_
#define OMNI_RUNTIME_SERVER_UNARY_CALL_H_

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/async_unary_call.h"
#include "grpcpp/support/status.h"
#include "runtime/base/clock.h"

namespace omni {

// Counts the calls that exist. A queue may be shut down only at zero: starting
// anything on a queue that is shut down aborts the process. Thread-safe.
class LiveCalls {
 public:
  // One more exists, armed.
  void Add() ABSL_LOCKS_EXCLUDED(mu_);
  // One of them got its request.
  void Begin() ABSL_LOCKS_EXCLUDED(mu_);
  // One that began has lost its caller, and knows it.
  void Abandon() ABSL_LOCKS_EXCLUDED(mu_);
  // One is gone that had, or had not, come so far.
  void Remove(bool begun, bool abandoned) ABSL_LOCKS_EXCLUDED(mu_);

  int count() const ABSL_LOCKS_EXCLUDED(mu_);
  int abandoned() const ABSL_LOCKS_EXCLUDED(mu_);

  void AwaitZero() ABSL_LOCKS_EXCLUDED(mu_);
  // Waits until armed calls alone exist, or `deadline` comes. True if they do:
  // then the replies have gone out.
  bool AwaitNoneBegun(const Clock* clock, absl::Time deadline)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  bool NoneBegun() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return begun_ == 0; }

  mutable absl::Mutex mu_;
  int count_ ABSL_GUARDED_BY(mu_) = 0;
  int begun_ ABSL_GUARDED_BY(mu_) = 0;
  int abandoned_ ABSL_GUARDED_BY(mu_) = 0;
};

// One unary call on a completion queue, from arming to deletion.
//
// Flow: Arm asks gRPC for a call. HandleTag, called by the threads that poll
// the queue, brings what happens to it: the request, the end of the call for
// whatever reason ("done"), the end of sending ("finished"). The done tag comes
// for every call that began, and for no other; the finished tag for every call
// that was finished; no order is promised. So a call that began goes when both
// have come, and one that never began goes at once.
//
// Ownership: a call is made by new, owns itself after Arm, and is deleted by
// HandleTag. Whoever calls FinishOnce must not touch it afterwards.
//
// Thread-safe; FinishOnce may be called from any thread.
class UnaryCall {
 public:
  UnaryCall(const UnaryCall&) = delete;
  UnaryCall& operator=(const UnaryCall&) = delete;

  // Handles a tag that the queue returned. Does not throw.
  static void HandleTag(void* tag, bool ok);

  // Asks for a call. Nothing may use the object afterwards but HandleTag.
  void Arm();

 protected:
  // `live` is not owned and outlives the call.
  explicit UnaryCall(LiveCalls* live) : live_(live) { live_->Add(); }
  virtual ~UnaryCall() { live_->Remove(begun_, abandoned_); }

  // The service's Request<Method>.
  virtual void RequestMethod(void* tag) = 0;
  // Arms another call of the same method, unless the server is going down.
  virtual void ArmReplacement() = 0;
  // Takes the request; leads to one FinishOnce.
  virtual void OnRequest() = 0;
  // The caller cancelled, went away or ran out of time. The call still has to
  // be finished, even if this throws. Comes at most once, possibly while
  // OnRequest runs.
  virtual void OnCallerGone() {}
  // Sends the response.
  virtual void SendResponse(void* tag) = 0;
  virtual void SendError(const grpc::Status& status, void* tag) = 0;

  // Sends the response if `status` is OK, else the error that ClientStatus
  // makes of it, with the trailer for retries. Only the first call counts.
  void FinishOnce(const absl::Status& status,
                  absl::Duration estimated_wait = absl::ZeroDuration())
      ABSL_LOCKS_EXCLUDED(mu_);

  grpc::ServerContext& context() { return context_; }

 private:
  // What a tag points to: a call has one of each kind.
  enum class Event { kRequested, kDone, kFinished };
  struct Tag {
    UnaryCall* call;
    Event event;
  };

  void Handle(Event event, bool ok);
  void HandleRequested(bool ok);
  void HandleDone() ABSL_LOCKS_EXCLUDED(mu_);
  void HandleFinished() ABSL_LOCKS_EXCLUDED(mu_);

  LiveCalls* const live_;
  grpc::ServerContext context_;
  Tag requested_{this, Event::kRequested};
  Tag done_{this, Event::kDone};
  Tag finished_{this, Event::kFinished};

  // Each is written by the handler of one tag, before that lets another one
  // delete the call.
  bool begun_ = false;
  bool abandoned_ = false;

  absl::Mutex mu_;
  bool finishing_ ABSL_GUARDED_BY(mu_) = false;
  bool done_seen_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_seen_ ABSL_GUARDED_BY(mu_) = false;
};

// The messages of a call; what it does is left to the derived class.
template <typename Request, typename Response>
class TypedUnaryCall : public UnaryCall {
 public:
  using Responder = grpc::ServerAsyncResponseWriter<Response>;

 protected:
  using UnaryCall::UnaryCall;

  void SendResponse(void* tag) final {
    responder_.Finish(response_, grpc::Status::OK, tag);
  }
  void SendError(const grpc::Status& status, void* tag) final {
    responder_.FinishWithError(status, tag);
  }

  Request request_;
  // Filled before FinishOnce(OK).
  Response response_;
  Responder responder_{&context()};
};

}  // namespace omni

#endif  // OMNI_RUNTIME_SERVER_UNARY_CALL_H_
