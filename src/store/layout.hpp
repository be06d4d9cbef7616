#pragma once

#include <span>
#include <string>
#include <string_view>

#include "store/hdf5/hdf5_object.hpp"
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

/// True if a file begins as an HDF5 file does.
[[nodiscard]] bool is_hdf5(const File& file);

// HDF5's own locks are off: a notebook that has a file open must not stop a run.

[[nodiscard]] Handle open_to_read(const std::filesystem::path& file);
/// Makes a new file with nothing in it; there must be none of that name, nor a link.
[[nodiscard]] Handle create_new(const std::filesystem::path& file);

/// Where a contiguous dataset begins, in bytes from the beginning of the file; 0 if it is empty.
[[nodiscard]] std::uint64_t offset_of(const Handle& dataset);

/// Text attributes of an object.
void write_texts(const Handle& object, const Attributes& values);
[[nodiscard]] Attributes read_texts(const Handle& object);

/// All attributes of the root but those that wallheat knows, and all objects in it but those that
/// wallheat knows. Throws Hdf5Error at a link to something else.
void copy_unknown(const Handle& from, const Handle& to);

/// What kind of file it is, and which.
void write_identity(const Handle& file, const Campaign& campaign);
/// Throws RunError if it is no result file, or one of another format version.
void read_identity(const Handle& file, const std::filesystem::path& path, Campaign& campaign);

}  // namespace wallheat::store
