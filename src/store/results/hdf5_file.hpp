#pragma once

#include "store/layout.hpp"
#include "store/results/environment.hpp"

// For packs of plans; goes with them.
namespace wallheat::store {

enum class Access { read };
enum class Space { dense };
enum class Hdf5State { foreign, closed };

inline Hdf5State peek(const StoreEnvironment&, const std::filesystem::path& file) {
  return is_hdf5(File(file, O_RDONLY)) ? Hdf5State::closed : Hdf5State::foreign;
}
inline Handle open_file(const StoreEnvironment&, const std::filesystem::path& file, Access) {
  return open_to_read(file);
}
inline Handle create_file(const StoreEnvironment&, const std::filesystem::path& file, Space) {
  return create_new(file);
}
inline void write_attributes(const Handle& file, const char* group, const Attributes& values) {
  write_texts(open_group(file, group), values);
}
inline Attributes read_attributes(const Handle& file, const char* group) {
  return read_texts(open_group(file, group));
}

}  // namespace wallheat::store
