// Worker threads over one locked deque.
#include "base/task_queue.h"

#include <utility>

namespace seekrl {

TaskQueue::TaskQueue(int num_threads) {
  threads_.reserve(num_threads);
  for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { run(); });
}

TaskQueue::~TaskQueue() { stop(); }

void TaskQueue::post(Task task) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
  }
  has_work_.notify_one();
}

void TaskQueue::stop() {
  std::deque<Task> dropped;  // destroyed outside the lock: a task may own things whose end posts again
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(tasks_);
  }
  has_work_.notify_all();
  for (auto& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void TaskQueue::run() {
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      has_work_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (stopping_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace seekrl
