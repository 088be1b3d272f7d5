// Large memory straight from the system: zero, aligned to a page, given when touched, in huge pages where there are
// any.
#pragma once

#include <cstddef>

namespace seekrl {

// Random reads over gigabytes are faster from huge pages, which spare the processor most of its address look-ups.
class Pages {
 public:
  Pages() = default;
  // ERR_MEMORY when the system refuses.
  explicit Pages(size_t num_bytes);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Asks for huge pages where [data, data + num_bytes) has whole ones, and gives its whole pages back: they are zero when
// touched again. Advice only.
void use_huge_pages(void* data, size_t num_bytes);
void release_pages(void* data, size_t num_bytes);

// Of the whole machine.
size_t memory_bytes();

}  // namespace seekrl
