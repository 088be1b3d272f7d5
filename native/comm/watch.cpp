// Heartbeats, and the first failure that a rank wrote down.
#include "comm/watch.h"

#include <algorithm>
#include <sstream>

namespace seekrl::comm {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kBeat{500};
constexpr int64_t kGone = int64_t{1} << 40;  // taken from the beats of a rank that has left
const std::string kFailed = "failed";

std::string beat_key(int rank) { return "beat/" + std::to_string(rank); }

double seconds(steady_clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string progress_key(int rank) { return "at/" + std::to_string(rank); }

// Of the beats: a stall need not be noticed at once, and to look takes two questions a rank.
int beats_between_looks(milliseconds stall) {
  return static_cast<int>(std::clamp<int64_t>(stall / (4 * kBeat), 1, 20));
}

}  // namespace

struct Watch::State {
  struct Heard {
    int64_t beat = -1;
    steady_clock::time_point at = steady_clock::now();
  };

  // How many collectives a rank has come to, and the last of them.
  struct Progress {
    int64_t count = 0;
    std::string what;
    std::optional<steady_clock::time_point> behind_since = std::nullopt;  // others, unchanged
  };

  Place place;
  StorePointer store;
  mutable std::mutex mutex;
  std::condition_variable stopping;
  bool is_stopped = false, has_ended = false;
  std::optional<std::string> failure, to_report;
  std::condition_variable reported;
  steady_clock::time_point answered = steady_clock::now();  // when the store last did
  std::vector<Heard> heard;
  Progress own;      // under the mutex
  int64_t told = 0;  // of its count
  std::vector<Progress> of_ranks;
  int num_beats = 0;

