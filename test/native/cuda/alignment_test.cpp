// Memory that begins where loads of 16 bytes may not: refused before a launch, since a GPU gives up the whole process.
#include <cstdint>
#include <cstring>
#include <vector>

#include "gpu.h"
#include "kernels/cuda/library.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

alignas(128) unsigned char memory[4096];

template <class Pointer>
void point(Pointer& to, int first) {
  to = reinterpret_cast<Pointer>(reinterpret_cast<uintptr_t>(memory) + first);
}

bool is_misaligned(Status status) {
  return status != nullptr &&
         (std::strstr(status, "of 16 bytes") != nullptr || std::strstr(status, "of 4 bytes") != nullptr);
}

// With each of the fields 2 bytes too far; what the others point to is never read.
template <class Call, class Run, class... Fields>
void check_refused(Call call, const Run& run, Fields Call::*... fields) {
  (point(call.*fields, 0), ...);
  const auto is_refused = [&](auto field) {
    Call wrong = call;
    point(wrong.*field, 2);
    return is_misaligned(run(wrong, nullptr));
  };
  const bool are_refused[] = {is_refused(fields)...};
  for (const bool each : are_refused) EXPECT(each);
}

constexpr auto kBf16 = Dtype::kBf16;

}  // namespace

TEST("products refuse factors and biases that 16 bytes are not read from") {
  Product call = {};
  call.m = call.n = call.k = call.out_stride = call.left_stride = call.right_stride = 8;
  call.dtype = call.out_dtype = kBf16;
  check_refused(call, &product, &Product::left, &Product::right, &Product::bias_N);
  LowRank adapters = {};
  adapters.m = adapters.n = adapters.k = adapters.x_stride = adapters.max_rank = 8;
  adapters.num_runs = 1;
  adapters.dtype = adapters.out_dtype = kBf16;
  check_refused(adapters, &add_low_rank, &LowRank::inner_MR, &LowRank::x_MK);
  ExpertProduct experts = {};
  experts.num_calls = experts.n = experts.k = experts.num_experts = 8;
  experts.dtype = kBf16;
  check_refused(experts, &expert_product, &ExpertProduct::x_RK);
}

TEST("products with codes refuse what 16 bytes are not read from") {
  QuantProduct call = {};
  call.num_rows = call.x_stride = call.weight.n = call.weight.k = 8;
  call.dtype = call.out_dtype = kBf16;
  check_refused(call, &quant_product, &QuantProduct::x_MK, &QuantProduct::bias_N);
  QuantMatrix weight = {};
  weight.n = weight.k = 8;
  const auto multiply = [&](const QuantMatrix& matrix, void*) {
    QuantProduct wrong = call;
    wrong.weight = matrix;
    return quant_product(wrong, nullptr);
  };
  check_refused(weight, multiply, &QuantMatrix::codes, &QuantMatrix::block_scales);
  const auto widen = [](const QuantMatrix& matrix, void*) { return dequantise(memory, matrix, kBf16, nullptr); };
  check_refused(weight, widen, &QuantMatrix::codes);
  EXPECT(is_misaligned(dequantise(memory + 2, weight, kBf16, nullptr)));
}

TEST("attention refuses queries, keys and values that 16 bytes are not read from") {
  PagedAttention paged = {};
  paged.num_tiles = paged.num_rows = paged.num_heads = paged.num_kv_heads = 1;
  paged.head_dim = 64;
  paged.dtype = kBf16;
  check_refused(paged, &paged_attention, &PagedAttention::query, &PagedAttention::keys, &PagedAttention::values,
                &PagedAttention::key_scales, &PagedAttention::value_scales);
  check_refused(paged, &prefill_attention, &PagedAttention::query, &PagedAttention::keys, &PagedAttention::values,
                &PagedAttention::key_scales, &PagedAttention::value_scales);
  SpanAttentionGradient spans = {};
  spans.of.num_tiles = spans.of.num_tokens = spans.of.num_heads = spans.of.num_kv_heads = 1;
  spans.of.head_dim = 64;
  spans.of.dtype = kBf16;
  const auto forward = [](const SpanAttention& call, void*) { return span_attention(call, nullptr); };
  for (SpanHeads SpanAttention::* heads :
       {&SpanAttention::query_THC, &SpanAttention::key_TKC, &SpanAttention::value_TKC}) {
    SpanAttention wrong = spans.of;
    point((wrong.*heads).data, 2);
    EXPECT(is_misaligned(forward(wrong, nullptr)));
    wrong = spans.of;
    (wrong.*heads).stride = 68;
    EXPECT(is_misaligned(forward(wrong, nullptr)));
  }
  check_refused(spans, &span_attention_gradient, &SpanAttentionGradient::out_grad_THC);
  point(spans.of.out_THC, 2);
  EXPECT(is_misaligned(span_attention_gradient(spans, nullptr)));
}

