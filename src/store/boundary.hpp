#pragma once

#include <filesystem>
#include <string>

#include "io/files.hpp"
#include "store/hdf5.hpp"
#include "wallheat/result_reader.hpp"

// What every public function does at its edge.
namespace wallheat::store {

/// What to do about a step that failed.
struct Remedies {
  std::string if_full;   ///< if the disk is full
  std::string fallback;  ///< if HDF5 gives up for any other reason
};

/// The sentence's end for an errno; `fallback` if there is nothing to advise.
[[nodiscard]] std::string remedy_for(int error, const Remedies& remedies,
                                     const std::string& fallback);

/// Runs a step and turns what HDF5 and the file system throw into one sentence about the file.
template <class Step>
auto in_one_sentence(const std::filesystem::path& file, const Remedies& remedies, Step step) {
  try {
    return step();
  } catch (const Hdf5Error& error) {
    throw RunError(file.string() + ": " + error.what() + "; " +
                   remedy_for(error.code, remedies, remedies.fallback));
  } catch (const SystemError& error) {
    const auto more = remedy_for(error.code, remedies, "");
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
void require_own(const std::filesystem::path& path);

/// Throws RunError if a file that is to be changed has several names: its journals lie beside one
/// of them only.
void require_one_name(const std::filesystem::path& path);

/// HDF5's text attributes end at a NUL.
[[nodiscard]] Attributes storable(Attributes values);

}  // namespace wallheat::store
