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

/// A compound of a number and an array of texts.
inline Handle nested_type() {
  const hsize_t count = 50;
  const Handle text = type_of_text(30);
  const Handle texts(H5Tarray_create2(text.get(), 1, &count), H5Tclose, "make a type");
  Handle type(H5Tcreate(H5T_COMPOUND, 8 + 1500), H5Tclose, "make a type");
  checked(H5Tinsert(type.get(), "number", 0, H5T_STD_I64LE), "make a type");
  checked(H5Tinsert(type.get(), "texts", 8, texts.get()), "make a type");
  return type;
}

inline Handle space_of(const std::vector<hsize_t>& size) {
  return {size.empty() ? H5Screate(H5S_SCALAR)
                       : H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr),
          H5Sclose, "make a space"};
}

inline Handle some_type(unsigned form) {
  switch (form % 9) {
    case 0:
      return type_of_text(9);
    case 1:
      return {H5Tcopy(H5T_STD_I32LE), H5Tclose, "make a type"};
    case 2:
      return {H5Tcopy(H5T_STD_I64BE), H5Tclose, "make a type"};
    case 3:
      return {H5Tcopy(H5T_IEEE_F64LE), H5Tclose, "make a type"};
    case 4:
      return type_of_text(H5T_VARIABLE);
    case 5:
      return nested_type();
    case 6:
      return type_of_text(60000);
    case 7:
      return {H5Tcreate(H5T_OPAQUE, 3000), H5Tclose, "make a type"};
    default:
      return {H5Tvlen_create(H5T_IEEE_F64LE), H5Tclose, "make a type"};
  }
}

constexpr unsigned attribute_forms = 9 * 4;

/// Puts another attribute in the place of `name`: 9 types, as a scalar, 1, 2, or no values.
inline void replace_attribute(hid_t object, const char* name, unsigned form) {
  if (H5Aexists(object, name) > 0) checked(H5Adelete(object, name), "delete");
  const Handle type = some_type(form);
  const Handle space = form / 9 % 4 == 0   ? space_of({})
                       : form / 9 % 4 == 1 ? space_of({200})
                       : form / 9 % 4 == 2 ? space_of({7, 5})
                                           : Handle(H5Screate(H5S_NULL), H5Sclose, "make a space");
  const Handle attribute(
      H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
      "make an attribute");
  const bool has_texts_elsewhere = form % 9 == 4 || form % 9 == 8;
  if (has_texts_elsewhere || form / 9 % 4 == 3) return;
  const auto count = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get()));
  const std::vector<char> bytes(count * H5Tget_size(type.get()), 'A');
  checked(H5Awrite(attribute.get(), type.get(), bytes.data()), "write an attribute");
}

constexpr unsigned dataset_forms = 9 * 4 + 7;
/// The forms of replace_object() that take what stands in `other`.
inline constexpr std::array links_to_others{9U * 4, 9U * 4 + 1, 9U * 4 + 2, 9U * 4 + 3};

inline void make_dataset(hid_t file, const char* name, const Handle& type,
                         const std::vector<hsize_t>& size, const Handle& creation) {
  const Handle space = space_of(size);
  Handle(H5Dcreate2(file, name, type.get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
         H5Dclose, "make a dataset");
}

/// Puts something else in the place of the dataset or group `name`: datasets of 9 types and 4
/// sizes, links to other files, to nowhere, to itself, a group, nothing.
inline void replace_object(hid_t file, const char* name, unsigned form,
                           const std::filesystem::path& other) {
  Handle type, space;
  if (const hid_t old = H5Dopen2(file, name, H5P_DEFAULT); old >= 0) {
    const Handle dataset(old, H5Dclose, "open");
    type = Handle(H5Dget_type(old), H5Tclose, "read a type");
    space = Handle(H5Dget_space(old), H5Sclose, "read a space");
  } else {
    type = some_type(3);
    space = space_of({4});
  }
  if (H5Lexists(file, name, H5P_DEFAULT) > 0) checked(H5Ldelete(file, name, H5P_DEFAULT), "delete");
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "make a list");
  if (form < 9 * 4) {
    switch (form / 9) {
      case 0:
        return make_dataset(file, name, some_type(form), {}, creation);
      case 1:
        return make_dataset(file, name, some_type(form), {8}, creation);
      case 2: {
        // Of more elements than fit anywhere, none of them written.
        const std::array<hsize_t, 1> chunk{100};
        checked(H5Pset_chunk(creation.get(), 1, chunk.data()), "make a list");
        return make_dataset(file, name, some_type(form), {hsize_t{1} << 50}, creation);
      }
      default: {
        const std::array<hsize_t, 5> chunk{1, 1, 2, 2, 2};
        checked(H5Pset_chunk(creation.get(), 5, chunk.data()), "make a list");
        return make_dataset(file, name, some_type(form), {3, 3, 4, 4, 4}, creation);
      }
    }
  }
  switch (form - 9 * 4) {
    case 0:
      checked(H5Lcreate_external(other.c_str(), name, file, name, H5P_DEFAULT, H5P_DEFAULT),
              "link");
      return;
    case 1:  // of the right form, with its bytes in another file
      checked(H5Pset_external(creation.get(), other.c_str(), 0, H5F_UNLIMITED), "make a list");
      Handle(
          H5Dcreate2(file, name, type.get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
          H5Dclose, "make a dataset");
      return;
    case 2:
      checked(H5Pset_virtual(creation.get(), space.get(), other.c_str(), name, space.get()),
              "make a list");
      Handle(
          H5Dcreate2(file, name, type.get(), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
          H5Dclose, "make a dataset");
      return;
    case 3:
      checked(H5Lcreate_external(other.c_str(), "/", file, "/other", H5P_DEFAULT, H5P_DEFAULT),
              "link");
      checked(H5Lcreate_soft((std::string("/other") + name).c_str(), file, name, H5P_DEFAULT,
                             H5P_DEFAULT),
              "link");
      return;
    case 4:
      checked(H5Lcreate_soft(name, file, name, H5P_DEFAULT, H5P_DEFAULT), "link");
      return;
    case 5:
      Handle(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, "group");
      return;
    default:
      return;
  }
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
    replace_object(file.get(), place.object, form % dataset_forms, other);
  }
  file.close("close");
}

}  // namespace wallheat::odd
