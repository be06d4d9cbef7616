#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "io/posix_file.hpp"
#include "store/results/hdf5_file.hpp"
#include "store/results/snapshot.hpp"

namespace wallheat::store {

enum class Offsets { find, leave_out };

/// Reads a file's snapshot. Rows that are damaged or whose field is not there become pending, which
/// `damage` tell. Throws Hdf5Error or RunError if it cannot be read.
[[nodiscard]] Snapshot read_snapshot(const StoreEnvironment& env, const std::filesystem::path& path,
                                     Access access, Offsets offsets, DamageReport& damage);

/// Where the fields of a new file come from.
struct FieldSource {
  std::vector<std::size_t> order;  ///< in which to read them: all rows, by their numbers
  /// Reads row i's compressed field; false where it is lost.
  std::function<bool(std::size_t i, std::vector<std::byte>& chunk)> read;
};

/// Writes the file anew, under a temporary name and then, synced, in its place. Sets slots,
/// offsets and a new file id; rows whose field is lost become pending. Returns these.
std::vector<std::size_t> build(const StoreEnvironment& env, const std::filesystem::path& path,
                               Snapshot& snapshot, const FieldSource& source);
/// The same with the fields of the file that is replaced, copied as they are.
std::vector<std::size_t> build(const StoreEnvironment& env, const std::filesystem::path& path,
                               Snapshot& snapshot);

/// Makes the HDF5 file say what `snapshot` says: sessions, rows, and fields from their offsets,
/// which it updates; the fields of `unproven` rows are compared with their checksums. Throws where
/// something does not fit. Returns the rows that were damaged in the file and are right now.
std::vector<std::size_t> bring_up_to_date(const StoreEnvironment& env,
                                          const std::filesystem::path& path, Access access,
                                          Snapshot& snapshot,
                                          const std::vector<std::size_t>& unproven);

/// Reads everything back. Throws Hdf5Error at the first difference.
void require_equal(const StoreEnvironment& env, const std::filesystem::path& path,
                   const Snapshot& snapshot, const std::vector<std::size_t>& unproven);

/// What a file holds, and what has to be done before it can be used.
struct OpenedFile {
  Snapshot snapshot;
  bool needs_recovery = false;
  bool by_log = false;                ///< the snapshot is that of a log
  std::size_t logged = 0;             ///< results that this log stored
  std::vector<std::size_t> unproven;  ///< rows whose fields are to be compared with their checksums
  std::vector<std::size_t> doubtful;  ///< rows whose records in the log were damaged
  bool superseded_log = false;        ///< there is a log of no use beside the closed file
};

/// Takes up a file after a kill, or without its log: mends it in place, and builds it anew where
/// that fails. Afterwards it is closed, durable, and agrees with `found.snapshot`.
void recover(const StoreEnvironment& env, const std::filesystem::path& path, OpenedFile& found,
             DamageReport& damage);

/// Throws the RunError of a file and a log that do not belong together.
[[noreturn]] void refuse_pair(const std::filesystem::path& path, const std::string& why);
inline constexpr const char* strangers = "the log is that of another result file";

}  // namespace wallheat::store
