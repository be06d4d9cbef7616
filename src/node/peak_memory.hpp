#pragma once

#include <cstdint>

#include "core/file_descriptor.hpp"

namespace wallheat {

/// The most physical memory that this process has held at once: the peak of its resident set, VmHWM
/// in proc(5). Pages that it shares with others count, those on a GPU do not.
class PeakMemory {
 public:
  PeakMemory();

  /// What was held before counts no longer. Returns false where the system does not allow it.
  [[nodiscard]] bool restart() const;
  /// In bytes; 0 where the system does not tell.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  FileDescriptor status_;
  FileDescriptor clear_;
};

}  // namespace wallheat
