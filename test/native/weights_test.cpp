// Weights from and to files: every number comes back, and what is refused changes nothing.
#include "model/weights.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check.h"
#include "model/stored/finite.h"
#include "scratch_file.h"
#include "tiny_decoder.h"

using namespace seekrl;
using namespace seekrl::model;
using test::code_of;
using test::ScratchFile;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// As write_tensors puts them behind a header of five bytes.
std::vector<StoredTensor> places_of(const std::vector<Parameter>& tensors, const std::string& path,
                                    const std::string& dtype) {
  std::vector<StoredTensor> stored;
  uint64_t offset = 5;
  for (const auto& [name, value] : tensors) {
    const bool is_number = at::isFloatingType(value.scalar_type());
    const std::string kept = is_number ? dtype : "U8";
    stored.push_back({name, kept, value.sizes().vec(), path, offset});
    offset += static_cast<uint64_t>(value.numel()) * (kept == "F32" ? 4 : kept == "U8" ? 1 : 2);
  }
  return stored;
}

std::vector<Parameter> copies(const std::vector<Parameter>& tensors) {
  std::vector<Parameter> copied;
  for (const auto& [name, value] : tensors) copied.push_back({name, value.clone()});
  return copied;
}

bool same(const std::vector<Parameter>& a, const std::vector<Parameter>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!at::equal(a[i].value, b[i].value)) return false;
  }
  return true;
}

}  // namespace

TEST("the first number that is not finite is found in every dtype, at the end of a vector too") {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const int64_t size : {1, 7, 64, 1000}) {
      const at::Tensor numbers = at::full({size}, -65504.0, dtype);
      EXPECT(first_not_finite(numbers, at::kFloat) == -1);
      numbers[size - 1] = -kInfinity;
      EXPECT(first_not_finite(numbers, dtype) == size - 1);
      numbers[size / 2] = std::numeric_limits<float>::quiet_NaN();
      EXPECT(first_not_finite(numbers, dtype) == size / 2);
    }
  }
}

TEST("a number is not finite in a dtype exactly when rounding makes it infinite") {
  for (const float least : {std::bit_cast<float>(0x7f7f8000), 65520.0f}) {
    const at::ScalarType target = least > 1e6f ? at::kBFloat16 : at::kHalf;
    for (const float each : {std::nextafter(least, 0.0f), least, std::nextafter(least, kInfinity)}) {
      const at::Tensor number = at::full({1}, each, at::kFloat);
      const bool is_finite = number.to(target).to(at::kFloat).isfinite().item<bool>();
      EXPECT((first_not_finite(number, target) == -1) == is_finite);
      EXPECT(is_finite == (each < least));
    }
  }
}

TEST("tensors are read as they were written; one that is not finite changes none") {
  for (const std::string dtype : {"F32", "BF16", "F16"}) {
    const auto decoder = test::tiny_decoder(at::kFloat);
    const ScratchFile file;
    write_tensors(decoder->parameters(), file.path(), "12345", dtype);
    auto stored = places_of(decoder->parameters(), file.path(), dtype);
    const auto other = test::tiny_decoder(at::kFloat, 8);
    read_weights(*other, stored);
    if (dtype == "F32") EXPECT(same(other->parameters(), decoder->parameters()));
    const auto before = copies(other->parameters());
    // The last tensor's bytes as those of another type: exponents of ones among them.
    StoredTensor& last = stored.back();
    std::string ones(1 << 12, '\xff');
    const ScratchFile broken(ones);
    last.path = broken.path();
    last.offset = 0;
    EXPECT(code_of([&] { read_weights(*other, stored); }) == ErrorCode::kRange);
    EXPECT(same(other->parameters(), before));
    last.offset = ones.size() - 1;
    EXPECT(code_of([&] { read_weights(*other, stored); }) == ErrorCode::kFormat);
    EXPECT(same(other->parameters(), before));
    EXPECT(code_of([&] { load(other->config(), at::kFloat, at::kCPU, {stored[0]}); }) == ErrorCode::kFormat);
  }
}

TEST("quantised weights are read as they were written, in every kind") {
  for (const auto kind : {ops::QuantKind::kInt8, ops::QuantKind::kInt4, ops::QuantKind::kNf4}) {
    const auto plain = test::tiny_decoder(at::kFloat);
    const ScratchFile file, again;
    write_tensors(plain->parameters(), file.path(), "12345", "F32");
    const auto few = load(plain->config(), at::kFloat, at::kCPU, places_of(plain->parameters(), file.path(), "F32"),
                          quant_all(kind));
    EXPECT(!few->quantised().empty());
    std::vector<std::string> names;
    std::vector<StoredTensor> stored;
    uint64_t offset = 5;
    const auto add = [&](const Parameter& tensor) {
      const auto type = tensor.value.scalar_type();
      names.push_back(tensor.name);
      stored.push_back({tensor.name,
                        type == at::kByte   ? "U8"
                        : type == at::kHalf ? "F16"
                                            : "F32",
                        tensor.value.sizes().vec(), again.path(), offset});
      offset += tensor.value.nbytes();
    };
    for (const Parameter& each : few->parameters()) add(each);
    for (const QuantParameter& each : few->quantised()) {
      for (const Parameter& part : stored_parts(each)) add(part);
    }
    write_weights(*few, again.path(), "12345", names, "F32");
    const auto read = load(plain->config(), at::kFloat, at::kCPU, stored, quant_all(kind));
    for (size_t i = 0; i < few->quantised().size(); ++i) {
      EXPECT(at::equal(read->quantised()[i].value.to_float(), few->quantised()[i].value.to_float()));
    }
    EXPECT(same(clone(*read)->parameters(), few->parameters()));
  }
}
