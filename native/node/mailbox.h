// How other threads reach JavaScript: letters put in a mailbox are read on the JavaScript thread.
#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <mutex>

namespace seekrl::node {

class Mailbox : public std::enable_shared_from_this<Mailbox> {
 public:
  using Letter = std::function<void(Napi::Env)>;

  // One mailbox serves one Node environment (the main thread or a worker).
  static std::shared_ptr<Mailbox> of(Napi::Env env);
  static void install(Napi::Env env);

  // From any thread. A letter that arrives after the environment has gone is dropped.
  void send(Letter letter);

  // JavaScript thread only: the process stays alive while something is awaited.
  void hold(Napi::Env env);
  void release(Napi::Env env);

 private:
  explicit Mailbox(Napi::Env env);
  void close();

  std::mutex mutex_;
  bool closed_ = false;
  Napi::ThreadSafeFunction channel_;
  int num_held_ = 0;
};

// A promise that any thread settles once. Created on the JavaScript thread.
class Deferred {
 public:
  using ToJs = std::function<Napi::Value(Napi::Env)>;

  explicit Deferred(Napi::Env env);
  Napi::Value promise() const { return promise_->Promise(); }

  void resolve(ToJs to_js);
  void reject(std::exception_ptr error);

 private:
  void settle(std::function<void(Napi::Env, Napi::Promise::Deferred&)> with);

  std::shared_ptr<Mailbox> mailbox_;
  std::shared_ptr<Napi::Promise::Deferred> promise_;
};

// A JavaScript function that any thread may call; used for events, one per engine step.
class Stream {
 public:
  Stream(Napi::Env env, Napi::Function listener);
  // `to_js` builds the single argument on the JavaScript thread.
  void emit(Deferred::ToJs to_js) const;

 private:
  std::shared_ptr<Mailbox> mailbox_;
  std::shared_ptr<Napi::FunctionReference> listener_;
};

}  // namespace seekrl::node
