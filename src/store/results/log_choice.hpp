#pragma once

#include <optional>
#include <string>

#include "store/results/hdf5_file.hpp"
#include "store/results/write_ahead_log.hpp"

namespace wallheat::store {

/// Whether to go by a file's log, and what the HDF5 file beside it says meanwhile.
struct LogChoice {
  std::optional<LogReading> log;    ///< nothing: the file alone says what there is
  std::optional<Snapshot> in_file;  ///< where there is a log, and the file can be read
  std::string passed_over;          ///< why there is a log that is not gone by; else empty
  bool superseded = false;          ///< that log holds nothing that the file has not
};

/// A log and a file belong together if they name the same file id, and the log knows all of the
/// file's sessions. A closed file may have come into its log's place since, or have outlived it:
/// then that log is passed over. Throws RunError that names both where they are strangers, or the
/// log of a file that was left open is an older one.
[[nodiscard]] LogChoice choose_log(const StoreEnvironment& env, const std::filesystem::path& path,
                                   FileState state);

/// Throws that RunError.
[[noreturn]] void refuse_pair(const std::filesystem::path& path, const std::string& why);
inline constexpr const char* strangers = "the log is that of another result file";

}  // namespace wallheat::store
