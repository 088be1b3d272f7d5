// Worker threads over one locked deque.
#include "base/task_queue.h"

#include <utility>

namespace seekrl {

TaskQueue::TaskQueue(int num_threads) : num_threads_(num_threads) { start(); }

TaskQueue::~TaskQueue() { stop(); }

void TaskQueue::post(Task task) {
  {
    std::lock_guard lock(mutex_);
    if (is_stopped_) return;
    tasks_.push_back(std::move(task));
  }
  has_work_.notify_one();
}

void TaskQueue::stop() {
  std::deque<Task> dropped;  // destroyed outside the lock: a task may own things whose end posts again
  {
    std::lock_guard lock(mutex_);
    is_stopped_ = true;
    dropped.swap(tasks_);
  }
  has_work_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

void TaskQueue::start() {
  {
    std::lock_guard lock(mutex_);
    if (!is_stopped_) return;
    is_stopped_ = false;
  }
  threads_.reserve(num_threads_);
  for (int i = 0; i < num_threads_; ++i) threads_.emplace_back([this] { run(); });
}

void TaskQueue::run() {
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      has_work_.wait(lock, [this] { return is_stopped_ || !tasks_.empty(); });
      if (is_stopped_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace seekrl
