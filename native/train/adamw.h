// AdamW over a list of parameters: their gradients' sums, their moments, and what bf16 weights lack of their f32.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/process_group.h"
#include "model/policy.h"
#include "model/stored/stored_weights.h"
#include "model/weights.h"
#include "ops/adamw.h"
#include "train/zero/gradients.h"
#include "train/zero/layout.h"
#include "train/zero/pass.h"
#include "train/zero/square_sums.h"
#include "train/zero/weights.h"

namespace seekrl::train {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  bool decay_vectors = true;   // false: norms and biases (parameters of one axis) are not decayed
  double max_grad_norm = 1.0;  // global; <= 0 turns clipping off
  bool has_8_bit_moments = false;
  bool has_master = true;    // false: bf16 weights are rounded at random, with nothing kept below them
  std::string state_folder;  // where a file holds moments and masters; in memory when empty
  std::shared_ptr<comm::ProcessGroup> process_group;  // whose gradients are summed; null for one process
  // What ranks share out instead of keeping all of it (ZeRO, arXiv 1910.02054): 0 nothing, 1 moments and masters, 2
  // gradients too, 3 weights too.
  int64_t zero = 0;
  // Micro-batches that are summed as a tree of so many leaves, the same for any number of ranks (SharedGradients); 0:
  // ranks' sums are added in any order.
  int64_t gradient_shards = 0;
  at::ScalarType reduce_dtype = at::kFloat;  // what gradients travel in between ranks: f32, or bf16 (Reducer)
};

// Which of the parameters this process has slices of, whose others other ranks have (model/parallel).
struct Slices {
  model::TensorParallel parallel;
  std::function<model::Slice(const std::string& name)> of;
};
inline Slices slices_of(const model::Policy& policy) {
  return {policy.parallel(), [policy](const std::string& name) { return policy.slice_of(name); }};
}

// What a learner that shares out weights is to read its pieces of these parameters from; null where they are there, as
// they are for any other learner.
std::shared_ptr<const model::StoredWeights> unread_of(const model::Policy& policy,
                                                      const std::vector<model::Parameter>& trained,
                                                      const AdamWOptions& options);

// Decoupled weight decay and bias correction as in Loshchilov and Hutter, arXiv 1711.05101. Gradients are summed in
// f32 whatever the parameters' dtype: sums in bf16 would depend on how a batch was cut (law 3).
class AdamW {
 public:
  // The parameters require gradients from here until the end of this object; ERR_STATE when another trains them,
  // ERR_ARGUMENT without a master for weights that are f32 themselves. Of what is unread this rank's pieces are read.
  AdamW(std::vector<model::Parameter> parameters, AdamWOptions options, Slices slices = {},
        const std::shared_ptr<const model::StoredWeights>& unread = nullptr);
  AdamW(const AdamW&) = delete;
  AdamW& operator=(const AdamW&) = delete;

  // A forward that returns its loss; it hands the observer, which may be null, to the decoder.
  using Forward = std::function<at::Tensor(model::PassObserver*)>;

  // Adds the gradients of a loss to those summed since the last step. When the backward fails none are left: what a
  // part of it has added cannot be told from the rest. Where `runs_together`, all ranks call it or `idle` as often.
  void accumulate(const Forward& forward);
  void idle();
  bool runs_together() const { return pass_ != nullptr; }

  // Every rank gets all weights until the next of the calls above, or the next step; all ranks call it. ERR_REMOTE or
  // ERR_DEVICE where what was to bring them was aborted: whoever generates with weights, or writes them, calls it
  // first.
  void gather_weights();

  // One update with the gradients summed since the last, over all ranks; zeroes them. Returns their global norm before
  // clipping. A norm that is not finite, or a gradient (after clipping) whose square f32 does not hold, throws
  // ERR_RANGE and changes nothing but the gradients, which are zeroed.
  double step(double learning_rate);

  void zero_gradients();
  // A copy, over all ranks, which all call it; whole.
  at::Tensor gradient(const std::string& name) const;
  const std::vector<model::Parameter>& parameters() const { return parameters_; }

  // Everything a resumed run needs besides the weights: "adamw.m.<name>" and "adamw.v.<name>", or their codes
  // "adamw.m8.<name>" and "adamw.root8.<name>" with ".scale", and "adamw.low.<name>" where there is a master. Of a
  // parameter of which this rank has but elements [a, b) the name is followed by "[a:b]".
  std::vector<model::Parameter> state() const;
  // Of what its names say this rank has: by place in state().
  std::vector<model::Slice> state_slices() const;
  // Reads the state and `others` from what any number of ranks have written. ERR_FORMAT where a part is missing;
  // ERR_RANGE for moments and scales that no gradients leave, of which a step would make weights that are not numbers:
  // those of squares and scales below zero, and others too large. What is refused changes nothing.
  void read_state(const std::vector<model::Parameter>& others, const std::vector<model::StoredTensor>& stored,
                  int64_t num_steps);
  // Replaces the weights of the decoder whose parameters these are: all of them where they are whole, else this rank's
  // pieces. Throws as model::read_weights.
  void read_weights(model::Decoder& decoder, const std::vector<model::StoredTensor>& stored);
  // Writes the decoder whose parameters these are, as model::write_weights; nothing without a path. Where ranks have
  // shares they all call it with the same names, and have one unit whole at a time.
  void write_weights(const model::Decoder& decoder, const std::string& path, const std::string& header,
                     const std::vector<std::string>& names, const std::string& dtype);
  // What this rank writes of other tensors that are trained too: its pieces of what is shared out; else all, on one
  // rank.
  std::vector<model::Parameter> written_of(const std::vector<model::Parameter>& others) const;
  int64_t num_steps() const { return num_steps_; }

 private:
  void read_pieces(const model::StoredWeights& stored);
  const Unit* unit_with(const std::string& name) const;
  std::vector<model::Parameter> own_of(const std::vector<model::Parameter>& others) const;
  std::vector<std::string> known_names(const std::vector<model::Parameter>& others) const;
  void guarded(const std::function<void()>& work);
  ops::TrainedParameter make_trained(const Piece& piece) const;
  double norm() const;
  double gpu_norm() const;
  double sliced_norm() const;
  bool is_counted(const model::Slice& slice) const;
  std::vector<BlockRun> gradient_runs(const std::function<bool(const model::Slice&)>& is_wanted) const;
  std::vector<model::StoredTensor> own_slices(std::vector<model::StoredTensor> stored) const;
  void check_gradients(double norm, double divisor);
  comm::ProcessGroup* group() const { return options_.process_group.get(); }
  int rank() const { return layout_.num_ranks() == 1 ? 0 : group()->rank(); }

  std::vector<model::Parameter> parameters_;
  AdamWOptions options_;
  model::TensorParallel parallel_;
  std::vector<model::Slice> slices_;  // by parameter
  Layout layout_;
  std::vector<Piece> pieces_;  // of this rank
  std::unique_ptr<Weights> weights_;
  std::vector<ops::TrainedParameter> trained_;  // by piece
  std::unique_ptr<Gradients> gradients_;
  std::unique_ptr<Pass> pass_;  // null where nothing is to be done while a pass goes on
  int64_t num_steps_ = 0;
};

}  // namespace seekrl::train
