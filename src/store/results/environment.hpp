#pragma once

#include <cstdint>
#include <functional>

#include "io/system.hpp"

namespace wallheat {

/// What the store works in. A simulation brings its own.
struct StoreEnvironment {
  System& system = real_system();
  /// Sets HDF5's file driver in a list of file access properties, which is a hid_t; empty: the
  /// driver is HDF5's own. The driver's handle must point to a descriptor that `system` knows, and
  /// that fstat(2) tells the size of.
  std::function<void(std::int64_t access_list)> set_driver{};
};

}  // namespace wallheat
