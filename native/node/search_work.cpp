// The shape of hits as JavaScript sees them.
#include "node/search_work.h"

namespace seekrl::node {

search::Verify to_verify(const Napi::Value& value) {
  return to_bool(value, "verify") ? search::Verify::kAll : search::Verify::kHeader;
}

Found::Found(int64_t num_queries, int64_t top_k, int64_t count) {
  require(top_k >= 1, ErrorCode::kRange, "topK: expected at least 1, got ", top_k);
  require(top_k <= std::max<int64_t>(count, 1), ErrorCode::kRange, "topK: expected at most the index's ", count,
          " entries, got ", top_k);
  ids_QK.resize(static_cast<size_t>(num_queries * top_k), -1);
  scores_QK.resize(ids_QK.size());
}

Napi::Value Found::to_js(Napi::Env env) const {
  auto object = Napi::Object::New(env);
  object["ids"] = to_typed_array<Napi::Int32Array>(env, ids_QK);
  object["scores"] = to_float32_array(env, scores_QK);
  return object;
}

}  // namespace seekrl::node
