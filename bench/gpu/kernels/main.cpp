// How fast are the kernels on this GPU, and what share of its bandwidth and arithmetic is that?
//
// --write FOLDER: runs every case in a small shape and writes what it leaves, in the emulator. --check FOLDER: the same
// on a GPU, compared. Without either: the table, where some outputs are held against the host's. --list check|table:
// the names of those cases. --only TEXT: cases whose name has it; --case NAME: that one; of the table its row alone,
// and --head is all before the rows.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "fixtures.h"

namespace seekrl::bench {

namespace {

struct Options {
  std::string write, check, list, only, name;
  bool is_head = false;
  bool has_all() const { return only.empty() && name.empty(); }
  bool checks() const { return !write.empty() || !check.empty() || list == "check"; }
};

// Dense bf16 with f32 sums, in TFLOP/s, from NVIDIA's data sheets.
double peak_teraflops(const std::string& gpu) {
  struct Known {
    const char* name;
    double peak;
  };
  constexpr Known kKnown[] = {
      {"B200", 2250},     {"H200", 989},         {"H100 PCIe", 756}, {"H100 NVL", 835}, {"H100", 989},   {"GH200", 989},
      {"A100", 312},      {"A800", 312},         {"L40S", 362},      {"L40", 181},      {"L4", 121},     {"A10", 125},
      {"RTX A6000", 155}, {"RTX 6000 Ada", 364}, {"RTX 5090", 210},  {"RTX 4090", 165}, {"RTX 3090", 71}};
  for (const auto& [name, peak] : kKnown) {
    if (gpu.find(name) != std::string::npos) return peak;
  }
  return 0;
}

std::string number(double x) {
  char text[32];
  const char* const unit = x >= 1e6 ? "M" : (x >= 1e4 ? "k" : "");
  const double scaled = x >= 1e6 ? x / 1e6 : (x >= 1e4 ? x / 1e3 : x);
  std::snprintf(text, sizeof text,
                scaled < 0.1  ? "%.4f%s"
                : scaled < 10 ? "%.2f%s"
                              : (scaled < 100 ? "%.1f%s" : "%.0f%s"),
                scaled, unit);
  return text;
}

struct Roof {
  double bytes_per_second, flop_per_second;
};

void print_row(const Case& of, const std::string& rest) {
  std::printf("| %s | %s | %s | %s |\n", of.name.c_str(), number(of.bytes / 1e9).c_str(),
              number(of.flop / 1e12).c_str(), rest.c_str());
  std::fflush(stdout);
}

std::string measured(const Case& of, double microseconds, const Roof& roof) {
  const double by_bytes = roof.bytes_per_second > 0 ? of.bytes / roof.bytes_per_second * 1e6 : 0;
  const double by_flop = roof.flop_per_second > 0 ? of.flop / roof.flop_per_second * 1e6 : 0;
  const auto percent = [&](double least) { return std::to_string(std::lround(100 * least / microseconds)) + " %"; };
  return number(microseconds) + " | " + number(of.items / microseconds * 1e6) + " " + of.item + "/s | " +
         percent(by_bytes) + " | " + percent(by_flop);
}

struct Row {
  std::string rest;
  bool is_good;
};

// What a case with a check of its own says of it: before the run it must see that nothing is computed yet.
Row checked(const Prepared& prepared, const std::string& rest, bool was_wrong) {
  if (prepared.wrong == nullptr) return {rest + " | ", true};
  const std::string wrong = was_wrong ? prepared.wrong() : "is content before the run";
  return {rest + " | " + (wrong.empty() ? "ok" : "WRONG: " + wrong), wrong.empty()};
}

Row row_of(const Case& of, const Roof& roof) {
  if (is_gpu() && of.memory > static_cast<double>(free_bytes()))
    return {"needs " + number(of.memory / 1e9) + " GB | | | | ", true};
  try {
    Memory memory;
    const Prepared prepared = of.prepare(memory);
    synchronise();
    const bool was_wrong = prepared.wrong != nullptr && !prepared.wrong().empty();
    const double microseconds = median_microseconds(prepared.run);
    synchronise();
    return checked(prepared, is_gpu() ? measured(of, microseconds, roof) : "no GPU | | |", was_wrong);
  } catch (const DeviceError& error) {
    return {"FAILED: " + std::string(error.what()) + " | | | | ", false};
  }
}

void print_head(const Roof& roof) {
  std::printf("%s\n\n", gpu_words().c_str());
  if (is_gpu()) {
    std::printf("Copies read and write %.0f GB/s (measured); ", roof.bytes_per_second / 1e9);
    std::printf(roof.flop_per_second > 0 ? "dense bf16 %.0f TFLOP/s (data sheet).\n" : "no known peak of bf16.\n",
                roof.flop_per_second / 1e12);
  }
  std::printf("Medians; before each run twice the second-level cache is written.\n\n");
  std::printf(
      "| case | GB | TFLOP | us | rate | of bandwidth | of bf16 | results |\n"
      "|---|---|---|---|---|---|---|---|\n");
}

bool print_table(const Cases& cases, const Options& options) {
  const Roof roof = {copy_bytes_per_second(), peak_teraflops(gpu_name()) * 1e12};
  if (options.name.empty()) print_head(roof);
  bool is_good = true;
  for (const Case& each : options.is_head ? Cases() : cases) {
    const Row row = row_of(each, roof);
    print_row(each, row.rest);
    is_good = is_good && row.is_good;
  }
  return is_good;
}

// Every function of the library is in a case; those that only say a number are not.
bool covers_all() {
  bool is_whole = true;
#define SEEKRL_COVERED(name)                                                                 \
  if (std::strstr(#name, "scratch") == nullptr && std::strstr(#name, "_parts") == nullptr && \
      std::strstr(#name, "num_") == nullptr && !Calls::covered().contains(#name)) {          \
    std::printf("not ok - no case has %s\n", #name);                                         \
    is_whole = false;                                                                        \
  }
  SEEKRL_CUDA_FUNCTIONS(SEEKRL_COVERED)
#undef SEEKRL_COVERED
  return is_whole;
}

bool check_or_write(const Cases& cases, const Options& options) {
  bool is_good = true;
  for (const Case& each : cases) {
    Memory memory;
    const Prepared prepared = each.prepare(memory);
    synchronise();
    require(prepared.run(nullptr));
    synchronise();
    if (!options.write.empty()) write_outputs(options.write, each, prepared);
    if (!options.check.empty()) is_good = check_outputs(options.check, each, prepared) && is_good;
  }
  return (options.has_all() ? covers_all() : true) && is_good;
}

Cases all_cases(const Options& options) {
  Cases cases, chosen;
  const bool is_tiny = !is_gpu() || options.checks();
  const Use other = options.checks() ? Use::kTable : Use::kCheck;
  for (const auto add :
       {add_decode_cases, add_prefill_cases, add_training_cases, add_loss_cases, add_optimiser_cases, add_search_cases,
        add_encoder_cases, add_row_cases, add_product_cases, add_weight_cases, add_width_cases}) {
    add(cases, is_tiny);
  }
  std::copy_if(cases.begin(), cases.end(), std::back_inserter(chosen), [&](const Case& each) {
    return each.use != other && each.name.find(options.only) != std::string::npos &&
           (options.name.empty() || each.name == options.name);
  });
  if (chosen.empty() && !options.name.empty()) throw DeviceError("--case: no case is named " + options.name);
  return chosen;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&]() -> std::string {
      if (++i >= argc) throw DeviceError(argument + ": expected a value");
      return argv[i];
    };
    if (argument == "--write") {
      options.write = value();
    } else if (argument == "--check") {
      options.check = value();
    } else if (argument == "--only") {
      options.only = value();
    } else if (argument == "--case") {
      options.name = value();
    } else if (argument == "--list") {
      options.list = value();
      if (options.list != "check" && options.list != "table")
        throw DeviceError("--list: expected check or table, got " + options.list);
    } else if (argument == "--head") {
      options.is_head = true;
    } else {
      throw DeviceError(argument + ": unknown; there are --write, --check, --list, --only, --case and --head");
    }
  }
  return options;
}

}  // namespace

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const Cases cases = all_cases(options);
  if (!options.list.empty()) {
    for (const Case& each : cases) std::printf("%s\n", each.name.c_str());
    return 0;
  }
  if (options.checks()) return check_or_write(cases, options) ? 0 : 1;
  return print_table(cases, options) ? 0 : 1;
}

}  // namespace seekrl::bench

int main(int argc, char** argv) {
  try {
    return seekrl::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
