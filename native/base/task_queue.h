// Threads that run posted tasks in order: one thread for the device queue, several for the search pool.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace seekrl {

class TaskQueue {
 public:
  using Task = std::function<void()>;

  explicit TaskQueue(int num_threads);
  ~TaskQueue();
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  // Tasks start in posted order; with one thread they also finish in that order. A task must not throw.
  void post(Task task);

  // Lets running tasks finish, drops the waiting ones and joins the threads. Posts are dropped until `start`.
  void stop();
  // Begins again after `stop`; idempotent. Not at the same time as `stop`.
  void start();

  int num_threads() const { return num_threads_; }

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<Task> tasks_;
  bool is_stopped_ = true;
  const int num_threads_;
  std::vector<std::thread> threads_;
};

}  // namespace seekrl
