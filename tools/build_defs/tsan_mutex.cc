// Linked into every binary and test of a --config=tsan build.
//
// The system's Abseil is not instrumented, so ThreadSanitizer cannot see that
// absl::Mutex and its relatives order what different threads do, and would
// report every use of them as a race.  The functions below take the place of
// the library's: the dynamic linker prefers a symbol of the executable.  Each
// tells ThreadSanitizer what happens and calls the library's own.
//
// What a Condition reads is not checked: whoever unlocks the mutex may evaluate
// the conditions of others.

#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace {

// The library's function of this mangled name.
template <typename Function>
Function* Next(const char* symbol) {
  void* const next = dlsym(RTLD_NEXT, symbol);
  if (next == nullptr) {
    std::fprintf(stderr, "tsan_mutex.cc: no symbol %s\n", symbol);
    std::abort();
  }
  return reinterpret_cast<Function*>(next);
}

// A member function gets its object like a first argument.
#define OMNI_NEXT(type, symbol)                                               \
  ([] {                                                                       \
    static std::type_identity_t<type>* const next = Next<type>("_ZN" symbol); \
    return next;                                                              \
  }())
#define OMNI_NEXT_CONST(type, symbol) OMNI_NEXT(type, "K" symbol)

constexpr unsigned kWrite = __tsan_mutex_not_static;
constexpr unsigned kRead = kWrite | __tsan_mutex_read_lock;

template <typename Wait>
void AnnotateLock(void* mutex, unsigned flags, Wait wait) {
  __tsan_mutex_pre_lock(mutex, flags);
  wait();
  __tsan_mutex_post_lock(mutex, flags, 0);
}

// For a lock that is taken whatever comes back.
template <typename Wait>
bool AnnotateLockWhen(void* mutex, unsigned flags, Wait wait) {
  __tsan_mutex_pre_lock(mutex, flags);
  const bool result = wait();
  __tsan_mutex_post_lock(mutex, flags, 0);
  return result;
}

template <typename Try>
bool AnnotateTryLock(void* mutex, unsigned flags, Try try_lock) {
  __tsan_mutex_pre_lock(mutex, flags | __tsan_mutex_try_lock);
  const bool locked = try_lock();
  __tsan_mutex_post_lock(mutex,
                         flags | __tsan_mutex_try_lock |
                             (locked ? 0 : __tsan_mutex_try_lock_failed),
                         0);
  return locked;
}

// Held in exclusive mode before and after, free meanwhile.
template <typename Wait>
bool AnnotateRelock(void* mutex, Wait wait) {
  __tsan_mutex_pre_unlock(mutex, kWrite);
  __tsan_mutex_post_unlock(mutex, kWrite);
  return AnnotateLockWhen(mutex, kWrite, wait);
}

}  // namespace

