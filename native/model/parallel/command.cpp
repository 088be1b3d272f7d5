// Texts and numbers fill whole words.
#include "model/parallel/command.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

namespace seekrl::model {

namespace {

constexpr size_t kWord = sizeof(int64_t);

enum class Kind : int64_t { kUndefined, kIds, kFloats };

Kind kind_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return Kind::kUndefined;
  TORCH_INTERNAL_ASSERT(tensor.is_cpu() && tensor.dim() == 1);
  if (tensor.scalar_type() == at::kLong) return Kind::kIds;
  TORCH_INTERNAL_ASSERT(tensor.scalar_type() == at::kFloat);
  return Kind::kFloats;
}

}  // namespace

CommandWriter& CommandWriter::number(int64_t value) {
  words_.push_back(value);
  return *this;
}

CommandWriter& CommandWriter::bytes(const void* data, size_t count) {
  const size_t begin = words_.size();
  words_.resize(begin + (count + kWord - 1) / kWord);
  if (count > 0) std::memcpy(words_.data() + begin, data, count);
  return *this;
}

CommandWriter& CommandWriter::text(const std::string& value) {
  return number(std::ssize(value)).bytes(value.data(), value.size());
}

CommandWriter& CommandWriter::tensor(const at::Tensor& value) {
  const Kind kind = kind_of(value);
  number(static_cast<int64_t>(kind));
  if (kind == Kind::kUndefined) return *this;
  const at::Tensor flat = value.contiguous();
  return number(flat.numel()).bytes(flat.const_data_ptr(), flat.nbytes());
}

CommandWriter& CommandWriter::ids(const std::vector<int64_t>& values) {
  return number(std::ssize(values)).bytes(values.data(), values.size() * kWord);
}

CommandWriter& CommandWriter::texts(const std::vector<std::string>& values) {
  number(std::ssize(values));
  for (const std::string& value : values) text(value);
  return *this;
}

CommandWriter& CommandWriter::stored(const std::vector<StoredTensor>& tensors) {
  number(std::ssize(tensors));
  for (const StoredTensor& each : tensors) {
    text(each.name).text(each.dtype).ids(each.shape).text(each.path).number(static_cast<int64_t>(each.offset));
    number(each.num_paired_heads).number(each.num_stored_columns);
  }
  return *this;
}

const int64_t* CommandReader::words_of(size_t num_bytes) {
  const size_t count = (num_bytes + kWord - 1) / kWord;
  TORCH_INTERNAL_ASSERT(count <= static_cast<size_t>(end_ - at_));
  return std::exchange(at_, at_ + count);
}

int64_t CommandReader::number() { return *words_of(kWord); }

std::string CommandReader::text() {
  const auto count = static_cast<size_t>(number());
  return {reinterpret_cast<const char*>(words_of(count)), count};
}

at::Tensor CommandReader::tensor() {
  const auto kind = static_cast<Kind>(number());
  if (kind == Kind::kUndefined) return {};
  const at::Tensor value = at::empty({number()}, kind == Kind::kIds ? at::kLong : at::kFloat);
  const int64_t* const words = words_of(value.nbytes());
  if (value.nbytes() > 0) std::memcpy(value.mutable_data_ptr(), words, value.nbytes());
  return value;
}

std::vector<int64_t> CommandReader::ids() {
  const int64_t count = number();
  const int64_t* const words = words_of(static_cast<size_t>(count) * kWord);
  return {words, words + count};
}

std::vector<std::string> CommandReader::texts() {
  std::vector<std::string> values(static_cast<size_t>(number()));
  for (std::string& value : values) value = text();
  return values;
}

std::vector<StoredTensor> CommandReader::stored() {
  std::vector<StoredTensor> tensors(static_cast<size_t>(number()));
  for (StoredTensor& each : tensors) {
    each.name = text();
    each.dtype = text();
    each.shape = ids();
    each.path = text();
    each.offset = static_cast<uint64_t>(number());
    each.num_paired_heads = number();
    each.num_stored_columns = number();
  }
  return tensors;
}

}  // namespace seekrl::model
