#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace wallheat {

/// A line on stderr. A full disk behind it, or nobody who reads, is no reason to end anything: what
/// cannot be said is lost.
template <class... T>
void print_error(fmt::format_string<T...> format, T&&... values) {
  const std::string line = fmt::format(format, std::forward<T>(values)...) + "\n";
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
  (void)std::fflush(stderr);
}

}  // namespace wallheat