namespace absl {

#define MUTEX "4absl7debian35Mutex"
#define CONDITION "RKNS0_9ConditionE"

// All constructors are inline and need no word.
Mutex::~Mutex() {
  __tsan_mutex_destroy(this, kWrite);
  OMNI_NEXT(void(Mutex*), MUTEX "D1Ev")(this);
}

void Mutex::Lock() {
  AnnotateLock(this, kWrite, [&] {
    OMNI_NEXT(void(Mutex*), MUTEX "4LockEv")(this);
  });
}

void Mutex::Unlock() {
  __tsan_mutex_pre_unlock(this, kWrite);
  OMNI_NEXT(void(Mutex*), MUTEX "6UnlockEv")(this);
  __tsan_mutex_post_unlock(this, kWrite);
}

bool Mutex::TryLock() {
  return AnnotateTryLock(this, kWrite, [&] {
    return OMNI_NEXT(bool(Mutex*), MUTEX "7TryLockEv")(this);
  });
}

void Mutex::ReaderLock() {
  AnnotateLock(this, kRead, [&] {
    OMNI_NEXT(void(Mutex*), MUTEX "10ReaderLockEv")(this);
  });
}

void Mutex::ReaderUnlock() {
  __tsan_mutex_pre_unlock(this, kRead);
  OMNI_NEXT(void(Mutex*), MUTEX "12ReaderUnlockEv")(this);
  __tsan_mutex_post_unlock(this, kRead);
}

bool Mutex::ReaderTryLock() {
  return AnnotateTryLock(this, kRead, [&] {
    return OMNI_NEXT(bool(Mutex*), MUTEX "13ReaderTryLockEv")(this);
  });
}

// Every function that takes a timeout calls the one that takes a deadline, the
// one below: to speak in both would be to unlock twice.
// Await also serves a mutex held for reading; nobody here does that.
void Mutex::Await(const Condition& condition) {
  AnnotateRelock(this, [&] {
    OMNI_NEXT(void(Mutex*, const Condition&), MUTEX "5AwaitE" CONDITION)
    (this, condition);
    return true;
  });
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  return AnnotateRelock(this, [&] {
    return OMNI_NEXT(bool(Mutex*, const Condition&, Time),
                     MUTEX "17AwaitWithDeadlineE" CONDITION
                           "NS0_4TimeE")(this, condition, deadline);
  });
}

void Mutex::LockWhen(const Condition& condition) {
  AnnotateLock(this, kWrite, [&] {
    OMNI_NEXT(void(Mutex*, const Condition&), MUTEX "8LockWhenE" CONDITION)
    (this, condition);
  });
}

bool Mutex::LockWhenWithDeadline(const Condition& condition, Time deadline) {
  return AnnotateLockWhen(this, kWrite, [&] {
    return OMNI_NEXT(bool(Mutex*, const Condition&, Time),
                     MUTEX "20LockWhenWithDeadlineE" CONDITION
                           "NS0_4TimeE")(this, condition, deadline);
  });
}

void Mutex::ReaderLockWhen(const Condition& condition) {
  AnnotateLock(this, kRead, [&] {
    OMNI_NEXT(void(Mutex*, const Condition&),
              MUTEX "14ReaderLockWhenE" CONDITION)
    (this, condition);
  });
}

#define COND_VAR "4absl7debian37CondVar"

void CondVar::Wait(Mutex* mu) {
  AnnotateRelock(mu, [&] {
    OMNI_NEXT(void(CondVar*, Mutex*), COND_VAR "4WaitEPNS0_5MutexE")(this, mu);
    return true;
  });
}

bool CondVar::WaitWithDeadline(Mutex* mu, Time deadline) {
  return AnnotateRelock(mu, [&] {
    return OMNI_NEXT(bool(CondVar*, Mutex*, Time),
                     COND_VAR "16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE")(
        this, mu, deadline);
  });
}

#define NOTIFICATION "4absl7debian312Notification"

void Notification::Notify() {
  __tsan_release(this);
  OMNI_NEXT(void(Notification*), NOTIFICATION "6NotifyEv")(this);
}

void Notification::WaitForNotification() const {
  OMNI_NEXT_CONST(void(const Notification*),
                  NOTIFICATION "19WaitForNotificationEv")
  (this);
  __tsan_acquire(const_cast<Notification*>(this));
}

bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  const bool notified = OMNI_NEXT_CONST(
      bool(const Notification*, Duration), NOTIFICATION
      "30WaitForNotificationWithTimeoutENS0_8DurationE")(this, timeout);
  if (notified) __tsan_acquire(const_cast<Notification*>(this));
  return notified;
}

bool Notification::WaitForNotificationWithDeadline(Time deadline) const {
  const bool notified = OMNI_NEXT_CONST(
      bool(const Notification*, Time), NOTIFICATION
      "31WaitForNotificationWithDeadlineENS0_4TimeE")(this, deadline);
  if (notified) __tsan_acquire(const_cast<Notification*>(this));
  return notified;
}

#define BLOCKING_COUNTER "4absl7debian315BlockingCounter"

bool BlockingCounter::DecrementCount() {
  __tsan_release(this);
  return OMNI_NEXT(bool(BlockingCounter*),
                   BLOCKING_COUNTER "14DecrementCountEv")(this);
}

void BlockingCounter::Wait() {
  OMNI_NEXT(void(BlockingCounter*), BLOCKING_COUNTER "4WaitEv")(this);
  __tsan_acquire(this);
}

}  // namespace absl
