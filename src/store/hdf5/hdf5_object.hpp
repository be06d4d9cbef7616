#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/hdf5/hdf5_handle.hpp"

// An HDF5 file may hold anything under the names that are looked for, and HDF5 reads all of an
// object into the room that it is given. So an object's form is compared before anything is read.
namespace wallheat::store {

/// Texts of `bytes` bytes, UTF-8, ending in NUL.
[[nodiscard]] Handle text_type(std::size_t bytes);

/// Whether there is anything under a name, which may have several parts. Throws Hdf5Error if one of
/// them is a link that may lead to another file.
[[nodiscard]] bool has_object(const Handle& file, const std::string& name);
[[nodiscard]] Handle create_group(const Handle& file, const std::string& name);
/// Throws Hdf5Error if there is no such group.
[[nodiscard]] Handle open_group(const Handle& file, const std::string& name);

/// Throws Hdf5Error if there is no such dataset, or if it is not of this type and layout with all
/// its bytes in its own file.
[[nodiscard]] Handle open_dataset(const Handle& file, const std::string& name, hid_t type,
                                  H5D_layout_t layout);
[[nodiscard]] Handle create_dataset(const Handle& file, const std::string& name, hid_t type,
                                    const std::vector<hsize_t>& size, hid_t creation);
[[nodiscard]] std::vector<hsize_t> size_of(const Handle& dataset);

/// The names of an object's attributes.
[[nodiscard]] std::vector<std::string> attributes_of(const Handle& object);
/// Gives an object an attribute of one value.
void write_attribute(const Handle& object, const std::string& name, hid_t type, const void* value);
/// Nothing if there is no such attribute, or if it is anything but one text of fixed length, of at
/// most `most_bytes`.
[[nodiscard]] std::optional<std::string> read_text(const Handle& object, const std::string& name,
                                                   std::uint64_t most_bytes);
/// Nothing if the attribute is anything but one whole number, or is missing.
[[nodiscard]] std::optional<std::int64_t> read_whole_number(const Handle& object,
                                                            const std::string& name);

}  // namespace wallheat::store
