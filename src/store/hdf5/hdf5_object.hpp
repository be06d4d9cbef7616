#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/hdf5/hdf5_handle.hpp"

// An HDF5 file may hold anything under the names that are looked for, and HDF5 reads all of an
// object into the room that it is given. So an object's form is compared before anything is read.
namespace wallheat::store {

/// The descriptor that HDF5 reads and writes a file with.
[[nodiscard]] int descriptor_of(const Handle& file);
/// The bytes on disk of the file that holds an object, whatever its superblock says.
[[nodiscard]] std::uint64_t file_bytes_of(const Handle& object);

/// What wallheat writes under a name. A size of 0 stands for any.
struct DatasetForm {
  hid_t type;
  std::vector<hsize_t> size;
  std::vector<hsize_t> chunk;  ///< empty: contiguous
};

/// True if a dataset has this form and all its bytes are in its own file.
[[nodiscard]] bool has_form(const Handle& dataset, const DatasetForm& form);
/// Throws Hdf5Error if there is no such dataset, or it has another form.
[[nodiscard]] Handle open_dataset(const Handle& file, const std::string& name,
                                  const DatasetForm& form, hid_t access = H5P_DEFAULT);

/// Makes a dataset, in one block where `creation` says nothing else.
[[nodiscard]] Handle create_dataset(const Handle& file, const std::string& name, hid_t type,
                                    const std::vector<hsize_t>& size, hid_t creation = H5P_DEFAULT);
/// Makes a dataset of one axis that has no entries yet; H5Dset_extent gives it some.
[[nodiscard]] Handle create_growing(const Handle& file, const std::string& name, hid_t type,
                                    hsize_t chunk);
/// So many entries of a dataset's first axis, with all that they have on the others.
void write_entries(const Handle& dataset, hid_t type, hsize_t first, hsize_t count,
                   const void* values);
void read_entries(const Handle& dataset, hid_t type, hsize_t first, hsize_t count, void* values);

/// Texts of `bytes` bytes, UTF-8, ending in NUL.
[[nodiscard]] Handle text_type(std::size_t bytes);

/// Whether there is anything under a name, which may have several parts. Throws Hdf5Error if one of
/// them is a link that may lead to another file.
[[nodiscard]] bool has_object(const Handle& file, const std::string& name);
[[nodiscard]] Handle create_group(const Handle& file, const std::string& name);
/// Throws Hdf5Error if there is no such group.
[[nodiscard]] Handle open_group(const Handle& file, const std::string& name);

[[nodiscard]] std::vector<hsize_t> size_of(const Handle& dataset);
[[nodiscard]] std::vector<hsize_t> chunk_of(const Handle& dataset);

/// Gives an object an attribute of one value, in place of one of that name.
void write_attribute(const Handle& object, const std::string& name, hid_t type, const void* value);
[[nodiscard]] bool has_attribute(const Handle& object, const std::string& name);
/// Nothing if the attribute is anything but one text of fixed length.
[[nodiscard]] std::optional<std::string> read_text(const Handle& object, const std::string& name);
/// Nothing if the attribute is anything but one whole number, or is missing.
[[nodiscard]] std::optional<std::int64_t> read_whole_number(const Handle& object,
                                                            const std::string& name);

}  // namespace wallheat::store
