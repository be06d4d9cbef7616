#include "solve/cpu/cache_sizes.hpp"

#include <unistd.h>

namespace wallheat {
namespace {

std::size_t size_or(int name, std::size_t otherwise) {
  const long size = ::sysconf(name);
  return size > 0 ? static_cast<std::size_t>(size) : otherwise;
}

}  // namespace

CacheSizes cache_sizes() {
  return {size_or(_SC_LEVEL1_DCACHE_SIZE, 32U << 10), size_or(_SC_LEVEL2_CACHE_SIZE, 512U << 10)};
}

}  // namespace wallheat
