// Engine commands become tasks of the device queue; each step is one task that posts the next one.
#include "node/model/engine_api.h"

#include <atomic>
#include <optional>
#include <utility>

#include "base/error.h"
#include "engine/engine.h"
#include "node/guard.h"
#include "node/model/adapter_api.h"
#include "node/model/engine_values.h"
#include "node/model/model_api.h"
#include "node/values.h"

namespace seekrl::node {

// Owned by the handle and by every posted task. The engine inside lives on the device thread.
class EngineHost : public std::enable_shared_from_this<EngineHost> {
 public:
  EngineHost(Napi::Env env, Napi::Function listener) : mailbox_(Mailbox::of(env)), stream_(env, listener) {}

  // Posts a command about a sequence, which fails alone when the command does; one that comes after close() is ignored.
  // JavaScript thread.
  template <class Command>
  Napi::Value post_command(Napi::Env env, int32_t id, Command command) {
    return post_command(env, id, false, std::move(command));
  }

  // The same for a command that begins a span: the process stays alive until it is told of as finished.
  template <class Command>
  Napi::Value post_span(Napi::Env env, int32_t id, Command command) {
    mailbox_->hold(env);
    return post_command(env, id, true, std::move(command));
  }

  Napi::Value start(Napi::Env env, std::shared_ptr<model::Decoder> decoder, engine::EngineOptions options,
                    engine::TokenBytes token_bytes);
  Napi::Value stats(Napi::Env env);
  Napi::Value close(Napi::Env env);
  // After the last command or step. Any thread.
  int64_t num_blocks() const { return num_blocks_; }
  int64_t num_free_blocks() const { return num_free_blocks_; }

 private:
  template <class Command>
  Napi::Value post_command(Napi::Env env, int32_t id, bool is_span, Command command) {
    device_queue().post([host = shared_from_this(), id, is_span, command = std::move(command)]() mutable {
      if (!host->engine_) return;
      try {
        command(*host->engine_);
      } catch (...) {
        host->engine_->fail(id, std::current_exception(), is_span);
      }
      host->emit();
      host->proceed();
    });
    return env.Undefined();
  }

  void proceed();
  void emit();
  void note_blocks();

  std::shared_ptr<Mailbox> mailbox_;
  Stream stream_;
  std::optional<engine::Engine> engine_;
  bool is_step_posted_ = false;
  std::atomic<int64_t> num_blocks_ = 0, num_free_blocks_ = 0;
};

void EngineHost::proceed() {
  if (is_step_posted_ || !engine_ || !engine_->has_work()) return;
  is_step_posted_ = true;
  device_queue().post([host = shared_from_this()] {
    host->is_step_posted_ = false;
    if (host->engine_ && host->engine_->has_work()) host->engine_->step();
    host->emit();
    host->proceed();
  });
}

namespace {

int32_t id_of(const Napi::Value& value) { return static_cast<int32_t>(to_integer(value, "id")); }

uint64_t seed_of(const Napi::Value& value) { return static_cast<uint64_t>(to_integer(value, "seed")); }

}  // namespace

void EngineHost::note_blocks() {
  num_blocks_ = engine_->num_blocks();
  num_free_blocks_ = engine_->num_free_blocks();
}

void EngineHost::emit() {
  if (!engine_) return;
  note_blocks();  // before JavaScript hears of what changed them
  auto report = std::make_shared<const engine::Report>(engine_->take_report());
  if (report->news.empty()) return;
  stream_.emit([mailbox = mailbox_, report](Napi::Env env) -> Napi::Value {
    for (const auto& news : report->news) {
      if (news.finish != engine::Finish::kNone) mailbox->release(env);
    }
    return from_report(env, *report);
  });
}

Napi::Value EngineHost::start(Napi::Env env, std::shared_ptr<model::Decoder> decoder, engine::EngineOptions options,
                              engine::TokenBytes token_bytes) {
  return post(
      env, device_queue(),
      [host = shared_from_this(), decoder = std::move(decoder), options,
       token_bytes = std::move(token_bytes)]() mutable {
        host->engine_.emplace(std::move(decoder), options, std::move(token_bytes));
        host->note_blocks();
        return host->engine_->max_tokens();
      },
      [](Napi::Env js, int64_t max_tokens) -> Napi::Value {
        return Napi::Number::New(js, static_cast<double>(max_tokens));
      });
}

Napi::Value EngineHost::stats(Napi::Env env) {
  return post(
      env, device_queue(),
      [host = shared_from_this()] {
        require(host->engine_.has_value(), ErrorCode::kState, "engine: closed");
        return host->engine_->stats();
      },
      [](Napi::Env js, const engine::EngineStats& stats) -> Napi::Value { return from_stats(js, stats); });
}

Napi::Value EngineHost::close(Napi::Env env) {
  return post(env, device_queue(), [host = shared_from_this()] {
    if (!host->engine_) return;
    host->engine_->cancel_all();
    host->emit();
    host->engine_.reset();
  });
}

Napi::Function EngineHandle::define(Napi::Env env) {
  return DefineClass(
      env, "EngineHandle",
      {InstanceMethod("start", &EngineHandle::start), InstanceMethod("open", &EngineHandle::open),
       InstanceMethod("fork", &EngineHandle::fork), InstanceMethod("append", &EngineHandle::append),
       InstanceMethod("truncate", &EngineHandle::truncate), InstanceMethod("generate", &EngineHandle::generate),
       InstanceMethod("score", &EngineHandle::score), InstanceMethod("cancel", &EngineHandle::cancel),
       InstanceMethod("setMask", &EngineHandle::set_mask),
       InstanceMethod("closeSequence", &EngineHandle::close_sequence), InstanceMethod("stats", &EngineHandle::stats),
       InstanceMethod("numBlocks", &EngineHandle::num_blocks),
       InstanceMethod("numFreeBlocks", &EngineHandle::num_free_blocks), InstanceMethod("close", &EngineHandle::close)});
}

// new EngineHandle(listener)
EngineHandle::EngineHandle(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<EngineHandle>(info),
      host_(std::make_shared<EngineHost>(info.Env(), info[0].As<Napi::Function>())) {}

// start(model, options, vocabulary): Promise of the longest sequence's tokens; see engine_values.h
Napi::Value EngineHandle::start(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return host_->start(info.Env(), ModelHandle::decoder_of(info[0]), to_engine_options(to_object(info[1], "options")),
                        to_token_bytes(to_object(info[2], "vocabulary")));
  });
}

