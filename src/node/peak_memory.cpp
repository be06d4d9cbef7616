#include "node/peak_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace wallheat {

PeakMemory::PeakMemory()
    : status_(::open("/proc/self/status", O_RDONLY | O_CLOEXEC)),
      clear_(::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC)) {}

bool PeakMemory::restart() const {
  return ::pwrite(clear_.get(), "5", 1, 0) == 1;  // 5 is for the peak alone: proc(5)
}

std::int64_t PeakMemory::bytes() const {
  std::array<char, 4096> text{};
  const ssize_t length = ::pread(status_.get(), text.data(), text.size(), 0);
  std::string_view rest(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  constexpr std::string_view name = "\nVmHWM:";
  const std::size_t at = rest.find(name);
  if (at == std::string_view::npos) return 0;
  rest.remove_prefix(at + name.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  std::int64_t kib = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), kib);
  return kib * 1024;
}

}  // namespace wallheat
