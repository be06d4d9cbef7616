#pragma once

#include <filesystem>

// What lies beside a result file, by the names that result_path() gives. Nothing else knows these
// endings.
namespace wallheat {

/// The write-ahead log of a session.
[[nodiscard]] inline std::filesystem::path log_path(std::filesystem::path file) {
  return file += ".wal";
}
/// Who writes the file.
[[nodiscard]] inline std::filesystem::path lock_path(std::filesystem::path file) {
  return file += ".lock";
}
/// How far the run is.
[[nodiscard]] inline std::filesystem::path status_path(std::filesystem::path file) {
  return file += ".status";
}
/// What is to replace a file is written under this name.
[[nodiscard]] inline std::filesystem::path temporary_path(std::filesystem::path file) {
  return file += ".new";
}

}  // namespace wallheat
