#pragma once

#include <filesystem>
#include <string>

#include "io/files.hpp"
#include "store/hdf5.hpp"
#include "wallheat/result_reader.hpp"

// Translation of errors at the boundary of the store: all public functions throw RunError with a
// message that names the file and what to do.
namespace wallheat::store {

/// Hints for the message of a failed step.
struct ErrorHints {
  std::string again;     ///< what to do after a limit of files was removed
  std::string fallback;  ///< for all other errors of HDF5
};

/// Returns how to remove the limit that a file has reached: of space, of the number of files, or of
/// the size of a file. `space` names the space to free. Returns an empty string for other errors.
[[nodiscard]] std::string hint_for_limit(const std::filesystem::path& file, int error,
                                         const std::string& space = "some space");

/// Returns the hint for an errno; `fallback` if there is no specific one.
[[nodiscard]] std::string hint_for(const std::filesystem::path& file, int error,
                                   const ErrorHints& hints, const std::string& fallback);

/// Calls step(), and converts exceptions of HDF5 and of the file system into a RunError with a
/// message about the file.
template <class Step>
auto with_error_context(const std::filesystem::path& file, const ErrorHints& hints, Step step) {
  try {
    return step();
  } catch (const Hdf5Error& error) {
    throw RunError(
        file.string() + ": " + error.what() + file_limit_note(file, error.code) + "; " +
        (error.hint.empty() ? hint_for(file, error.code, hints, hints.fallback) : error.hint));
  } catch (const SystemError& error) {
    const auto more = hint_for(file, error.code, hints, "");
    throw RunError(error.what() + (more.empty() ? "" : "; " + more));
  } catch (const std::filesystem::filesystem_error& error) {
    throw RunError(file.string() + " cannot be used: " + error.code().message());
  }
}

/// Returns the path at which a file will be written, with links resolved. Throws RunError if the
/// directory does not exist, or if the path is not that of a regular file.
[[nodiscard]] std::filesystem::path path_to_write(const std::filesystem::path& file);

/// Throws RunError if the file exists, is not empty and was not written by wallheat as a result
/// file. Only its first bytes are checked, so a damaged result file is accepted.
void require_wallheat_file(const std::filesystem::path& path);

/// Throws RunError if a file has several hard links, because its journals are next to one of its
/// names only.
void require_no_hard_links(const std::filesystem::path& path);

/// Truncates each value at its first NUL, where a text attribute of HDF5 ends.
[[nodiscard]] Attributes truncate_at_nul(Attributes values);

}  // namespace wallheat::store
