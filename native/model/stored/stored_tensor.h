// Where numbers of a weight stand on the disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace seekrl::model {

// One tensor of a safetensors or GGUF file.
struct StoredTensor {
  std::string name;
  std::string dtype;  // F32, F16, BF16, a format of gguf/ggml_blocks.h, or U8 for codes
  std::vector<int64_t> shape;
  std::string path;
  uint64_t offset = 0;  // of the first byte, from the file's beginning
  // Not zero: the rows are those of so many heads, whose rows that rotary positions turn together lie side by side, as
  // llama.cpp keeps the llama architecture.
  int64_t num_paired_heads = 0;
  // Not zero: as many columns has a row in the file, of which these are some.
  int64_t num_stored_columns = 0;
};

}  // namespace seekrl::model
