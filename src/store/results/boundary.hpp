#pragma once

#include <filesystem>
#include <string>

#include "io/posix_file.hpp"
#include "store/hdf5/hdf5_handle.hpp"
#include "store/results/environment.hpp"
#include "store/results/result_store.hpp"

// What every public function does at its edge.
namespace wallheat::store {

/// What to do about a step that failed.
struct Advice {
  std::string for_room;   ///< where the disk is full
  std::string otherwise;  ///< where HDF5 gives up for any other reason
};

/// The sentence's end for an errno; empty if there is nothing to advise.
[[nodiscard]] std::string advice_about(int error, const Advice& advice);
/// The same by the system's words in an HDF5 error.
[[nodiscard]] std::string advice_about(const std::string& text, const Advice& advice);

/// Runs a step and turns what HDF5 and the file system throw into one sentence about the file.
template <class Step>
auto in_one_sentence(const std::filesystem::path& file, const Advice& advice, Step step) {
  try {
    return step();
  } catch (const Hdf5Error& error) {
    throw RunError(file.string() + ": " + error.what() + advice_about(error.what(), advice));
  } catch (const SystemError& error) {
    throw RunError(error.what() + advice_about(error.code, advice));
  } catch (const std::filesystem::filesystem_error& error) {
    throw RunError(file.string() + " cannot be used: " + error.code().message() +
                   advice_about(error.code().value(), advice));
  }
}

/// Where a file is to be written: the file itself where the name is a link, so that replacing it
/// leaves the link alone. Throws RunError if its directory is missing or it is no regular file.
[[nodiscard]] std::filesystem::path real_path(const StoreEnvironment& env,
                                              const std::filesystem::path& file);

/// What wallheat writes into HDF5 files; the root's attribute "wallheat" says which.
enum class OwnKind { results, plans };

/// Throws RunError if there is a file that is not empty and that wallheat did not write as this
/// kind. Its first bytes decide, so that a damaged or half-written one is known, too; of results
/// also the log beside it.
void require_own(const StoreEnvironment& env, const std::filesystem::path& file, OwnKind kind);

/// Throws RunError if a file that is to be changed in place has several names: the lock and the
/// log lie beside one of them only.
void require_one_name(const StoreEnvironment& env, const std::filesystem::path& file);

/// HDF5's text attributes end at a NUL.
[[nodiscard]] Attributes storable(Attributes values);

/// Removes what a kill left half written under temporary names. True if there was any.
bool remove_leftovers(const StoreEnvironment& env, const std::filesystem::path& file);

}  // namespace wallheat::store
