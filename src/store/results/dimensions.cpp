#include "store/results/dimensions.hpp"

#include <hdf5_hl.h>

#include <string>

#include "store/hdf5/hdf5_object.hpp"

namespace wallheat::store {
namespace {

/// By this text netCDF-4 knows a dimension that has no values of its own.
std::string no_coordinates(std::uint64_t size) {
  std::string digits = std::to_string(size);
  if (digits.size() < 10) digits.insert(0, 10 - digits.size(), ' ');
  return "This is a netCDF dimension but not a netCDF variable. " + digits;
}

}  // namespace

void make_dimension(const Handle& file, const std::string& name, std::uint64_t size) {
  if (exists(file, name)) return;
  const auto task = "create the dimension " + name;
  const hsize_t length = size;
  const Handle space(H5Screate_simple(1, &length, nullptr), H5Sclose, task);
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, task);
  checked(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), task);
  const Handle dimension(H5Dcreate2(file.get(), name.c_str(), H5T_IEEE_F32BE, space.get(),
                                    H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                         H5Dclose, task);
  checked(H5DSset_scale(dimension.get(), no_coordinates(size).c_str()), task);
}

void name_axis(const Handle& file, const Handle& dataset, unsigned axis,
               const std::string& dimension) {
  if (!exists(file, dimension)) return;
  const auto task = "name an axis " + dimension;
  const Handle scale(H5Dopen2(file.get(), dimension.c_str(), H5P_DEFAULT), H5Dclose, task);
  checked(H5DSattach_scale(dataset.get(), scale.get(), axis), task);
}

}  // namespace wallheat::store
