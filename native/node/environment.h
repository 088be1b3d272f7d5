// What belongs to one Node environment: the main thread or a worker.
#pragma once

#include <napi.h>

#include <memory>

namespace seekrl::node {

class Mailbox;

struct Environment {
  std::shared_ptr<Mailbox> mailbox;
  Napi::FunctionReference error_class;  // new error_class(code, message); empty until JavaScript hands it over

  static Environment& of(Napi::Env env) { return *env.GetInstanceData<Environment>(); }
};

}  // namespace seekrl::node
