// Low-rank adapters (LoRA, arXiv 2106.09685) on the projections of one decoder, whose weights stay as they are.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/parallel/tensor_parallel.h"
#include "model/parameter.h"
#include "ops/gpu/products/low_rank.h"

namespace seekrl::model {

// A linear map of a decoder: "model.layers.0.self_attn.q_proj", [N, K].
struct ProjectionShape {
  std::string name;
  int64_t rows, columns;
  Slice slice = {};  // of them, that this rank has
};

struct AdapterOptions {
  int64_t rank = 0;
  double alpha = 0.0;
  bool is_rank_stabilised = false;  // the scale is alpha / sqrt(rank) (arXiv 2312.03732), else alpha / rank
  // Projections' names or what stands behind one of their dots, such as "q_proj"; "all-linear" is all of them.
  std::vector<std::string> targets;
};

// Device thread only, save where said.
class Adapter {
 public:
  // What is added to a projection's product: scale (x A^T) B^T.
  struct LowRank {
    at::Tensor down_RK, up_NR;  // A and B, f32
  };

  // A is drawn as PEFT does, uniform in +-1/sqrt(K), by a counter-based generator; B is zero, so nothing is added yet.
  // `projections`: the decoder's, in its order. ERR_RANGE for a rank above the widest target's outputs and inputs.
  // Of a split projection this rank has the columns of A or the rows of B that go with its slice, and all of the other.
  Adapter(const std::vector<ProjectionShape>& projections, AdapterOptions options, at::Device device, uint64_t seed,
          TensorParallel parallel = {});

  // Under PEFT's names, "base_model.model.<projection>.lora_A.weight" and "...lora_B.weight".
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const at::Tensor& parameter(const std::string& name) const;

  // Of the decoder's projection of that place; null when it is no target.
  const LowRank* at(int64_t projection) const;
  // The same for a product: with gradients, those of what every rank has are summed over ranks.
  LowRank entered(int64_t projection) const;
  // What this rank holds of a parameter.
  Slice slice_of(const std::string& name) const;
  const TensorParallel& parallel() const { return parallel_; }
  int64_t num_projections() const { return static_cast<int64_t>(pairs_.size()); }

  // By projection, for a GPU's products; undefined tensors where it is no target. Rounded again in the same memory
  // when the numbers have changed since the last call. `dtype`: the decoder's.
  const std::vector<ops::GpuPair>& on_gpu(at::ScalarType dtype) const;
  double scale() const;
  const AdapterOptions& options() const { return options_; }

  // Moves by one with each change of the numbers. From any thread.
  int64_t version() const { return version_; }
  void changed() { ++version_; }
  void changed_to(int64_t version) { version_ = version; }

  // Another one for each adapter of the process.
  int64_t id() const { return id_; }

 private:
  AdapterOptions options_;
  int64_t id_;
  TensorParallel parallel_;
  std::vector<Slice> projection_slices_;
  std::unordered_map<std::string, Slice> slices_;  // of parameters that are split
  std::vector<LowRank> pairs_;                     // by projection; undefined where it is no target
  std::vector<Parameter> parameters_;
  std::atomic<int64_t> version_{0};
  mutable std::vector<ops::GpuPair> gpu_pairs_;
  mutable int64_t gpu_version_ = -1;
};

// An adapter of its own with the same numbers.
std::shared_ptr<Adapter> clone(const Adapter& adapter, const std::vector<ProjectionShape>& projections);

}  // namespace seekrl::model
