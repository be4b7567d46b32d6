#include "runtime/testing/fake_worker.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "runtime/base/request_error.h"
#include "runtime/base/status_macros.h"

namespace omni::testing {
namespace {

// An absl::Condition on any predicate; `predicate` must outlive the wait.
template <typename Predicate>
absl::Condition When(const Predicate* predicate) {
  return absl::Condition(
      +[](const Predicate* p) { return (*p)(); }, predicate);
}

absl::Status Commit(Fault fault) {
  switch (fault) {
    case Fault::kRequestError:
      return RequestError(v1::ErrorReason::BAD_STATE, "injected");
    case Fault::kError:
      return absl::InternalError("secret cause");
    case Fault::kThrow:
      throw std::runtime_error("secret cause");
    case Fault::kExecutorFailed:
      return RequestError(v1::ErrorReason::EXECUTOR_FAILED, "device lost");
    case Fault::kLongError:
      return RequestError(v1::ErrorReason::BAD_STATE,
                          std::string(9 << 10, 'x'));
    case Fault::kBadUtf8:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace

void FakeWorkerControl::Hold(Step step) {
  absl::MutexLock lock(&mu_);
  held_.insert(step);
}

void FakeWorkerControl::ReleaseAll() {
  absl::MutexLock lock(&mu_);
  held_.clear();
}

void FakeWorkerControl::Release(Step step, const std::string& request) {
  absl::MutexLock lock(&mu_);
  released_.insert({step, request});
}

void FakeWorkerControl::Inject(Step step, const std::string& request,
                               Fault fault) {
  absl::MutexLock lock(&mu_);
  faults_[{step, request}] = fault;
}

void FakeWorkerControl::AwaitReached(Step step, const std::string& request) {
  absl::MutexLock lock(&mu_);
  const Key key = {step, request};
  const auto reached = [&] {
    mu_.AssertHeld();
    return reached_.count(key) > 0;
  };
  mu_.Await(When(&reached));
}

void FakeWorkerControl::AwaitStarted(const std::string& unit) {
  absl::MutexLock lock(&mu_);
  const auto started = [&] {
    mu_.AssertHeld();
    return std::find(started_.begin(), started_.end(), unit) != started_.end();
  };
  mu_.Await(When(&started));
}

void FakeWorkerControl::AwaitNoUnitOf(const std::string& request) {
  absl::MutexLock lock(&mu_);
  const auto none = [&] {
    mu_.AssertHeld();
    const auto found = units_of_.find(request);
    return found == units_of_.end() || found->second == 0;
  };
  mu_.Await(When(&none));
}

void FakeWorkerControl::AwaitUnitOf(const std::string& request) {
  absl::MutexLock lock(&mu_);
  const auto some = [&] {
    mu_.AssertHeld();
    const auto found = units_of_.find(request);
    return found != units_of_.end() && found->second > 0;
  };
  mu_.Await(When(&some));
}

bool FakeWorkerControl::reached(Step step, const std::string& request) const {
  absl::MutexLock lock(&mu_);
  return reached_.count({step, request}) > 0;
}

std::vector<std::string> FakeWorkerControl::started() const {
  absl::MutexLock lock(&mu_);
  return started_;
}

int FakeWorkerControl::max_running() const {
  absl::MutexLock lock(&mu_);
  return max_running_;
}

int FakeWorkerControl::live_decisions() const {
  absl::MutexLock lock(&mu_);
  return live_decisions_;
}

int FakeWorkerControl::live_units() const {
  absl::MutexLock lock(&mu_);
  return live_units_;
}

bool FakeWorkerControl::executor_destroyed() const {
  absl::MutexLock lock(&mu_);
  return executor_destroyed_;
}

bool FakeWorkerControl::one_executor_thread() const {
  absl::MutexLock lock(&mu_);
  return one_executor_thread_;
}

absl::Status FakeWorkerControl::Pass(Step step, const std::string& request) {
  std::optional<Fault> fault;
  {
    absl::MutexLock lock(&mu_);
    const Key key = {step, request};
    reached_.insert(key);
    const auto open = [&] {
      mu_.AssertHeld();
      return held_.count(step) == 0 || released_.count(key) > 0;
    };
    mu_.Await(When(&open));
    if (const auto found = faults_.find(key); found != faults_.end()) {
      fault = found->second;
    }
  }
  return fault.has_value() ? Commit(*fault) : absl::OkStatus();
}

bool FakeWorkerControl::Injected(Step step, const std::string& request,
                                 Fault fault) const {
  absl::MutexLock lock(&mu_);
  const auto found = faults_.find({step, request});
  return found != faults_.end() && found->second == fault;
}

void FakeWorkerControl::NoteExecutorThread() {
  if (executor_thread_ == std::thread::id()) {
    executor_thread_ = std::this_thread::get_id();
  }
  if (executor_thread_ != std::this_thread::get_id()) {
    one_executor_thread_ = false;
  }
}

// A unit that counts itself as long as it exists.
class FakeUnit {
 public:
  FakeUnit(std::shared_ptr<FakeWorkerControl> control, std::string request,
           std::string question)
      : control_(std::move(control)),
        request_(std::move(request)),
        question_(std::move(question)) {
    absl::MutexLock lock(&control_->mu_);
    ++control_->live_units_;
    ++control_->units_of_[request_];
  }
  FakeUnit(FakeUnit&&) = default;
  FakeUnit& operator=(FakeUnit&&) = delete;
  ~FakeUnit() {
    if (control_ == nullptr) return;
    absl::MutexLock lock(&control_->mu_);
    --control_->live_units_;
    --control_->units_of_[request_];
  }

  absl::StatusOr<Rows> operator()() && {
    {
      absl::MutexLock lock(&control_->mu_);
      control_->NoteExecutorThread();
      control_->started_.push_back(request_ + "/" + question_);
      ++control_->running_;
      control_->max_running_ =
          std::max(control_->max_running_, control_->running_);
    }
    absl::StatusOr<Rows> rows = Rows{{1.0f}};
    try {
      const absl::Status status = control_->Pass(Step::kUnit, request_);
      if (!status.ok()) rows = status;
    } catch (...) {
      absl::MutexLock lock(&control_->mu_);
      --control_->running_;
      throw;
    }
    absl::MutexLock lock(&control_->mu_);
    --control_->running_;
    return rows;
  }

 private:
  std::shared_ptr<FakeWorkerControl> control_;
  std::string request_;
  std::string question_;
};

class FakeDecision final : public Decision {
 public:
  struct Question {
    std::string id;
    std::string answer;
  };

  FakeDecision(std::shared_ptr<FakeWorkerControl> control, std::string name,
               std::vector<Question> questions)
      : control_(std::move(control)),
        name_(std::move(name)),
        questions_(std::move(questions)) {
    absl::MutexLock lock(&control_->mu_);
    ++control_->live_decisions_;
  }
  ~FakeDecision() override {
    absl::MutexLock lock(&control_->mu_);
    --control_->live_decisions_;
  }

  Unit NextUnit() override {
    if (next_ == questions_.size()) return nullptr;
    return FakeUnit(control_, name_, questions_[next_++].id);
  }

  absl::Status Accept(Rows rows) override {
    if (rows.size() != 1) return absl::InternalError("not one row");
    return control_->Pass(Step::kAccept, name_);
  }

  absl::StatusOr<v1::DecideResponse> Finish() override {
    RETURN_IF_ERROR(control_->Pass(Step::kFinish, name_));
    v1::DecideResponse response;
    response.set_model(control_->Injected(Step::kFinish, name_, Fault::kBadUtf8)
                           ? "\xFF"
                           : "fake@1");
    for (const Question& question : questions_) {
      v1::Answer& answer = *response.add_answers();
      answer.set_id(question.id);
      v1::ChoiceAnswer& choice = *answer.mutable_choice();
      choice.set_choice(question.answer);
      v1::Probability& probability = *choice.add_probabilities();
      probability.set_key(question.answer);
      probability.set_value(1);
      choice.set_confidence(1);
    }
    response.mutable_usage()->set_input_tokens(questions_.size());
    return response;
  }

 private:
  const std::shared_ptr<FakeWorkerControl> control_;
  const std::string name_;
  const std::vector<Question> questions_;
  size_t next_ = 0;
};

v1::WorkerInfo FakeWorker::Info() const {
  control_->Pass(Step::kInfo, "").IgnoreError();
  v1::WorkerInfo info;
  info.set_model("fake@1");
  info.add_request_models("fake");
  info.set_revision("1");
  info.add_question_types(v1::QUESTION_TYPE_CHOICE);
  info.set_device("cpu");
  return info;
}

absl::StatusOr<std::unique_ptr<Decision>> FakeWorker::Prepare(
    const json::Value& request) {
  const json::Value* const state = request.Find("state");
  if (state == nullptr || !state->is_string()) {
    return RequestError(v1::ErrorReason::BAD_STATE, "state is no string");
  }
  const json::Value* const questions = request.Find("questions");
  if (questions == nullptr || !questions->is_object()) {
    return RequestError(v1::ErrorReason::BAD_QUESTIONS,
                        "questions are no object");
  }
  RETURN_IF_ERROR(control_->Pass(Step::kPrepare, state->string()));
  std::vector<FakeDecision::Question> parsed;
  for (const auto& [id, question] : questions->object()) {
    const json::Value* const criteria = question.Find("criteria");
    const bool has_option = criteria != nullptr && criteria->is_object() &&
                            !criteria->object().empty();
    parsed.push_back(
        {id, has_option ? criteria->object().front().first : "yes"});
  }
  return std::make_unique<FakeDecision>(control_, state->string(),
                                        std::move(parsed));
}

std::string FakeWorker::WarmUpBody() const {
  return R"({"model":"fake","state":"warm-up","questions":{"q":{"type":)"
         R"("choice","instructions":null,"criteria":{"yes":null,"no":null}}}})";
}

void FakeWorker::DestroyExecutor() {
  absl::MutexLock lock(&control_->mu_);
  control_->NoteExecutorThread();
  control_->executor_destroyed_ = true;
}

}  // namespace omni::testing
