#pragma once

#include <filesystem>

namespace wallheat {

/// The one name of a result file: absolute, with every link followed, also one that leads to a file
/// that is not there yet. Journals, FILE.lock and FILE.status lie beside this name, so whoever
/// reads, writes or watches a file asks here first. Throws RunError if links go round in circles,
/// a directory cannot be searched, or a journal lies beside a link instead of its target.
[[nodiscard]] std::filesystem::path result_path(const std::filesystem::path& file);

/// True if there is something to read or to take up: the file, or a journal that outlived it.
[[nodiscard]] bool has_results(const std::filesystem::path& file);

/// Throws RunError if a file of that name may not be replaced by results, because wallheat did
/// not write it as a result file.
void require_own_results(const std::filesystem::path& file);

}  // namespace wallheat
