#pragma once

#include <filesystem>
#include <string>

#include "io/files.hpp"
#include "store/hdf5.hpp"
#include "wallheat/result_reader.hpp"

// What every public function does at its edge.
namespace wallheat::store {

/// What to do about a step that failed.
struct ErrorHints {
  std::string if_full;   ///< if the disk is full
  std::string fallback;  ///< if HDF5 gives up for any other reason
};

/// The sentence's end for an errno; `fallback` if there is nothing to advise.
[[nodiscard]] std::string hint_for(int error, const ErrorHints& hints, const std::string& fallback);

/// Runs a step and turns what HDF5 and the file system throw into one sentence about the file.
template <class Step>
auto with_error_context(const std::filesystem::path& file, const ErrorHints& hints, Step step) {
  try {
    return step();
  } catch (const Hdf5Error& error) {
    throw RunError(file.string() + ": " + error.what() + file_limit_note(file, error.code) + "; " +
                   (error.hint.empty() ? hint_for(error.code, hints, hints.fallback) : error.hint));
  } catch (const SystemError& error) {
    const auto more = hint_for(error.code, hints, "");
    throw RunError(error.what() + (more.empty() ? "" : "; " + more));
  } catch (const std::filesystem::filesystem_error& error) {
    throw RunError(file.string() + " cannot be used: " + error.code().message());
  }
}

/// Where a file is to be written. Throws RunError if its directory is missing or it is no regular
/// file.
[[nodiscard]] std::filesystem::path path_to_write(const std::filesystem::path& file);

/// Throws RunError if there is a file that is not empty and that wallheat did not write as a result
/// file. Its first bytes decide, so that a damaged one is known, too.
void require_wallheat_file(const std::filesystem::path& path);

/// Throws RunError if a file that is to be changed has several names: its journals lie beside one
/// of them only.
void require_no_hard_links(const std::filesystem::path& path);

/// HDF5's text attributes end at a NUL.
[[nodiscard]] Attributes truncate_at_nul(Attributes values);

}  // namespace wallheat::store