// open(id, ids, seed, adapter or undefined)
Napi::Value EngineHandle::open(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const int32_t id = id_of(info[0]);
    return host_->post_command(
        info.Env(), id,
        [id, ids = to_ids(info[1], "ids"), seed = seed_of(info[2]), adapter = AdapterHandle::adapter_of(info[3])](
            engine::Engine& engine) mutable { engine.open(id, std::move(ids), seed, std::move(adapter)); });
  });
}

// fork(id, child, seed)
Napi::Value EngineHandle::fork(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const int32_t child = id_of(info[1]);
    return host_->post_command(info.Env(), child,
                               [id = id_of(info[0]), child, seed = seed_of(info[2])](engine::Engine& engine) {
                                 engine.fork(id, child, seed);
                               });
  });
}

// append(id, ids)
Napi::Value EngineHandle::append(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const int32_t id = id_of(info[0]);
    return host_->post_command(info.Env(), id,
                               [id, ids = to_ids(info[1], "ids")](engine::Engine& engine) { engine.append(id, ids); });
  });
}

// generate(id, options)
Napi::Value EngineHandle::generate(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const int32_t id = id_of(info[0]);
    auto options = to_generate_options(to_object(info[1], "options"));
    masks_.erase(id);
    if (options.masks != nullptr) masks_.emplace(id, options.masks);
    return host_->post_span(info.Env(), id, [id, options = std::move(options)](engine::Engine& engine) mutable {
      engine.generate(id, std::move(options));
    });
  });
}

// truncate(id, length, seed?)
Napi::Value EngineHandle::truncate(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const int32_t id = id_of(info[0]);
    std::optional<uint64_t> seed;
    if (!info[2].IsUndefined()) seed = seed_of(info[2]);
    return host_->post_command(info.Env(), id,
                               [id, length = to_integer(info[1], "length"), seed](engine::Engine& engine) {
                                 engine.truncate(id, length, seed);
                               });
  });
}

// score(id, ids, topLogprobs?)
Napi::Value EngineHandle::score(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const int32_t id = id_of(info[0]);
    const int64_t num_top = info[2].IsUndefined() ? 0 : to_integer(info[2], "topLogprobs");
    return host_->post_span(info.Env(), id, [id, ids = to_ids(info[1], "ids"), num_top](engine::Engine& engine) {
      engine.score(id, ids, num_top);
    });
  });
}

// setMask(id, mask): that of the next token of a constrained span; of any other span it is ignored
Napi::Value EngineHandle::set_mask(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const int32_t id = id_of(info[0]);
    const auto found = masks_.find(id);
    if (found == masks_.end()) return info.Env().Undefined();
    const std::vector<int64_t> words = to_ids(info[1], "mask");
    found->second->put({words.begin(), words.end()});
    return host_->post_command(info.Env(), id, [](engine::Engine&) {});  // wakes it, should it wait for this
  });
}

// cancel(id)
Napi::Value EngineHandle::cancel(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const int32_t id = id_of(info[0]);
    return host_->post_command(info.Env(), id,
                               [id](engine::Engine& engine) { engine.cancel(id, engine::Finish::kAborted); });
  });
}

// closeSequence(id)
Napi::Value EngineHandle::close_sequence(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const int32_t id = id_of(info[0]);
    masks_.erase(id);
    return host_->post_command(info.Env(), id, [id](engine::Engine& engine) { engine.close(id); });
  });
}

// stats(): Promise of the counters
Napi::Value EngineHandle::stats(const Napi::CallbackInfo& info) { return host_->stats(info.Env()); }

// numBlocks()
Napi::Value EngineHandle::num_blocks(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(host_->num_blocks()));
}

// numFreeBlocks()
Napi::Value EngineHandle::num_free_blocks(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(host_->num_free_blocks()));
}

// close(): Promise; spans that are being sampled end as aborted
Napi::Value EngineHandle::close(const Napi::CallbackInfo& info) { return host_->close(info.Env()); }

void export_engine(Napi::Env env, Napi::Object exports) { exports["EngineHandle"] = EngineHandle::define(env); }

}  // namespace seekrl::node
