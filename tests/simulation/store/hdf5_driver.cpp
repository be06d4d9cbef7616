#include "simulation/store/hdf5_driver.hpp"

#include <fcntl.h>
#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 2)
#include <H5FDdevelop.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace wallheat::simulation {
namespace {

struct Info {
  Process* process;
};

/// An open file; HDF5 knows only its first member.
struct File {
  H5FD_t head{};
  Process* process = nullptr;
  std::uint64_t process_number = 0, file = 0;
  int fd = -1;
  haddr_t end_of_allocation = 0, end = 0;
};

File& file_of(H5FD_t* file) { return *reinterpret_cast<File*>(file); }
const File& file_of(const H5FD_t* file) { return *reinterpret_cast<const File*>(file); }

/// In the words of HDF5's own driver, so that they are understood as its are.
herr_t fail(const char* function, const char* what) {
  H5Epush2(H5E_DEFAULT, __FILE__, function, __LINE__, H5E_ERR_CLS, H5E_VFL, H5E_WRITEERROR,
           "file %s failed: error message = '%s'", what, std::strerror(errno));
  return -1;
}

H5FD_t* open(const char* name, unsigned flags, hid_t access_list, haddr_t) {
  auto* process = static_cast<const Info*>(H5Pget_driver_info(access_list))->process;
  int how = (flags & H5F_ACC_RDWR) != 0 ? O_RDWR : O_RDONLY;
  if ((flags & H5F_ACC_TRUNC) != 0) how |= O_TRUNC;
  if ((flags & H5F_ACC_CREAT) != 0) how |= O_CREAT;
  if ((flags & H5F_ACC_EXCL) != 0) how |= O_EXCL;
  const int fd = process->open_for_driver(name, how);
  if (fd < 0) {
    fail(__func__, "open");
    return nullptr;
  }
  auto* file = new File;
  file->process = process;
  file->process_number = process->unique_number();
  file->file = process->file_of(fd);
  file->fd = fd;
  struct stat info {};
  process->fstat(fd, &info);
  file->end = static_cast<haddr_t>(info.st_size);
  return &file->head;
}

herr_t close(H5FD_t* head) {
  auto* file = &file_of(head);
  file->process->close(file->fd);
  delete file;
  return 0;
}

int compare(const H5FD_t* a, const H5FD_t* b) {
  const auto& first = file_of(a);
  const auto& second = file_of(b);
  const std::pair x(first.process_number, first.file);
  const std::pair y(second.process_number, second.file);
  return x < y ? -1 : x > y ? 1 : 0;
}

/// Those of HDF5's own driver, but H5FD_FEAT_POSIX_COMPAT_HANDLE: with it HDF5 looks for the name
/// among real files.
herr_t query(const H5FD_t*, unsigned long* features) {
  if (features == nullptr) return 0;
  *features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
              H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_SUPPORTS_SWMR_IO |
              H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t get_end_of_allocation(const H5FD_t* head, H5FD_mem_t) {
  return file_of(head).end_of_allocation;
}

herr_t set_end_of_allocation(H5FD_t* head, H5FD_mem_t, haddr_t end) {
  file_of(head).end_of_allocation = end;
  return 0;
}

haddr_t get_end(const H5FD_t* head, H5FD_mem_t) { return file_of(head).end; }

herr_t get_handle(H5FD_t* head, hid_t, void** handle) {
  *handle = &file_of(head).fd;
  return 0;
}

herr_t read(H5FD_t* head, H5FD_mem_t, hid_t, haddr_t offset, std::size_t size, void* buffer) {
  auto& file = file_of(head);
  auto* bytes = static_cast<char*>(buffer);
  while (size > 0) {
    const auto got = file.process->pread(file.fd, bytes, size, static_cast<off_t>(offset));
    if (got < 0) return fail(__func__, "read");
    if (got == 0) {  // behind the end
      std::memset(bytes, 0, size);
      break;
    }
    bytes += got;
    offset += static_cast<haddr_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  return 0;
}

herr_t write(H5FD_t* head, H5FD_mem_t, hid_t, haddr_t offset, std::size_t size,
             const void* buffer) {
  auto& file = file_of(head);
  const auto* bytes = static_cast<const char*>(buffer);
  while (size > 0) {
    const auto written = file.process->pwrite(file.fd, bytes, size, offset);
    if (written < 0) return fail(__func__, "write");
    bytes += written;
    offset += static_cast<haddr_t>(written);
    size -= static_cast<std::size_t>(written);
  }
  file.end = std::max(file.end, offset);
  return 0;
}

herr_t truncate(H5FD_t* head, hid_t, hbool_t) {
  auto& file = file_of(head);
  if (file.end_of_allocation == file.end) return 0;
  if (file.process->ftruncate(file.fd, static_cast<off_t>(file.end_of_allocation)) != 0)
    return fail(__func__, "truncate");
  file.end = file.end_of_allocation;
  return 0;
}

herr_t lock(H5FD_t*, hbool_t) { return 0; }
herr_t unlock(H5FD_t*) { return 0; }

hid_t driver() {
  static const H5FD_class_t description = [] {
    H5FD_class_t made{};
#if H5_VERSION_GE(1, 13, 2)
    made.version = H5FD_CLASS_VERSION;
    made.value = static_cast<H5FD_class_value_t>(300);  // of those for tests
#endif
    made.name = "simulated";
    made.maxaddr = (haddr_t{1} << 62) - 1;
    made.fc_degree = H5F_CLOSE_WEAK;
    made.fapl_size = sizeof(Info);
    made.open = open;
    made.close = close;
    made.cmp = compare;
    made.query = query;
    made.get_eoa = get_end_of_allocation;
    made.set_eoa = set_end_of_allocation;
    made.get_eof = get_end;
    made.get_handle = get_handle;
    made.read = read;
    made.write = write;
    made.truncate = truncate;
    // Never called, as HDF5's locks are off; but only where there are any does it mark an open
    // file.
    made.lock = lock;
    made.unlock = unlock;
    const H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(map), std::end(map), made.fl_map);
    return made;
  }();
  static const hid_t registered = H5FDregister(&description);
  return registered;
}

}  // namespace

std::function<void(std::int64_t)> driver_on(Process& process) {
  return [&process](std::int64_t access_list) {
    const Info info{&process};
    if (H5Pset_driver(static_cast<hid_t>(access_list), driver(), &info) < 0)
      throw std::runtime_error("HDF5 does not take the simulated driver");
  };
}

}  // namespace wallheat::simulation
