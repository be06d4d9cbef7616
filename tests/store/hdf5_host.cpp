// A program of somebody else that uses HDF5 itself, and reads a result file:
//   hdf5_host RESULTS DIRECTORY
// Says on stdout what of its own use of HDF5 is not as it was, and leaves DIRECTORY/left.h5 with
// the dataset /kept to HDF5's exit handler.

#include <hdf5.h>

#include <cstdio>
#include <string>

#include "wallheat/result_reader.hpp"

namespace {

hid_t make(const std::string& file) {
  return H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
}

void add_dataset(hid_t file, const char* name) {
  const hid_t scalar = H5Screate(H5S_SCALAR);
  H5Dclose(H5Dcreate2(file, name, H5T_STD_I32LE, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(scalar);
}

int printed = 0;
herr_t count(hid_t, void*) {
  ++printed;
  return 0;
}

void expect(bool holds, const char* what) {
  if (!holds) std::printf("%s\n", what);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string directory = std::string(argv[2]) + "/";
  const std::string other = directory + "other.h5";
  const hid_t target = make(other);
  add_dataset(target, "there");
  H5Fclose(target);
  H5Eset_auto2(H5E_DEFAULT, count, nullptr);

  const wallheat::ResultReader results(argv[1]);
  expect(results.rows().size() == 1, "the rows are not read");
  expect(results.field(0).has_value(), "the field is not read");
  try {
    const wallheat::ResultReader none(other);
    expect(false, "a file without results is read");
  } catch (const std::exception&) {
  }
  expect(printed == 0, "wallheat's errors are printed");

  const hid_t own = make(directory + "own.h5");
  expect(H5Lcreate_external(other.c_str(), "/there", own, "link", H5P_DEFAULT, H5P_DEFAULT) >= 0,
         "an external link cannot be made");
  const hid_t linked = H5Dopen2(own, "link", H5P_DEFAULT);
  expect(linked >= 0, "an external link cannot be followed");
  expect(printed == (linked < 0 ? 1 : 0), "errors are printed that are none");
  printed = 0;
  expect(H5Dopen2(own, "nothing", H5P_DEFAULT) < 0 && printed == 1, "errors are not printed");

  add_dataset(make(directory + "left.h5"), "kept");
  return 0;
}
