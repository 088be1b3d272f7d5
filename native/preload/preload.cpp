// Opens libtorch's libraries by absolute path, so that the engine's addon finds them already loaded by name.
//
// The dynamic loader resolves a needed library by its SONAME among those already open, which makes this
// work wherever libtorch lives, in workers too, with neither RPATH nor LD_LIBRARY_PATH. On macOS it names none, and
// takes its symbols from all that are open (CMakeLists.txt).
#include <dlfcn.h>
#include <napi.h>

#include <cstdlib>
#include <string>

namespace {

Napi::Value open_library(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  // Idle OpenMP threads otherwise spin and starve Node's own threads on a small machine.
  setenv("OMP_WAIT_POLICY", "passive", 0);
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    Napi::Error::New(info.Env(), dlerror()).ThrowAsJavaScriptException();
  }
  return info.Env().Undefined();
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports["openLibrary"] = Napi::Function::New(env, open_library);
  return exports;
}

}  // namespace

NODE_API_MODULE(seekrl_preload, init)
