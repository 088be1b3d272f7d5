// In pieces, the file's memory given back on the way, so that a tensor is there once; each piece is looked at while the
// cache has it.
#include "model/stored/stored_numbers.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/error.h"
#include "model/gguf/stored_rows.h"
#include "model/stored/finite.h"

namespace seekrl::model {

namespace {

// A piece of a tensor's numbers, flat, and the place of its first one.
using Visit = std::function<void(const at::Tensor& piece, int64_t first)>;

void each_rows(const StoredTensor& stored, const MappedFile& file, const Visit& visit) {
  constexpr int64_t kAtOnce = 64;
  const StoredRows rows(stored, file);
  for (int64_t first = 0; first < rows.count(); first += kAtOnce) {
    const int64_t count = std::min(kAtOnce, rows.count() - first);
    const at::Tensor wide = at::empty({count * rows.columns()}, at::kFloat);
    rows.read(first, count, wide.mutable_data_ptr<float>());
    visit(wide, first * rows.columns());
  }
}

void each_piece(const StoredTensor& stored, const MappedFile& file, int64_t size, const Visit& visit) {
  if (needs_rows(stored)) return each_rows(stored, file, visit);
  constexpr int64_t kPiece = int64_t{1} << 20;
  const at::ScalarType dtype = scalar_type(stored.dtype, stored.name);
  const size_t element = at::elementSize(dtype);
  // The bytes may lie at any address, so they are first copied to where their type may be read.
  const at::Tensor source = at::empty({std::min(kPiece, size)}, dtype);
  for (int64_t first = 0; first < size; first += kPiece) {
    const int64_t count = std::min(kPiece, size - first);
    const size_t offset = stored.offset + static_cast<size_t>(first) * element,
                 num_bytes = static_cast<size_t>(count) * element;
    std::memcpy(source.mutable_data_ptr(), file.data() + offset, num_bytes);
    visit(source.narrow(0, 0, count), first);
    file.release(offset, num_bytes);
  }
}

void check_piece(const StoredTensor& stored, const at::Tensor& piece, int64_t first, at::ScalarType target) {
  if (!at::isFloatingType(target)) return;
  const int64_t place = first_not_finite(piece, target);
  if (place < 0) return;
  fail(ErrorCode::kRange, stored.path, ": ", stored.name, ": expected finite numbers of ", target, ", got ",
       piece[place].item<double>(), " at place ", first + place);
}

}  // namespace

at::ScalarType scalar_type(const std::string& dtype, const std::string& name) {
  if (dtype == "F32") return at::kFloat;
  if (dtype == "F16") return at::kHalf;
  if (dtype == "BF16") return at::kBFloat16;
  if (dtype == "U8") return at::kByte;
  if (dtype == "I16") return at::kShort;
  fail(ErrorCode::kFormat, name, ": dtype: expected F32, F16, BF16, U8 or I16, got ", dtype);
}

void check_place(const StoredTensor& stored, const MappedFile& file, const at::Tensor& value) {
  if (needs_rows(stored)) {
    StoredRows(stored, file);
    return;
  }
  const at::ScalarType dtype = scalar_type(stored.dtype, stored.name);
  const bool is_number = at::isFloatingType(dtype) && at::isFloatingType(value.scalar_type());
  require(is_number || dtype == value.scalar_type(), ErrorCode::kFormat, stored.path, ": ", stored.name,
          ": expected numbers of ", value.scalar_type(), ", got ", stored.dtype);
  const size_t num_bytes = static_cast<size_t>(value.numel()) * at::elementSize(dtype);
  require(stored.offset <= file.size() && num_bytes <= file.size() - stored.offset, ErrorCode::kFormat, stored.path,
          ": ", stored.name, " ends beyond the file's ", file.size(), " bytes");
}

void check_numbers(const StoredTensor& stored, const MappedFile& file, const at::Tensor& value) {
  each_piece(stored, file, value.numel(),
             [&](const at::Tensor& piece, int64_t first) { check_piece(stored, piece, first, value.scalar_type()); });
}

void copy_numbers(const StoredTensor& stored, const MappedFile& file, const at::Tensor& value) {
  const at::Tensor flat = value.view({-1});
  each_piece(stored, file, value.numel(), [&](const at::Tensor& piece, int64_t first) {
    check_piece(stored, piece, first, value.scalar_type());
    flat.narrow(0, first, piece.numel()).copy_(piece);
  });
}

}  // namespace seekrl::model
