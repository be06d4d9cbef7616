#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace wallheat {

/// An array of zeros, aligned for vector loads of any width. Pages that are not written use no
/// memory.
template <class T>
class ZeroedArray {
 public:
  ZeroedArray() = default;
  explicit ZeroedArray(std::size_t size)
      // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): calloc does not clear pages that the kernel
      // has cleared
      : memory_(std::calloc(size + alignment / sizeof(T), sizeof(T))) {
    if (!memory_) throw std::bad_alloc();
    void* begin = memory_.get();
    std::size_t space = size * sizeof(T) + alignment;
    begin_ = static_cast<T*>(std::align(alignment, size * sizeof(T), begin, space));
  }
  [[nodiscard]] T* data() const { return begin_; }

 private:
  static constexpr std::size_t alignment = 64;
  struct Free {
    // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): the memory was allocated by calloc
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  T* begin_ = nullptr;
};

}  // namespace wallheat
