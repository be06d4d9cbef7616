#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "io/posix_file.hpp"
#include "store/results/contents.hpp"
#include "store/results/hdf5_file.hpp"

namespace wallheat::store {

enum class Addresses { find, leave_out };

/// Reads a file's contents. Rows that are damaged or whose field is not there become pending, which
/// `findings` tell. Throws Hdf5Error or RunError where it cannot be read.
[[nodiscard]] Contents load(const std::filesystem::path& path, Access access, Addresses addresses,
                            Findings& findings);

/// Throws RunError where a file that was left open is none of ours or of another format version.
void refuse_other_versions(const std::filesystem::path& path);

/// Takes row i of the HDF5 file over into `contents` if it says more than the log: an answer where
/// the log has none, anything where it has nothing. A row reaches the file only after the log, so
/// such a one was lost with a damaged part of the log, and holds if its checksums do. False where
/// it does not.
bool adopt(Contents& contents, std::size_t i, const Row& row, FieldTables& fields,
           const PosixFile& raw);
/// True where a row is worth that question.
[[nodiscard]] bool says_more_than_log(const Row& in_file, const Row& logged);

/// Where the fields of a new file come from.
struct FieldSource {
  std::vector<std::size_t> order;  ///< in which to read them: all rows, by their numbers
  /// Reads row i's compressed field; false where it is lost.
  std::function<bool(std::size_t i, std::vector<std::byte>& chunk)> read;
};

/// Writes the file anew, under a temporary name and then, synced, in its place. Sets slots,
/// addresses and a new file id; rows whose field is lost become pending. Returns these.
std::vector<std::size_t> build(const std::filesystem::path& path, Contents& contents,
                               const FieldSource& source);
/// The same with the fields of the file that is replaced, copied as they are.
std::vector<std::size_t> build(const std::filesystem::path& path, Contents& contents);

/// Makes the HDF5 file say what `contents` says: sessions, rows, and fields from their addresses,
/// which it updates; the fields of `unproven` rows are compared with their checksums. Answers that
/// only the file has, because the log was damaged, are taken over into `contents`. Throws where
/// something does not fit. Returns the rows that were damaged in the file and are right now.
std::vector<std::size_t> bring_up_to_date(const std::filesystem::path& path, Access access,
                                          Contents& contents,
                                          const std::vector<std::size_t>& unproven);

/// Reads everything back. Throws Hdf5Error at the first difference.
void require_equal(const std::filesystem::path& path, const Contents& contents,
                   const std::vector<std::size_t>& unproven);

/// Takes up a file after a kill, or without its log: mends it in place, and builds it anew where
/// that fails. Afterwards it is closed, durable, and agrees with `contents`.
void recover(const std::filesystem::path& path, Contents& contents,
             const std::vector<std::size_t>& unproven, Findings& findings);

}  // namespace wallheat::store
