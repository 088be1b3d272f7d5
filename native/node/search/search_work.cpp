// The shape of hits as JavaScript sees them.
#include "node/search/search_work.h"

namespace seekrl::node {

search::Verify to_verify(const Napi::Value& value) {
  return to_bool(value, "verify") ? search::Verify::kAll : search::Verify::kHeader;
}

void check_top_k(int64_t top_k, int64_t count) {
  require(top_k >= 1, ErrorCode::kRange, "topK: expected at least 1, got ", top_k);
  require(top_k <= std::max<int64_t>(count, 1), ErrorCode::kRange, "topK: expected at most the index's ", count,
          " entries, got ", top_k);
}

Napi::Value hits_to_js(Napi::Env env, const std::vector<int32_t>& ids_QK, const std::vector<float>& scores_QK) {
  auto object = Napi::Object::New(env);
  object["ids"] = to_typed_array<Napi::Int32Array>(env, ids_QK);
  object["scores"] = to_float32_array(env, scores_QK);
  return object;
}

Found::Found(int64_t num_queries, int64_t top_k, int64_t count) {
  check_top_k(top_k, count);
  ids_QK.resize(static_cast<size_t>(num_queries * top_k), -1);
  scores_QK.resize(ids_QK.size());
}

Napi::Value Found::to_js(Napi::Env env) const { return hits_to_js(env, ids_QK, scores_QK); }

}  // namespace seekrl::node
