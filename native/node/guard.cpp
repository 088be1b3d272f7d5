// Error translation and the process-wide queues.
#include "node/guard.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <mutex>
#include <new>

#include "base/error.h"
#include "node/environment.h"

namespace seekrl::node {

namespace {

Napi::Error coded(Napi::Env env, ErrorCode code, const std::string& message) {
  const Napi::String name = Napi::String::New(env, code_name(code)), text = Napi::String::New(env, message);
  const Napi::FunctionReference& error_class = Environment::of(env).error_class;
  if (!error_class.IsEmpty()) return Napi::Error(env, error_class.New({name, text}));
  Napi::Error error = Napi::Error::New(env, message);
  error.Set("code", name);
  return error;
}

// libtorch has types for a full GPU and for one that fails, as it does for good once a kernel has read where nothing
// is; for full memory only words: "can't allocate memory: you tried to allocate", and "not enough memory: ..." where it
// brings its own allocator.
ErrorCode code_of(const c10::Error& error) {
  const bool is_memory = dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
                         error.msg().find("memory: you tried to allocate") != std::string::npos;
  if (is_memory) return ErrorCode::kMemory;
  return dynamic_cast<const c10::AcceleratorError*>(&error) != nullptr ? ErrorCode::kDevice : ErrorCode::kInternal;
}

std::mutex environments_mutex;
int num_environments = 0;

}  // namespace

Napi::Error to_js_error(Napi::Env env, std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const Napi::Error& thrown) {
    return thrown;
  } catch (const Error& thrown) {
    return coded(env, thrown.code(), thrown.what());
  } catch (const c10::Error& thrown) {
    return coded(env, code_of(thrown), thrown.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return coded(env, ErrorCode::kMemory, "out of memory");
  } catch (const std::exception& thrown) {
    return coded(env, ErrorCode::kInternal, thrown.what());
  } catch (...) {
    return coded(env, ErrorCode::kInternal, "unknown native exception");
  }
}

TaskQueue& device_queue() {
  static TaskQueue queue(1);
  return queue;
}

// As many threads as OMP_NUM_THREADS says, by which a launcher shares the cores out among its processes; else all.
TaskQueue& search_queue() {
  static TaskQueue queue(at::get_num_threads());
  return queue;
}

TaskQueue& encode_queue() {
  static TaskQueue queue(at::get_num_threads());
  return queue;
}

// Workers come and go: after the last environment has left, another may arrive.
void run_queues_for(Napi::Env env) {
  std::lock_guard lock(environments_mutex);
  if (num_environments++ == 0) {
    device_queue().start();
    search_queue().start();
    encode_queue().start();
  }
  env.AddCleanupHook([] {
    std::lock_guard lock(environments_mutex);
    if (--num_environments > 0) return;
    device_queue().stop();
    search_queue().stop();
    encode_queue().stop();
  });
}

}  // namespace seekrl::node
