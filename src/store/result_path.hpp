#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace wallheat {

/// Returns the canonical path of a result file: absolute, with all links resolved, even if the file
/// does not exist yet. Journals, FILE.lock and FILE.status are next to this path, so all commands
/// that read, write or watch a file call this first. Throws RunError if links form a cycle, if a
/// directory cannot be searched, or if a journal is next to a link instead of its target.
[[nodiscard]] std::filesystem::path result_path(const std::filesystem::path& file);

/// Returns the session numbers of the journals of a result file, in ascending order. `path` is as
/// returned by result_path().
[[nodiscard]] std::vector<std::size_t> journal_numbers(const std::filesystem::path& path);

/// Throws RunError if the path is a directory. It may be the directory of the plans, so the message
/// must not suggest removing it.
void require_not_directory(const std::filesystem::path& path);

/// Returns true if the file exists, or a journal of it.
[[nodiscard]] bool has_results(const std::filesystem::path& file);

/// Throws the RunError that the result file `path` does not exist. If there are journals of it, the
/// message contains how to restore or to discard their results.
[[noreturn]] void throw_missing(const std::filesystem::path& path);

/// Throws RunError if a file of this name exists and must not be replaced, because wallheat did not
/// write it as a result file.
void require_own_results(const std::filesystem::path& file);

}  // namespace wallheat
