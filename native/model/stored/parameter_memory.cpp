// Storages whose pointers are exchanged.
#include "model/stored/parameter_memory.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/Storage.h>

namespace seekrl::model {

at::Tensor without_memory(at::IntArrayRef shape, const at::TensorOptions& options) {
  at::Tensor value = at::empty({0}, options);
  value.unsafeGetTensorImpl()->set_sizes_contiguous(shape);
  return value;
}

void set_memory(const at::Tensor& value, const at::Tensor& flat) {
  c10::StorageImpl* const storage = value.storage().unsafeGetStorageImpl();
  auto* const owner = new at::Tensor(flat);
  const auto free = [](void* held) { delete static_cast<at::Tensor*>(held); };
  storage->set_data_ptr_noswap(at::DataPtr(flat.mutable_data_ptr(), owner, free, flat.device()));
  storage->set_nbytes(flat.nbytes());
}

void free_memory(const at::Tensor& value) {
  c10::StorageImpl* const storage = value.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(at::DataPtr(nullptr, value.device()));
  storage->set_nbytes(size_t{0});
}

}  // namespace seekrl::model
