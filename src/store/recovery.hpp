#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/contents.hpp"
#include "store/hdf5_file.hpp"

namespace wallheat::store {

enum class Addresses { find, leave_out };

/// Reads a file's contents. Rows that are damaged or whose field is not there become pending, which
/// `report` tells. Throws Hdf5Error or RunError where it cannot be read.
[[nodiscard]] Contents load(const std::filesystem::path& file, Access access, Addresses addresses,
                            std::vector<std::string>& report);

/// True where the file is closed, sound, and not the one that a log was written for: a kill hit
/// between putting the file in its place and beginning its log, so nothing was stored since.
[[nodiscard]] bool is_another_file(const std::filesystem::path& file, FileState state,
                                   const std::string& logs_file_id);

/// Writes the file anew, under a temporary name and then in place of the old one, whose fields are
/// copied as they are. Sets new addresses and a new file id; rows whose field is lost become
/// pending. Returns their number.
std::size_t build(const std::filesystem::path& file, Contents& contents);

/// Makes the HDF5 file say what `contents` says: sessions, rows, and fields from their addresses,
/// which it updates; the fields of `unproven` rows are compared with their checksums. Answers that
/// only the file has, because the log was damaged, are taken over into `contents`. Throws where
/// something does not fit.
void bring_up_to_date(const std::filesystem::path& file, Access access, Contents& contents,
                      const std::vector<std::size_t>& unproven);

/// Reads everything back. Throws Hdf5Error at the first difference.
void require_equal(const std::filesystem::path& file, const Contents& contents,
                   const std::vector<std::size_t>& unproven);

/// Takes up a file after a kill, or without its log: mends it in place, and builds it anew where
/// that fails. Afterwards it is closed, durable, and agrees with `contents`.
void recover(const std::filesystem::path& file, Contents& contents,
             const std::vector<std::size_t>& unproven, std::vector<std::string>& report);

/// "1 row was", "3 rows were".
[[nodiscard]] std::string count_were(std::size_t count, const std::string& noun);

}  // namespace wallheat::store
