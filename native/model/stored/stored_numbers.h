// The numbers of one tensor in a file: whether they are there, whether they are finite, and copied to a value.
#pragma once

#include <ATen/core/Tensor.h>

#include "base/mapped_file.h"
#include "model/weights.h"

namespace seekrl::model {

// ERR_FORMAT for a dtype that files of weights do not have; `name` is the tensor's.
at::ScalarType scalar_type(const std::string& dtype, const std::string& name);

// ERR_FORMAT unless the file has them all, of a type that may be copied to `value`, whose shape the tensor has.
void check_place(const StoredTensor& stored, const MappedFile& file, const at::Tensor& value);

// Those below are of as many numbers as the value has, from place `from` of the tensor on.

// ERR_RANGE, which names the first, when one is not finite or would not be in the value's dtype.
void check_numbers(const StoredTensor& stored, const MappedFile& file, const at::Tensor& value, int64_t from = 0);

// ERR_RANGE, which names the first, when one of all is not from `least` to `most`. For numbers that are there
// (check_place).
void check_between(const StoredTensor& stored, const MappedFile& file, const at::Tensor& value, float least,
                   float most);

// Converts them to the value's dtype. Throws as check_numbers, and then has overwritten what stands before.
void copy_numbers(const StoredTensor& stored, const MappedFile& file, const at::Tensor& value, int64_t from = 0);

// Whether they are the value's, once converted to its dtype. Throws as check_numbers.
bool equals_numbers(const StoredTensor& stored, const MappedFile& file, const at::Tensor& value, int64_t from = 0);

}  // namespace seekrl::model
