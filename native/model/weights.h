// A decoder's weights to and from safetensors files, whose headers the TypeScript layer reads and writes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/decoder.h"
#include "model/stored/stored_tensor.h"
#include "model/stored/stored_weights.h"

namespace seekrl::model {

using TensorsByName = std::unordered_map<std::string, const StoredTensor*>;

// ERR_FORMAT for a name that stands twice.
TensorsByName by_name(const std::vector<StoredTensor>& stored);

// ERR_FORMAT when there is none of this name and shape.
const StoredTensor& find_tensor(const TensorsByName& tensors, const std::string& name, at::IntArrayRef shape);

// A decoder with the stored weights; all are looked for before any memory is taken. Throws as read_weights. Those that
// are quantised may be stored as such, or are quantised a few rows at a time. With a group of several ranks each reads
// its slices alone. One that is unread takes its numbers from the files when they are needed; none of it is quantised
// or split.
std::shared_ptr<Decoder> load(const DecoderConfig& config, at::ScalarType dtype, at::Device device,
                              const std::vector<StoredTensor>& stored, Decoder::QuantOf quant_of = {},
                              std::shared_ptr<comm::ProcessGroup> group = nullptr, bool is_unread = false);

// Where the parameters stand of a decoder that is neither quantised nor split. Throws ERR_FORMAT as read_weights.
StoredWeights found_weights(const Decoder& decoder, const std::vector<StoredTensor>& stored);

// The tensors that hold a quantised weight: <name>.codes and what scales them (ops/quant/quant_weight.h).
std::vector<Parameter> stored_parts(const QuantParameter& parameter);

// Fills every parameter from the tensor of its name, converted to the decoder's dtype. Each parameter must be there in
// its shape, and nothing else may be (ERR_FORMAT), save what older programs wrote too: rotary frequencies, and the head
// of a tied model where it equals the embeddings. All numbers must be finite in the decoder's dtype (ERR_RANGE). What
// is refused changes nothing.
void read_weights(Decoder& decoder, const std::vector<StoredTensor>& stored);

// A weight by its name, whole: under tensor parallelism rank 0 asks, and the others follow. ERR_ARGUMENT when none has
// it.
at::Tensor whole_parameter(const Decoder& decoder, const std::string& name);

// Writes `header`, then the named parameters in order as `dtype` (F32, BF16 or F16), parts of quantised weights as
// they are, to a temporary file beside `path` that replaces `path` once it is on the disk. Throws ERR_RANGE when a
// number of them is not finite.
// `weight_of`: what is written of a parameter where it is not there (whole_parameter); asked in the order of names.
using WeightOf = std::function<at::Tensor(const std::string& name)>;
void write_weights(const Decoder& decoder, const std::string& path, const std::string& header,
                   const std::vector<std::string>& names, const std::string& dtype, const WeightOf& weight_of = {});

// The same for any named tensors, such as an optimiser's moments: all must be there, and nothing else may be; read
// ones must be finite. Tensors that are not fresh stay as they are when one is refused.
// With ranks that each have slices no rank's change where one refuses.
void read_tensors(const std::vector<Parameter>& tensors, const std::vector<StoredTensor>& stored, bool is_fresh = false,
                  const TensorParallel& parallel = {});
// `whole_of`: what is written of the i-th, where ranks hold slices of them.
using WholeOf = std::function<at::Tensor(size_t)>;
void write_tensors(const std::vector<Parameter>& tensors, const std::string& path, const std::string& header,
                   const std::string& dtype, const WholeOf& whole_of = {});

// A decoder of its own with the same weights, as unread as those; of a split one on all ranks.
std::shared_ptr<Decoder> clone(const Decoder& decoder);

}  // namespace seekrl::model
