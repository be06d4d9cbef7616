#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace wallheat {

/// The one name of a result file: absolute, with every link followed, also one that leads to a file
/// that is not there yet. Journals, FILE.lock and FILE.status lie beside this name, so whoever
/// reads, writes or watches a file asks here first. Throws RunError if links go round in circles,
/// a directory cannot be searched, or a journal lies beside a link instead of its target.
[[nodiscard]] std::filesystem::path result_path(const std::filesystem::path& file);

/// The sessions whose journals lie beside a result file, ascending; the name is that of
/// result_path().
[[nodiscard]] std::vector<std::size_t> journal_numbers(const std::filesystem::path& path);

/// Throws RunError if it is a folder, perhaps of plans, which no message should tell people to
/// remove.
void require_not_directory(const std::filesystem::path& path);

/// True if there is something to read or to resume: the file, or a journal that outlived it.
[[nodiscard]] bool has_results(const std::filesystem::path& file);

/// Throws RunError if a file of that name may not be replaced by results, because wallheat did
/// not write it as a result file.
void require_own_results(const std::filesystem::path& file);

}  // namespace wallheat
