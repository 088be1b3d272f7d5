// In pieces, the file's memory given back on the way, so that a tensor is there once; each piece is looked at while the
// cache has it.
#include "model/stored/stored_numbers.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

#include "base/error.h"
#include "model/gguf/stored_rows.h"
#include "model/stored/finite.h"
#include "ops/parallel.h"

namespace seekrl::model {

namespace {

// A piece of the numbers that are asked for, flat, and the place among them of its first one.
using Visit = std::function<void(const at::Tensor& piece, int64_t first)>;

int64_t first_wrong(const void* numbers, int64_t count, at::ScalarType from, at::ScalarType target) {
  return at::isFloatingType(target) ? first_not_finite(numbers, count, from, target) : -1;
}

[[noreturn]] void refuse(const StoredTensor& stored, double number, int64_t place, at::ScalarType target) {
  fail(ErrorCode::kRange, stored.path, ": ", stored.name, ": expected finite numbers of ", target, ", got ", number,
       " at place ", place);
}

// Numbers [from, from + size) of the tensor, of those rows that have some of them.
void each_rows(const StoredTensor& stored, const MappedFile& file, at::ScalarType target, int64_t from, int64_t size,
               const Visit& visit) {
  constexpr int64_t kAtOnce = 64;
  const StoredRows rows(stored, file);
  const int64_t columns = rows.columns(), end = from + size;
  for (int64_t row = from / columns; row * columns < end; row += kAtOnce) {
    const int64_t count = std::min(kAtOnce, (end - 1) / columns + 1 - row), place = row * columns;
    const at::Tensor wide = at::empty({count * columns}, at::kFloat);
    rows.read(row, count, wide.mutable_data_ptr<float>());
    const int64_t first = std::max(from, place), last = std::min(end, place + wide.numel());
    const at::Tensor piece = wide.narrow(0, first - place, last - first);
    const int64_t wrong = first_wrong(piece.const_data_ptr(), piece.numel(), at::kFloat, target);
    if (wrong >= 0) refuse(stored, piece[wrong].item<double>(), first + wrong, target);
    visit(piece, first - from);
  }
}

// The bytes may lie at any address, so they are first copied to where their type may be read; by several threads.
void read_piece(const at::Tensor& piece, const StoredTensor& stored, const MappedFile& file, int64_t first,
                at::ScalarType target) {
  // As many as a core's own cache holds until they are looked at.
  constexpr int64_t kAtOnce = int64_t{1} << 16;
  const at::ScalarType dtype = piece.scalar_type();
  const int64_t size = piece.numel(), num_parts = (size + kAtOnce - 1) / kAtOnce;
  const auto element = static_cast<int64_t>(piece.element_size());
  auto* const to = static_cast<std::byte*>(piece.mutable_data_ptr());
  const std::byte* const from = file.data() + stored.offset + first * element;
  std::vector<int64_t> wrong(num_parts);
  ops::claim_items(num_parts, size * element, [&](int64_t i) {
    const int64_t start = i * kAtOnce, count = std::min(kAtOnce, size - start);
    std::memcpy(to + start * element, from + start * element, static_cast<size_t>(count * element));
    wrong[i] = first_wrong(to + start * element, count, dtype, target);
  });
  for (int64_t i = 0; i < num_parts; ++i) {
    const int64_t place = i * kAtOnce + wrong[i];
    if (wrong[i] >= 0) refuse(stored, piece[place].item<double>(), first + place, target);
  }
}

// As many numbers as the value has, from `from` on. Pieces are made in their places of `into` where that is defined:
// flat, on the CPU, of the stored dtype.
void each_piece(const StoredTensor& stored, const MappedFile& file, const at::Tensor& value, int64_t from,
                const at::Tensor& into, const Visit& visit) {
  const at::ScalarType target = value.scalar_type();
  const int64_t size = value.numel();
  if (needs_rows(stored)) return each_rows(stored, file, target, from, size, visit);
  constexpr int64_t kPiece = int64_t{1} << 20;
  const at::ScalarType dtype = scalar_type(stored.dtype, stored.name);
  const at::Tensor source = into.defined() ? into : at::empty({std::min(kPiece, size)}, dtype);
  for (int64_t first = 0; first < size; first += kPiece) {
    const at::Tensor piece = source.narrow(0, into.defined() ? first : 0, std::min(kPiece, size - first));
    read_piece(piece, stored, file, from + first, target);
    visit(piece, first);
    file.release(stored.offset + static_cast<size_t>(from + first) * at::elementSize(dtype), piece.nbytes());
  }
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
    require((stored.dtype == "I16") == (value.scalar_type() == at::kShort), ErrorCode::kFormat, stored.path, ": ",
            stored.name, ": expected numbers of ", value.scalar_type(), ", got ", stored.dtype);
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

void check_numbers(const StoredTensor& stored, const MappedFile& file, const at::Tensor& value, int64_t from) {
  each_piece(stored, file, value, from, {}, [](const at::Tensor&, int64_t) {});
}

void check_between(const StoredTensor& stored, const MappedFile& file, const at::Tensor& value, float least,
                   float most) {
  each_piece(stored, file, value, 0, {}, [&](const at::Tensor& piece, int64_t first) {
    const at::Tensor wide = piece.to(at::kFloat);
    const auto* const begin = wide.const_data_ptr<float>();
    const auto* const end = begin + wide.numel();
    const auto* const wrong = std::find_if(begin, end, [=](float each) { return each < least || each > most; });
    if (wrong == end) return;
    fail(ErrorCode::kRange, stored.path, ": ", stored.name, ": expected numbers from ", least, " to ", most, ", got ",
         *wrong, " at place ", first + (wrong - begin));
  });
}

void copy_numbers(const StoredTensor& stored, const MappedFile& file, const at::Tensor& value, int64_t from) {
  const at::Tensor flat = value.view({-1});
  const bool is_same =
      value.is_cpu() && !needs_rows(stored) && scalar_type(stored.dtype, stored.name) == value.scalar_type();
  each_piece(stored, file, value, from, is_same ? flat : at::Tensor(), [&](const at::Tensor& piece, int64_t first) {
    if (!is_same) flat.narrow(0, first, piece.numel()).copy_(piece);
  });
}

bool equals_numbers(const StoredTensor& stored, const MappedFile& file, const at::Tensor& value, int64_t from) {
  const at::Tensor flat = value.view({-1});
  bool is_equal = true;
  each_piece(stored, file, value, from, {}, [&](const at::Tensor& piece, int64_t first) {
    const at::Tensor own = flat.narrow(0, first, piece.numel()).to(at::kCPU);
    is_equal = is_equal && own.equal(piece.to(own.scalar_type()));
  });
  return is_equal;
}

}  // namespace seekrl::model
