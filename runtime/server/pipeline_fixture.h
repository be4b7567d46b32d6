#ifndef OMNI_RUNTIME_SERVER_PIPELINE_FIXTURE_H_
#define OMNI_RUNTIME_SERVER_PIPELINE_FIXTURE_H_

// What the tests of Pipeline share.

#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/base/status_macros.h"
#include "runtime/json/reader.h"
#include "runtime/server/life_cycle.h"
#include "runtime/server/pipeline.h"
#include "runtime/testing/fake_clock.h"
#include "runtime/testing/fake_worker.h"
#include "runtime/testing/status_matchers.h"

namespace omni::testing {

// A request with this many questions, "1", "2" and so on.
inline std::string Body(const std::string& name, int questions) {
  std::string body = R"({"state":")" + name + R"(","questions":{)";
  for (int i = 1; i <= questions; ++i) {
    body += (i == 1 ? "\"" : ",\"") + std::to_string(i) + "\":{}";
  }
  return body + "}}";
}

// One request and its result.
class Caller {
 public:
  explicit Caller(std::string body) : body_(std::move(body)) {}
  Caller(const std::string& name, int questions)
      : Caller(Body(name, questions)) {}
  ~Caller() {
    if (run_ != nullptr) Wait();
  }

  Caller& WithDeadline(absl::Time deadline) {
    deadline_ = deadline;
    return *this;
  }
  // Says, right before dispatch, that the caller has gone.
  Caller& Gone() {
    gone_ = true;
    return *this;
  }
  // Called with the result, before Wait returns.
  Caller& Then(absl::AnyInvocable<void()> then) {
    then_ = std::move(then);
    return *this;
  }

  absl::Status Admit(Pipeline& pipeline) {
    auto run =
        pipeline.Admit({.decode = [this] { return json::Read(body_); },
                        .deadline = deadline_,
                        .caller_gone = [this] { return gone_; },
                        .on_done =
                            [this](absl::StatusOr<v1::DecideResponse> result) {
                              result_ = std::move(result);
                              if (then_ != nullptr) then_();
                              done_.Notify();
                            }});
    if (!run.ok()) return run.status();
    run_ = *std::move(run);
    return absl::OkStatus();
  }
  absl::Status Start(Pipeline& pipeline) {
    RETURN_IF_ERROR(Admit(pipeline));
    run_->Start();
    return absl::OkStatus();
  }
  void StartAdmitted() { run_->Start(); }
  void Cancel() { run_->Cancel(); }

  bool done() const { return done_.HasBeenNotified(); }
  const absl::StatusOr<v1::DecideResponse>& Wait() {
    done_.WaitForNotification();
    return result_;
  }
  const absl::StatusOr<v1::DecideResponse>& result() const { return result_; }

 private:
  const std::string body_;
  absl::Time deadline_ = absl::InfiniteFuture();
  bool gone_ = false;
  absl::AnyInvocable<void()> then_;
  std::shared_ptr<Pipeline::Run> run_;
  absl::StatusOr<v1::DecideResponse> result_;
  absl::Notification done_;
};

class PipelineTest : public ::testing::Test {
 protected:
  // Replaces the pipeline, if there is one.
  void Make(int max_pending = 64, int host_threads = 2) {
    control_ = std::make_shared<FakeWorkerControl>();
    auto pipeline =
        Pipeline::Create(std::make_unique<FakeWorker>(control_), &life_cycle_,
                         {.max_pending = max_pending,
                          .host_threads = host_threads,
                          .clock = &clock_});
    ASSERT_OK(pipeline);
    pipeline_ = *std::move(pipeline);
  }
  void SetUp() override {
    ASSERT_OK(life_cycle_.MoveTo(v1::WORKER_STATE_WARMING));
    ASSERT_OK(life_cycle_.MoveTo(v1::WORKER_STATE_READY));
    Make();
  }
  void TearDown() override {
    control_->ReleaseAll();
    pipeline_.reset();
    EXPECT_EQ(control_->live_units(), 0);
    EXPECT_EQ(control_->live_decisions(), 0);
    EXPECT_TRUE(control_->executor_destroyed());
    EXPECT_TRUE(control_->one_executor_thread());
  }

  // With one host thread: waits until it has done all that it was given before,
  // so that units of requests that came before are in the queue.
  void Settle() {
    Caller probe("probe", 0);
    ASSERT_OK(probe.Start(*pipeline_));
    EXPECT_OK(probe.Wait());
  }

  int depth() const { return pipeline_->Info().queue().depth(); }

  FakeClock clock_;
  LifeCycle life_cycle_;
  std::shared_ptr<FakeWorkerControl> control_;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace omni::testing

#endif  // OMNI_RUNTIME_SERVER_PIPELINE_FIXTURE_H_
