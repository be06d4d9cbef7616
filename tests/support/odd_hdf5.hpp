#pragma once

#include <hdf5.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "store/layout.hpp"

// What another program may have written into an HDF5 file under a name that wallheat looks for.
namespace wallheat::odd {

using store::checked;
using store::Handle;

inline Handle type_of_text(std::size_t length) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "make a type");
  checked(H5Tset_size(type.get(), length), "make a type");
  return type;
}

inline Handle space_of(const std::vector<hsize_t>& size) {
  return {size.empty() ? H5Screate(H5S_SCALAR)
                       : H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr),
          H5Sclose, "make a space"};
}

constexpr unsigned type_forms = 8;
inline Handle some_type(unsigned form) {
  switch (form % type_forms) {
    case 0:
      return type_of_text(9);
    case 1:
      return type_of_text(60000);
    case 2:
      return type_of_text(H5T_VARIABLE);
    case 3:
      return {H5Tvlen_create(H5T_IEEE_F64LE), H5Tclose, "make a type"};
    case 4:
      return {H5Tcopy(H5T_STD_I32LE), H5Tclose, "make a type"};
    case 5:
      return {H5Tcopy(H5T_STD_I64BE), H5Tclose, "make a type"};
    case 6:
      return {H5Tcopy(H5T_IEEE_F64LE), H5Tclose, "make a type"};
    default:
      return {H5Tcreate(H5T_OPAQUE, 3000), H5Tclose, "make a type"};
  }
}

constexpr unsigned attribute_forms = type_forms * 3;

/// Puts another attribute in the place of `name`: of each type, as a scalar, 200, or no values.
inline void replace_attribute(hid_t object, const char* name, unsigned form) {
  if (H5Aexists(object, name) > 0) checked(H5Adelete(object, name), "delete");
  const Handle type = some_type(form);
  const unsigned size = form / type_forms;
  const Handle space = size == 0   ? space_of({})
                       : size == 1 ? space_of({200})
                                   : Handle(H5Screate(H5S_NULL), H5Sclose, "make a space");
  const Handle attribute(
      H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
      "make an attribute");
  const bool has_values_elsewhere = form % type_forms == 2 || form % type_forms == 3;
  if (has_values_elsewhere || size == 2) return;
  const std::vector<char> bytes(200 * H5Tget_size(type.get()), 'A');
  checked(H5Awrite(attribute.get(), type.get(), bytes.data()), "write an attribute");
}

/// The forms of replace_object() that take what stands in `other`.
inline constexpr std::array links_to_others{0U, 1U, 2U, 3U};
constexpr unsigned first_dataset = 7;
constexpr unsigned object_forms = first_dataset + type_forms * 2;

/// Puts something else in the place of the dataset or group `name`: links to other files, to
/// itself, a group, nothing, datasets of each type, of one value or of more than fit anywhere.
inline void replace_object(hid_t file, const char* name, unsigned form,
                           const std::filesystem::path& other) {
  Handle type = some_type(6);
  Handle space = space_of({4});
  if (const hid_t old = H5Dopen2(file, name, H5P_DEFAULT); old >= 0) {
    const Handle dataset(old, H5Dclose, "open");
    type = Handle(H5Dget_type(old), H5Tclose, "read a type");
    space = Handle(H5Dget_space(old), H5Sclose, "read a space");
  }
  if (H5Lexists(file, name, H5P_DEFAULT) > 0) checked(H5Ldelete(file, name, H5P_DEFAULT), "delete");
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "make a list");
  const auto link_to_file = [&](const char* object, const char* place) {
    checked(H5Lcreate_external(other.c_str(), object, file, place, H5P_DEFAULT, H5P_DEFAULT),
            "link");
  };
  const auto link_softly = [&](const std::string& target) {
    checked(H5Lcreate_soft(target.c_str(), file, name, H5P_DEFAULT, H5P_DEFAULT), "link");
  };
  switch (form) {
    case 0:
      return link_to_file(name, name);
    case 1:  // of the right form, with its bytes in another file
      checked(H5Pset_external(creation.get(), other.c_str(), 0, H5F_UNLIMITED), "make a list");
      break;
    case 2:
      checked(H5Pset_virtual(creation.get(), space.get(), other.c_str(), name, space.get()),
              "make a list");
      break;
    case 3:
      link_to_file("/", "/other");
      return link_softly(std::string("/other") + name);
    case 4:
      return link_softly(name);
    case 5:
      Handle(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, "group");
      return;
    case 6:
      return;
    default: {
      const unsigned dataset = form - first_dataset;
      type = some_type(dataset);
      space = space_of({});
      if (dataset < type_forms) break;
      const hsize_t chunk = 100;  // none of them written
      checked(H5Pset_chunk(creation.get(), 1, &chunk), "make a list");
      space = space_of({hsize_t{1} << 50});
    }
  }
  Handle(H5Dcreate2(file, name, type.get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
         H5Dclose, "make a dataset");
}

struct Place {
  const char* object;     ///< a group or dataset
  const char* attribute;  ///< null: the object itself
};

/// Puts a form into a place of a file; forms beyond the last begin anew.
inline void make_odd(const std::filesystem::path& path, const Place& place, unsigned form,
                     const std::filesystem::path& other) {
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, "open");
  if (place.attribute != nullptr) {
    const Handle object(H5Oopen(file.get(), place.object, H5P_DEFAULT), H5Oclose, "open");
    replace_attribute(object.get(), place.attribute, form % attribute_forms);
  } else {
    replace_object(file.get(), place.object, form % object_forms, other);
  }
  file.close("close");
}

}  // namespace wallheat::odd