TEST("norms, gates, embeddings and encoders refuse rows that 16 bytes are not read from") {
  AddNorm norm = {};
  norm.num_rows = 1;
  norm.width = 8;
  norm.dtype = kBf16;
  check_refused(norm, &add_norm, &AddNorm::out_TD, &AddNorm::sum_TD, &AddNorm::residual_TD, &AddNorm::added_TD,
                &AddNorm::weight_D);
  NormGradient gradient = {};
  gradient.num_rows = 1;
  gradient.width = 8;
  gradient.dtype = kBf16;
  check_refused(gradient, &norm_gradient, &NormGradient::residual_grad_TD, &NormGradient::scratch,
                &NormGradient::out_grad_TD, &NormGradient::residual_TD, &NormGradient::weight_D);
  GateMul gate = {};
  gate.num_rows = 1;
  gate.width = gate.stride = 8;
  gate.dtype = kBf16;
  check_refused(gate, &gate_mul, &GateMul::out_TI, &GateMul::gate_TI, &GateMul::up_TI);
  GateMulGradient gates = {};
  gates.num_rows = 1;
  gates.width = gates.stride = 8;
  gates.dtype = kBf16;
  check_refused(gates, &gate_mul_gradient, &GateMulGradient::gate_grad_TI, &GateMulGradient::up_grad_TI,
                &GateMulGradient::out_grad_TI, &GateMulGradient::gate_TI, &GateMulGradient::up_TI);
  Embed tokens = {};
  tokens.num_tokens = 1;
  tokens.width = 8;
  tokens.dtype = kBf16;
  check_refused(tokens, &embed, &Embed::out_TD, &Embed::weight_VD);
  EmbedGradient places = {};
  places.num_tokens = 1;
  places.width = 8;
  check_refused(places, &embed_gradient, &EmbedGradient::weight_grad_VD, &EmbedGradient::out_grad_TD);
  AddLayerNorm layer = {};
  layer.num_rows = 1;
  layer.width = 8;
  layer.dtype = kBf16;
  check_refused(layer, &add_layer_norm, &AddLayerNorm::out_TD, &AddLayerNorm::rows_TD, &AddLayerNorm::added_TD,
                &AddLayerNorm::weight_D, &AddLayerNorm::bias_D);
  BiasGelu gelu = {};
  gelu.num_rows = 1;
  gelu.width = 8;
  gelu.dtype = kBf16;
  check_refused(gelu, &bias_gelu, &BiasGelu::rows_TI, &BiasGelu::bias_I);
  PoolTexts texts = {};
  texts.num_texts = 1;
  texts.width = 8;
  check_refused(texts, &pool_texts, &PoolTexts::out_SD, &PoolTexts::rows_TD);
}

TEST("experts, searches, logits and rotated heads refuse what their loads are not read from") {
  ExpertRows rows = {};
  rows.num_calls = rows.num_chosen = 1;
  rows.width = 8;
  check_refused(rows, &gather_calls, &ExpertRows::rows_RD, &ExpertRows::x_TD);
  ExpertSum sum = {};
  sum.num_tokens = sum.num_chosen = 1;
  sum.width = 8;
  sum.dtype = kBf16;
  check_refused(sum, &add_experts, &ExpertSum::out_TD, &ExpertSum::rows_RD);
  VectorSearch search;
  search.num_rows = search.num_queries = search.num_hits = search.num_parts = 1;
  search.width = 16;
  check_refused(search, &search_vectors, &VectorSearch::rows_NE, &VectorSearch::queries_QE);
  VectorRescore rescore = {};
  rescore.num_candidates = rescore.num_queries = rescore.num_hits = 1;
  rescore.width = 8;
  check_refused(rescore, &rescore_vectors, &VectorRescore::rows_NE, &VectorRescore::queries_QE);
  LogitRows logits = {};
  logits.num_rows = 1;
  logits.vocab_size = logits.stride = 8;
  logits.inverse_temperature = 1;
  const auto score = [](const LogitRows& call, void*) { return score_logits({}, call, nullptr); };
  check_refused(logits, score, &LogitRows::logits_RV);
  Rotate heads = {};
  heads.num_tokens = heads.num_heads = heads.num_kv_heads = 1;
  heads.head_dim = 64;
  heads.dtype = kBf16;
  check_refused(heads, &rotate, &Rotate::keys, &Rotate::values);
  for (ProjectedHeads Rotate::* part : {&Rotate::query, &Rotate::key, &Rotate::value}) {
    Rotate wrong = heads;
    point((wrong.*part).data, 2);
    EXPECT(is_misaligned(rotate(wrong, nullptr)));
  }
}

TEST("a product's results may begin anywhere") {
  const int64_t m = 5, n = 24, k = 16;
  const auto x = normals<Bf16>(m * k, 1), w = normals<Bf16>(n * k, 2);
  std::vector<Bf16> out(m * n + 8);
  Product call = {};
  call.left = x.data();
  call.right = w.data();
  call.left_stride = call.right_stride = call.k = k;
  call.m = m;
  call.n = call.out_stride = n;
  call.dtype = call.out_dtype = kBf16;
  std::vector<std::vector<float>> results;
  for (const int64_t first : {0, 1, 4}) {
    call.out_MN = out.data() + first;
    EXPECT(product(call, nullptr) == nullptr);
    results.emplace_back();
    for (int64_t i = 0; i < m * n; ++i) results.back().push_back(to_float(out[first + i]));
  }
  EXPECT(results[0] == results[1] && results[0] == results[2]);
}
