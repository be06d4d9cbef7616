#pragma once

#include <cstdint>
#include <string>

#include "store/hdf5/hdf5_handle.hpp"

// Names for the axes of datasets, so that xarray and the netCDF tools open a file as it is.
// wallheat itself never reads them.
namespace wallheat::store {

/// The dimension of what has one entry a plan.
constexpr const char* plan_axis = "/plan";

/// Makes a dimension without coordinates, in the way of netCDF-4: a dataset of no bytes whose name
/// is that of the dimension. Leaves one of this name that is there as it is.
void make_dimension(const Handle& file, const std::string& name, std::uint64_t size);

/// Gives an axis of a dataset a dimension, if the file has one of this name.
void name_axis(const Handle& file, const Handle& dataset, unsigned axis,
               const std::string& dimension);

}  // namespace wallheat::store
