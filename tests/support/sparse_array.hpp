#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace wallheat {

/// Writes an NPY file of side x side zeros, which occupy no space on the disk. `item` is the size
/// of an element in bytes.
inline void save_sparse(const std::filesystem::path& file, const std::string& dtype,
                        std::size_t item, std::size_t side) {
  const std::string size = std::to_string(side);
  const std::string header = "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': (" +
                             size + ", " + size + "), }\n";
  std::ofstream(file, std::ios::binary)
      << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size()) << '\0' << header;
  std::filesystem::resize_file(file, 10 + header.size() + side * side * item);
}

}  // namespace wallheat
