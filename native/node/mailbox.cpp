// Mailbox, Deferred and Stream over one thread-safe function per environment.
#include "node/mailbox.h"

#include <utility>

#include "node/environment.h"
#include "node/guard.h"

namespace seekrl::node {

Mailbox::Mailbox(Napi::Env env) {
  auto ignore = Napi::Function::New(env, [](const Napi::CallbackInfo&) {});
  channel_ = Napi::ThreadSafeFunction::New(env, ignore, "seekrl", 0, 1);
  channel_.Unref(env);
}

void Mailbox::install(Napi::Env env) {
  auto mailbox = std::shared_ptr<Mailbox>(new Mailbox(env));
  env.SetInstanceData(new Environment{mailbox, {}});
  env.AddCleanupHook([mailbox] { mailbox->close(); });
}

std::shared_ptr<Mailbox> Mailbox::of(Napi::Env env) { return Environment::of(env).mailbox; }

void Mailbox::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  channel_.Abort();
}

void Mailbox::send(Letter letter) {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  auto* owned = new Letter(std::move(letter));
  const napi_status status = channel_.NonBlockingCall(owned, [](Napi::Env env, Napi::Function, Letter* read) {
    std::unique_ptr<Letter> letter(read);
    if (env != nullptr) (*letter)(env);
  });
  if (status != napi_ok) delete owned;
}

void Mailbox::hold(Napi::Env env) {
  if (num_held_++ == 0) channel_.Ref(env);
}

void Mailbox::release(Napi::Env env) {
  if (--num_held_ == 0) channel_.Unref(env);
}

Deferred::Deferred(Napi::Env env)
    : mailbox_(Mailbox::of(env)),
      promise_(std::make_shared<Napi::Promise::Deferred>(Napi::Promise::Deferred::New(env))) {
  mailbox_->hold(env);
}

void Deferred::settle(std::function<void(Napi::Env, Napi::Promise::Deferred&)> with) {
  mailbox_->send([mailbox = mailbox_, promise = promise_, with = std::move(with)](Napi::Env env) {
    Napi::HandleScope scope(env);
    mailbox->release(env);
    try {
      with(env, *promise);
    } catch (const Napi::Error& error) {
      promise->Reject(error.Value());
    } catch (...) {
      promise->Reject(to_js_error(env, std::current_exception()).Value());
    }
  });
}

void Deferred::resolve(ToJs to_js) {
  settle([to_js = std::move(to_js)](Napi::Env env, Napi::Promise::Deferred& promise) { promise.Resolve(to_js(env)); });
}

void Deferred::reject(std::exception_ptr error) {
  settle([error](Napi::Env env, Napi::Promise::Deferred& promise) { promise.Reject(to_js_error(env, error).Value()); });
}

Stream::Stream(Napi::Env env, Napi::Function listener)
    : mailbox_(Mailbox::of(env)), listener_(std::make_shared<Napi::FunctionReference>(Napi::Persistent(listener))) {
  // The last owner may be a worker thread, which must not touch the JavaScript heap: the environment frees it.
  listener_->SuppressDestruct();
}

void Stream::emit(Deferred::ToJs to_js) const {
  mailbox_->send([listener = listener_, to_js = std::move(to_js)](Napi::Env env) {
    Napi::HandleScope scope(env);
    guard(env, [&] { return listener->Call({to_js(env)}); });
  });
}

}  // namespace seekrl::node
