// Conversions between JavaScript and the trainer's plain data.
#include "node/train/train_values.h"

#include "base/error.h"
#include "node/tensor_values.h"
#include "node/values.h"

namespace seekrl::node {

namespace {

// Absent arrays stay empty.
std::vector<int64_t> ids(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  return value.IsUndefined() ? std::vector<int64_t>() : to_ids(value, name);
}

std::vector<float> floats(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  return value.IsUndefined() ? std::vector<float>() : to_floats(value, name);
}

train::Objective to_objective(const std::string& name) {
  if (name == "likelihood") return train::Objective::kLikelihood;
  if (name == "clipped") return train::Objective::kClipped;
  if (name == "clipped-sequence") return train::Objective::kClippedSequence;
  if (name == "cispo") return train::Objective::kClippedWeight;
  fail(ErrorCode::kArgument, "objective: expected likelihood, clipped, clipped-sequence or cispo, got ", name);
}

train::Correction to_correction(const std::string& name) {
  if (name == "none") return train::Correction::kNone;
  if (name == "tis") return train::Correction::kTruncate;
  if (name == "mis") return train::Correction::kMask;
  fail(ErrorCode::kArgument, "correction: expected none, tis or mis, got ", name);
}

train::KlEstimator to_estimator(const std::string& name) {
  if (name == "none") return train::KlEstimator::kNone;
  if (name == "k1") return train::KlEstimator::kK1;
  if (name == "k2") return train::KlEstimator::kK2;
  if (name == "k3") return train::KlEstimator::kK3;
  if (name == "abs") return train::KlEstimator::kAbs;
  fail(ErrorCode::kArgument, "klEstimator: expected none, k1, k2, k3 or abs, got ", name);
}

void set(Napi::Object& object, const char* name, double value) { object[name] = value; }

}  // namespace

train::BatchArrays to_batch_arrays(const Napi::Value& value) {
  const Napi::Object object = to_object(value, "batch");
  train::BatchArrays arrays;
  arrays.tokens = ids(object, "tokens");
  arrays.span_starts = ids(object, "spanStarts");
  arrays.span_parents = ids(object, "spanParents");
  arrays.rows = ids(object, "rows");
  arrays.targets = ids(object, "targets");
  arrays.sequences = ids(object, "sequences");
  arrays.weights = floats(object, "weights");
  arrays.advantages = floats(object, "advantages");
  arrays.old_logprob = floats(object, "oldLogprobs");
  arrays.rollout_logprob = floats(object, "rolloutLogprobs");
  arrays.reference_logprob = floats(object, "referenceLogprobs");
  arrays.returns = floats(object, "returns");
  arrays.old_values = floats(object, "oldValues");
  return arrays;
}

train::AdamWOptions to_adamw_options(const Napi::Value& value) {
  const Napi::Object object = to_object(value, "optimiser options");
  train::AdamWOptions options;
  options.beta1 = number_of(object, "beta1");
  options.beta2 = number_of(object, "beta2");
  options.epsilon = number_of(object, "epsilon");
  options.weight_decay = number_of(object, "weightDecay");
  options.decay_vectors = bool_of(object, "decayVectors");
  options.max_grad_norm = number_of(object, "maxGradNorm");
  options.has_8_bit_moments = text_of(object, "moments") == "8-bit";
  options.has_master = bool_of(object, "masterWeights");
  options.state_folder = text_of(object, "stateFolder");
  options.zero = integer_of(object, "zero");
  options.gradient_shards = integer_of(object, "gradientShards");
  options.reduce_dtype = text_of(object, "reduceDtype") == "bfloat16" ? at::kBFloat16 : at::kFloat;
  return options;
}

train::LossOptions to_loss_options(const Napi::Value& value) {
  const Napi::Object object = to_object(value, "loss options");
  train::LossOptions options;
  options.objective = to_objective(text_of(object, "objective"));
  options.clip_low = number_of(object, "clipLow");
  options.clip_high = number_of(object, "clipHigh");
  options.clip_dual = number_of(object, "clipDual");
  options.correction = to_correction(text_of(object, "correction"));
  options.correction_low = number_of(object, "correctionLow");
  options.correction_high = number_of(object, "correctionHigh");
  options.entropy_coef = number_of(object, "entropyCoef");
  options.kl = to_estimator(text_of(object, "klEstimator"));
  options.kl_coef = number_of(object, "klCoef");
  options.temperature = number_of(object, "temperature");
  return options;
}

// {name, shape, dtype where they are no f32}[]
Napi::Value to_js(Napi::Env env, const std::vector<train::StateShape>& shapes) {
  Napi::Array list = Napi::Array::New(env);
  for (const train::StateShape& tensor : shapes) {
    list[list.Length()] = tensor_entry(env, tensor.name, tensor.sizes, tensor.dtype);
  }
  return list;
}

Napi::Value to_js(Napi::Env env, const train::LossStats& stats) {
  Napi::Object object = Napi::Object::New(env);
  set(object, "loss", stats.loss);
  set(object, "policy", stats.policy);
  set(object, "numRows", stats.num_rows);
  set(object, "entropy", stats.entropy);
  set(object, "kl", stats.kl);
  set(object, "approxKl", stats.approx_kl);
  set(object, "numClipped", stats.num_clipped);
  set(object, "correctionRatio", stats.correction_ratio);
  set(object, "numCorrected", stats.num_corrected);
  set(object, "gap", stats.gap);
  set(object, "gapMax", stats.gap_max);
  return object;
}

Napi::Value to_js(Napi::Env env, const train::ValueStats& stats) {
  Napi::Object object = Napi::Object::New(env);
  set(object, "loss", stats.loss);
  set(object, "numRows", stats.num_rows);
  set(object, "numClipped", stats.num_clipped);
  set(object, "values", stats.values);
  return object;
}

}  // namespace seekrl::node