  void beat();
  void tell_progress();
  Progress progress_of(int rank);
  void look_for_stall();
  void write_report();
  void look_at(int rank);
  void find_failure();
  // Until the next beat; false once stopped.
  bool rest();
};

void Watch::State::write_report() {
  std::optional<std::string> report;
  {
    std::lock_guard lock(mutex);
    report = to_report;
  }
  if (report) store->compareSet(kFailed, "", *report);
  {
    std::lock_guard lock(mutex);
    to_report.reset();
  }
  reported.notify_all();
}

void Watch::State::beat() {
  write_report();
  tell_progress();
  store->add(beat_key(place.rank), 1);
  // Rank 0 looks at all, and all at rank 0: its store may be a launcher's, which outlives it.
  for (int rank = 1; place.rank == 0 && rank < place.size; ++rank) look_at(rank);
  if (place.rank != 0) look_at(0);
  if (place.rank == 0 && ++num_beats % beats_between_looks(place.stall) == 0) look_for_stall();
  find_failure();
  std::lock_guard lock(mutex);
  answered = steady_clock::now();
}

void Watch::State::look_at(int rank) {
  Heard& last = heard[rank];
  const int64_t beat = store->add(beat_key(rank), 0);
  const auto now = steady_clock::now();
  if (beat != last.beat) last = {beat, now};
  if (beat < 0 || now - last.at < place.patience) return;
  std::ostringstream message;
  message << place.name_of(rank) << " has not been heard of for " << place.patience.count() / 1000 << " s";
  store->compareSet(kFailed, "", message.str());
}

void Watch::State::tell_progress() {
  std::string text;
  {
    std::lock_guard lock(mutex);
    if (told == own.count) return;
    told = own.count;
    text = std::to_string(own.count) + " " + own.what;
  }
  store->set(progress_key(place.rank), text);
}

Watch::State::Progress Watch::State::progress_of(int rank) {
  if (!store->check({progress_key(rank)})) return {};
  std::istringstream text(store->get_to_str(progress_key(rank)));
  Progress progress;
  text >> progress.count;
  text.get();
  std::getline(text, progress.what);
  return progress;
}

// All ranks call the same collectives: one who stays behind keeps the others waiting, however alive it is.
void Watch::State::look_for_stall() {
  std::vector<Progress> now(place.size);
  for (int rank = 0; rank < place.size; ++rank) now[rank] = progress_of(rank);
  const auto most =
      std::max_element(now.begin(), now.end(), [](const Progress& a, const Progress& b) { return a.count < b.count; });
  for (int rank = 0; rank < place.size; ++rank) {
    Progress& last = of_ranks[rank];
    const bool is_new = now[rank].count != last.count || !last.behind_since;
    if (now[rank].count < most->count) now[rank].behind_since = is_new ? steady_clock::now() : *last.behind_since;
    last = now[rank];
    if (!last.behind_since || steady_clock::now() - *last.behind_since < place.stall) continue;
    std::ostringstream message;
    message << place.name_of(rank) << " has not come for " << place.stall.count() / 1000 << " s to where others wait, "
            << most->what;
    store->compareSet(kFailed, "", message.str());
    return;
  }
}

void Watch::State::find_failure() {
  if (!store->check({kFailed})) return;
  const std::string message = store->get_to_str(kFailed);
  std::lock_guard lock(mutex);
  if (!failure) failure = message;
}

bool Watch::State::rest() {
  std::unique_lock lock(mutex);
  stopping.wait_for(lock, to_report ? milliseconds(0) : kBeat, [this] { return is_stopped || to_report; });
  return !is_stopped;
}

Watch::Watch(const Place& place) : state_(std::make_shared<State>()) {
  state_->place = place;
  state_->place.serves_store = false;
  state_->store = open_store(state_->place, place.patience);
  state_->heard.resize(place.size);
  state_->of_ranks.resize(place.size);
  thread_ = std::thread([state = state_] { run(state); });
}

void Watch::run(const std::shared_ptr<State>& state) {
  try {
    do state->beat();
    while (state->rest());
    state->write_report();
    state->store->add(beat_key(state->place.rank), -kGone);
  } catch (const std::exception&) {
    std::lock_guard lock(state->mutex);
    std::ostringstream message;
    message << "rank 0's machine, which serves the job's store at " << state->place.address << ":" << state->place.port
            << ", has closed the connection";
    if (!state->failure) state->failure = message.str();
  }
  std::lock_guard lock(state->mutex);
  state->has_ended = true;
  state->reported.notify_all();
}

Watch::~Watch() {
  bool is_hanging = false;
  {
    std::lock_guard lock(state_->mutex);
    state_->is_stopped = true;
    is_hanging = !state_->has_ended && steady_clock::now() - state_->answered > 4 * kBeat;
  }
  state_->stopping.notify_all();
  if (is_hanging) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

std::optional<std::string> Watch::failure() const {
  std::lock_guard lock(state_->mutex);
  if (state_->failure || state_->is_stopped) return state_->failure;
  const auto silent = steady_clock::now() - state_->answered;
  if (silent < state_->place.patience) return std::nullopt;
  std::ostringstream message;
  message << "rank 0's machine, which serves the job's store at " << state_->place.address << ":" << state_->place.port
          << ", has not answered for " << static_cast<int>(seconds(silent)) << " s";
  state_->failure = message.str();
  return state_->failure;
}

std::optional<std::string> Watch::awaited_failure() const {
  // The last beat, the look at it and the look at what was seen there, each of which a busy machine may delay.
  const auto deadline = steady_clock::now() + state_->place.patience + 6 * kBeat;
  for (;;) {
    const auto found = failure();
    if (found || steady_clock::now() >= deadline) return found;
    std::this_thread::sleep_for(kBeat / 10);
  }
}

void Watch::note(const char* what) {
  std::lock_guard lock(state_->mutex);
  ++state_->own.count;
  state_->own.what = what;
}

void Watch::leave() {
  std::lock_guard lock(state_->mutex);
  state_->is_stopped = true;
  state_->stopping.notify_all();
}

void Watch::send_report(std::unique_lock<std::mutex>& lock, const std::string& message) {
  state_->to_report = message;
  state_->stopping.notify_all();
  state_->reported.wait_for(lock, 2 * kBeat, [this] { return !state_->to_report || state_->has_ended; });
}

void Watch::cancel(const std::string& message) {
  std::unique_lock lock(state_->mutex);
  if (state_->failure || state_->is_stopped) return;
  state_->failure = "the process group was closed";
  state_->is_stopped = true;
  send_report(lock, message);
}

void Watch::report(const std::string& message) {
  std::unique_lock lock(state_->mutex);
  if (state_->failure || state_->is_stopped || state_->has_ended) return;
  send_report(lock, message);
}

}  // namespace seekrl::comm
