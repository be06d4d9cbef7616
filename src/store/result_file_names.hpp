#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace wallheat {

// Names of the files next to a result file, whose name is that of result_path(). No other C++ code
// contains these suffixes.

/// Returns the path of the journal of session `number`.
[[nodiscard]] std::filesystem::path journal_path(std::filesystem::path file, std::size_t number);
/// Returns the path of a journal after a compaction has fenced it.
[[nodiscard]] std::filesystem::path fenced_path(std::filesystem::path journal);
[[nodiscard]] bool is_fenced(const std::filesystem::path& journal);
/// Returns the session whose journal of `file` has this file name, fenced or not. Returns nullopt
/// if it is not the name of a journal of that file.
[[nodiscard]] std::optional<std::size_t> journal_number(const std::string& name,
                                                        const std::filesystem::path& file);
/// Returns true if a run with result file `file` may give this file name to a journal.
[[nodiscard]] bool may_be_journal(const std::string& name, const std::filesystem::path& file);

/// Returns the path of the lock file, which identifies the writer.
[[nodiscard]] std::filesystem::path lock_path(std::filesystem::path file);
/// Returns the path of the status file, which contains the progress of the run.
[[nodiscard]] std::filesystem::path status_path(std::filesystem::path file);

}  // namespace wallheat
