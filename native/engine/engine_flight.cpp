// The step of a batch whose rows all decode on a GPU.
#include <algorithm>
#include <deque>

#include "engine/engine.h"

namespace seekrl::engine {

void Engine::start_flight(const std::vector<Row>& rows) {
  std::vector<SampleRequest> requests;
  std::deque<std::vector<int32_t>> masks;
  for (const Row& row : rows) {
    const auto& slot = row.sequence->span.options.masks;
    requests.push_back(request_of(*row.sequence));
    if (slot != nullptr) requests.back().hold_to(masks.emplace_back(slot->mask()).data());
  }
  flight_->begin(rows, requests);
  const bool has_room = may_run_ahead();
  flight_->launch();
  if (has_room) return continue_flight();
  collect_step();
}

// The next step is asked for before the last one's draws are looked at.
void Engine::continue_flight() {
  if (may_run_ahead()) flight_->launch();
  collect_step();
}

// The draws of the oldest step under way.
void Engine::collect_step() {
  ++stats_.num_steps;
  for (const auto& [sequence, sample] : flight_->collect()) {
    ++stats_.num_rows;
    take_samples(*sequence, &sample);
  }
  if (flight_->num_under_way() == 0) flight_->end();
  // Blocks of other weights than the present ones have no name that others may find.
  if (!are_weights_new()) scheduler_.remember();
  budget_.grow();
  scheduler_.set_limits(budget_.limits());
}

// Under a row of the last step.
bool Engine::are_weights_new() const {
  const std::vector<Row>& rows = scheduler_.rows();
  return std::any_of(rows.begin(), rows.end(),
                     [this](const Row& row) { return version_of(*row.sequence) != row.sequence->weights_version; });
}

// Not when nothing is left to draw for, as far as is known, or weights have changed, under which all is run anew.
bool Engine::may_run_ahead() {
  return flight_->may_go_on() && held_.empty() && !are_weights_new() &&
         scheduler_.extend(flight_->num_under_way() + 1, options_.max_tokens);
}

}  // namespace seekrl::engine
