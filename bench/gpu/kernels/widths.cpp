// Every width of heads in both kinds of 16-bit numbers: a step of decoding, prompts, and a layer of training.
#include "model.h"

namespace seekrl::bench {

namespace {

// Gradients of weights are products, which have cases of their own: fixtures are carried, and these are most of them.
void append(Prepared& all, const std::string& name, Prepared more) {
  all.run.append(more.run);
  for (Output& each : more.outputs) {
    if (each.name.ends_with("weight_grad")) continue;
    each.name = name + " " + each.name;
    all.outputs.push_back(std::move(each));
  }
}

Prepared prepare_width(Memory& memory, const Model& model) {
  Prepared all;
  append(all, "decode", prepare_decode(memory, {model, 3, 37, false}));
  append(all, "decode with codes", prepare_decode(memory, {model, 2, 19, true}));
  append(all, "prefill", prepare_prefill(memory, model, 2, 35));
  append(all, "train", prepare_layer(memory, model, 2, 35));
  return all;
}

}  // namespace

void add_width_cases(Cases& cases, bool) {
  for (const int64_t width : {32, 64, 80, 96, 128, 256}) {
    for (const cuda::Dtype dtype : {cuda::Dtype::kBf16, cuda::Dtype::kF16}) {
      const std::string name = "heads of " + std::to_string(width) + ", " + name_of(dtype);
      const Model model = {name, 1, 64, 4, 2, width, 96, 200, dtype};
      cases.push_back({.name = name,
                       .prepare = [model](Memory& memory) { return prepare_width(memory, model); },
                       .use = Use::kCheck});
    }
  }
}

}  // namespace seekrl::bench
