// GGUF's rows: what their blocks mean, in the decoder's order, and what is refused; every byte that is read is there.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "check.h"
#include "model/gguf/stored_rows.h"
#include "model/stored/stored_numbers.h"
#include "scratch_file.h"

using namespace seekrl;
using namespace seekrl::model;
using test::code_of;
using test::ScratchFile;

namespace {

constexpr const char* kDtypes[] = {"F32",  "F16",  "BF16", "Q4_0", "Q4_1", "Q5_0",   "Q5_1",   "Q8_0",
                                   "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4"};
constexpr uint64_t kOffset = 3;  // no number lies where its type could be read

std::string random_bytes(size_t count, uint64_t stream) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(philox(7, stream, i)[0]);
  return bytes;
}

StoredTensor stored_in(const ScratchFile& file, const std::string& dtype, std::vector<int64_t> shape) {
  return {"w", dtype, std::move(shape), file.path(), kOffset};
}

std::vector<float> rows_of(const StoredTensor& stored, const MappedFile& file) {
  const StoredRows rows(stored, file);
  std::vector<float> numbers(static_cast<size_t>(rows.count() * rows.columns()));
  rows.read(0, rows.count(), numbers.data());
  return numbers;
}

bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

TEST("rows of every type end with the file, and are refused a byte or a column short of it") {
  for (const std::string dtype : kDtypes) {
    const BlockFormat& format = *block_format(dtype);
    const int64_t rows = 5, columns = 2 * format.size;
    const ScratchFile whole(random_bytes(kOffset + rows * 2 * format.bytes, 1));
    const ScratchFile cut(random_bytes(kOffset + rows * 2 * format.bytes - 1, 1));
    const MappedFile file(whole.path()), short_file(cut.path());
    EXPECT(rows_of(stored_in(whole, dtype, {rows, columns}), file).size() == static_cast<size_t>(rows * columns));
    const auto refused = [&](const StoredTensor& stored, const MappedFile& in) {
      return code_of([&] { StoredRows(stored, in); }) == ErrorCode::kFormat;
    };
    EXPECT(refused(stored_in(cut, dtype, {rows, columns}), short_file));
    EXPECT(format.size == 1 || refused(stored_in(whole, dtype, {rows, columns - 1}), file));
    EXPECT(refused(stored_in(whole, dtype, {rows, 2, columns / 2}), file));
    StoredTensor beyond = stored_in(whole, dtype, {rows, columns});
    beyond.offset = UINT64_MAX - 8;
    EXPECT(refused(beyond, file));
  }
}

TEST("rows that are read a few at a time are those that are read at once") {
  for (const std::string dtype : kDtypes) {
    const BlockFormat& format = *block_format(dtype);
    const ScratchFile scratch(random_bytes(kOffset + 7 * 2 * format.bytes, 2));
    const MappedFile file(scratch.path());
    const StoredTensor stored = stored_in(scratch, dtype, {7, 2 * format.size});
    const std::vector<float> all = rows_of(stored, file);
    const StoredRows rows(stored, file);
    std::vector<float> some(3 * 2 * format.size);
    rows.read(4, 3, some.data());
    for (size_t i = 0; i < some.size(); ++i) EXPECT(same(some[i], all[4 * 2 * format.size + i]));
  }
}

TEST("blocks of 8 and 4 bits mean a scale times their codes") {
  for (const bool is_byte : {true, false}) {
    const size_t block_bytes = is_byte ? 34 : 18;
    std::string bytes = random_bytes(kOffset + 4 * block_bytes, 3);
    const c10::Half scale(0.125f);
    for (size_t block = 0; block < 4; ++block) std::memcpy(&bytes[kOffset + block * block_bytes], &scale, 2);
    const ScratchFile scratch(bytes);
    const std::vector<float> found =
        rows_of(stored_in(scratch, is_byte ? "Q8_0" : "Q4_0", {2, 64}), MappedFile(scratch.path()));
    for (size_t i = 0; i < found.size(); ++i) {
      const size_t start = kOffset + i / 32 * block_bytes + 2, j = i % 32;
      const auto byte = static_cast<uint8_t>(bytes[start + (is_byte ? j : j % 16)]);
      const int code = is_byte ? static_cast<int8_t>(byte) : (j < 16 ? byte & 15 : byte >> 4) - 8;
      EXPECT(found[i] == 0.125f * static_cast<float>(code));
    }
  }
}

TEST("rows that turn together lie side by side in llama.cpp's files, and apart in the decoder") {
  std::vector<float> numbers(16);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  std::string bytes(kOffset, '\0');
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  const ScratchFile scratch(bytes);
  StoredTensor stored = stored_in(scratch, "F32", {16});
  stored.num_paired_heads = 2;
  const std::vector<float> expected = {0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
  EXPECT(rows_of(stored, MappedFile(scratch.path())) == expected);
  stored.num_paired_heads = 3;
  EXPECT(code_of([&] { StoredRows(stored, MappedFile(scratch.path())); }) == ErrorCode::kFormat);
}

TEST("a tensor is copied as its rows are, in every type, and refused where a number is not finite") {
  for (const std::string dtype : kDtypes) {
    const BlockFormat& format = *block_format(dtype);
    const std::vector<int64_t> shape = {70, 2 * format.size};
    const ScratchFile scratch(random_bytes(kOffset + 70 * 2 * format.bytes, 4));
    const MappedFile file(scratch.path());
    const StoredTensor stored = stored_in(scratch, dtype, shape);
    const std::vector<float> expected = rows_of(stored, file);
    bool is_finite = true;
    for (const float each : expected) is_finite = is_finite && std::isfinite(each);
    const at::Tensor value = at::empty(shape, at::kFloat);
    check_place(stored, file, value);
    if (!is_finite) {
      EXPECT(code_of([&] { check_numbers(stored, file, value); }) == ErrorCode::kRange);
      EXPECT(code_of([&] { copy_numbers(stored, file, value); }) == ErrorCode::kRange);
      continue;
    }
    copy_numbers(stored, file, value);
    EXPECT(std::equal(expected.begin(), expected.end(), value.const_data_ptr<float>()));
  }
}
