// Index files whose checksums are right and whose contents are not: refused when they are read, before a search.
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.h"
#include "check.h"
#include "search/words/bm25.h"

using namespace seekrl;
using namespace seekrl::search;

namespace {

// One term in two of three passages.
struct OneTerm {
  uint32_t count = 2;
  std::vector<uint32_t> passages = {0, 2};
  std::vector<uint16_t> pairs = {0, 1};
  uint64_t start = 0;
};

std::string write(const OneTerm& term) {
  const std::string path = "/tmp/seekrl-index-test-" + std::to_string(getpid()) + ".bin";
  BlobWriter file(path, Bm25Index::kKind);
  const float max_impact = 1;
  file.write(&term.count, sizeof(term.count));
  file.write(&max_impact, sizeof(max_impact));
  file.write(term.passages);
  file.write(term.pairs);
  file.write(std::vector<uint32_t>{0});  // to a multiple of 8
  file.write(std::vector<uint64_t>{42});
  file.write(std::vector<uint64_t>{term.start});
  file.write(std::vector<TermFrequency>{{1, 4}, {2, 5}});
  file.finish({3, 9, std::bit_cast<int64_t>(1.2), std::bit_cast<int64_t>(0.75), 1, 2});
  return path;
}

bool is_refused(const OneTerm& term) {
  const std::string path = write(term);
  bool is_thrown = false;
  try {
    const Bm25Index index(path, Verify::kAll);
    EXPECT(index.find(42).count == 2 && index.find(41).count == 0);
  } catch (const Error& error) {
    is_thrown = error.code() == ErrorCode::kFormat;
  }
  std::remove(path.c_str());
  return is_thrown;
}

}  // namespace

TEST("postings that lead out of the index are refused when it is opened") {
  EXPECT(!is_refused({}));
  EXPECT(is_refused({.count = 3}));
  EXPECT(is_refused({.count = 0xffffffff}));
  EXPECT(is_refused({.passages = {0, 3}}));
  EXPECT(is_refused({.passages = {2, 0}}));
  EXPECT(is_refused({.passages = {1, 1}}));
  EXPECT(is_refused({.pairs = {0, 2}}));
  EXPECT(is_refused({.start = 2}));
  EXPECT(is_refused({.start = 24}));
  EXPECT(is_refused({.start = uint64_t{1} << 63}));
}
