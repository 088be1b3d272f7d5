// One of the indexes that are searched as one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "search/vectors/row_set.h"
#include "search/words/bm25.h"
#include "search/words/bm25_query.h"

namespace seekrl::search {

// Impacts under the average length of all indexes, for exact scores and for sums that only sort out.
struct Impacts {
  std::vector<double> exact;
  std::vector<float> rounded;
};

struct Bm25Part {
  std::shared_ptr<const Bm25Index> index;
  int64_t first;        // number of its first passage
  Impacts impacts;      // by pair
  double bound_factor;  // from impacts under the index's own average length to an upper bound here
};

// Offers `best` what may be among the best. `postings`: of each of the query's terms; `excluded`: passages that are
// never found, or null.
void search_part(const Bm25Part& part, const Bm25Query& query, const std::vector<Postings>& postings,
                 const RowSet* excluded, BestPassages& best);

}  // namespace seekrl::search
