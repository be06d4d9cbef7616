#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

// What lies beside a result file, by the names that result_path() gives. Nothing else knows these
// endings.
namespace wallheat {

/// The journal of session `number`.
[[nodiscard]] inline std::filesystem::path journal_path(std::filesystem::path file,
                                                        std::size_t number) {
  return file += ".wal" + std::to_string(number);
}
/// The same, taken from its writer to be folded into the file.
[[nodiscard]] inline std::filesystem::path taken_path(std::filesystem::path journal) {
  return journal += ".fold";
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
