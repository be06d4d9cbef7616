#pragma once

#include <string>

#include "store/hdf5.hpp"
#include "store/result_file.hpp"

// How a result file looks to HDF5; what reading and writing share.
namespace wallheat::store {

inline constexpr const char* rows_name = "/rows";
inline constexpr const char* rooms_name = "/rooms";
inline constexpr const char* fields_name = "/fields";
inline constexpr const char* settings_name = "/settings";
inline constexpr const char* sessions_name = "/sessions";

/// "/sessions/3"
[[nodiscard]] std::string session_name(std::size_t number);

/// The compound type of a room.
[[nodiscard]] Handle make_room_type();

// HDF5's own locks are off: a notebook that has a file open must not stop a run.

[[nodiscard]] Handle open_to_read(const std::filesystem::path& file);
/// Makes a new file with nothing in it; there must be none of that name, nor a link.
[[nodiscard]] Handle create_new(const std::filesystem::path& file);

/// Text attributes of an object.
void write_texts(const Handle& object, const Attributes& values);
/// Reads them. Throws Hdf5Error if they, names included, have more than `most_bytes`. Takes
/// their bytes from `most_bytes`.
[[nodiscard]] Attributes read_texts(const Handle& object, std::uint64_t& most_bytes);

/// All attributes of the root but those that wallheat knows, and all objects in it but those that
/// wallheat knows. Throws Hdf5Error at a link to something else.
void copy_unknown(const Handle& from, const Handle& to);

/// What kind of file it is, and which.
void write_identity(const Handle& file, const Campaign& campaign);
/// Throws RunError if it is no result file, or one of another format version.
void read_identity(const Handle& file, const std::filesystem::path& path, Campaign& campaign);

}  // namespace wallheat::store
