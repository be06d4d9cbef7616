#include "store/hdf5.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <span>
#include <string_view>

#include "io/files.hpp"

namespace wallheat::store {

namespace {

herr_t keep_first(unsigned depth, const H5E_error2_t* error, void* text) {
  // The walk starts at the innermost function, whose reason is the specific one.
  if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

/// Returns the text between two marks; an empty string if they do not occur. An error of HDF5 is,
/// for example, "file write failed: time = ..., errno = 28, error message = 'No space left on
/// device', ...".
std::string between(const std::string& text, const std::string& mark, char end_mark) {
  const auto begin = text.find(mark);
  if (begin == std::string::npos) return {};
  const auto end = text.find(end_mark, begin + mark.size());
  return text.substr(begin + mark.size(), end - begin - mark.size());
}

}  // namespace

SuppressHdf5Errors::SuppressHdf5Errors() {
  unsigned is_new =
      0;  // 0: the handler was set by the API of HDF5 1.6, and only that can return it
  known_ = H5Eauto_is_v2(H5E_DEFAULT, &is_new) >= 0 && is_new != 0 &&
           H5Eget_auto2(H5E_DEFAULT, &print_, &data_) >= 0;
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

SuppressHdf5Errors::~SuppressHdf5Errors() {
  if (known_) H5Eset_auto2(H5E_DEFAULT, print_, data_);
}

void throw_hdf5_error(const std::string& what) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
  const std::string code = between(reason, "errno = ", ',');
  if (const auto words = between(reason, "error message = '", '\''); !words.empty()) reason = words;
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  throw Hdf5Error("cannot " + what + (reason.empty() ? "" : ": " + reason),
                  static_cast<int>(std::strtol(code.c_str(), nullptr, 10)));
}

namespace {

/// An open attribute of one element.
struct Attribute {
  Handle handle, type;
};

/// Opens an attribute. Returns nullopt if it does not exist, or does not have exactly one element.
std::optional<Attribute> open_attribute(const Handle& object, const std::string& name) {
  const auto task = "read the attribute " + name;
  if (checked(H5Aexists(object.get(), name.c_str()), task) == 0) return std::nullopt;
  Attribute attribute;
  attribute.handle = Handle(H5Aopen(object.get(), name.c_str(), H5P_DEFAULT), H5Aclose, task);
  attribute.type = Handle(H5Aget_type(attribute.handle.get()), H5Tclose, task);
  const Handle space(H5Aget_space(attribute.handle.get()), H5Sclose, task);
  if (H5Sget_simple_extent_npoints(space.get()) != 1) return std::nullopt;
  return attribute;
}

herr_t collect_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

herr_t collect_link(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

void copy_attribute(const Handle& from, const Handle& to, const std::string& name) {
  const auto task = "copy the attribute " + name;
  const Handle old(H5Aopen(from.get(), name.c_str(), H5P_DEFAULT), H5Aclose, task);
  const Handle type(H5Aget_type(old.get()), H5Tclose, task);
  const Handle space(H5Aget_space(old.get()), H5Sclose, task);
  const Handle copy(
      H5Acreate2(to.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose, task);
  const auto count = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get()));
  const std::size_t size = H5Tget_size(type.get());
  constexpr std::size_t max_bytes = 16 << 20;
  if (count == 0) return;
  if (count > max_bytes / size) throw Hdf5Error("cannot " + task + ": it is too large");
  std::vector<char> value(count * size);
  checked(H5Aread(old.get(), type.get(), value.data()), task);
  checked(H5Awrite(copy.get(), type.get(), value.data()), task);
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, value.data());
}

Handle make_access_list() {
  Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "set file access properties");
  checked(H5Pset_fclose_degree(list.get(), H5F_CLOSE_STRONG), "set the close degree");
  checked(H5Pset_file_locking(list.get(), false, true), "disable HDF5's file locks");
  // HDF5 writes its sieve buffer when a dataset is closed, and does not report an error there.
  // Without the buffer, data are written, and errors reported, at once.
  checked(H5Pset_sieve_buf_size(list.get(), 0), "disable the write buffer");
  return list;
}

/// Calls a function that opens a file until no signal interrupts it: HDF5 repeats interrupted reads
/// and writes itself.
template <class Open>
Handle open_file(Open open) {
  for (;;) {
    try {
      return open();
    } catch (const Hdf5Error& error) {
      if (error.code != EINTR) throw;
    }
  }
}

void require(const Handle& file, const std::string& name) {
  if (!has_object(file, name)) throw Hdf5Error("cannot open " + name + ": not found");
}

}  // namespace

Handle open_to_read(const std::filesystem::path& file) {
  const Handle list = make_access_list();
  // HDF5 requires equal access properties if a process opens a file twice with one driver, and a
  // program that uses this library may have opened the file with others. So this uses another
  // driver of HDF5 for POSIX files, the logging driver, with logging disabled.
  checked(H5Pset_fapl_log(list.get(), nullptr, 0, 0), "set the file driver");
  try {
    return open_file([&] {
      return Handle(H5Fopen(file.c_str(), H5F_ACC_RDONLY, list.get()), H5Fclose, "open the file");
    });
  } catch (const Hdf5Error&) {
    if (!is_marked_as_open(file)) throw;
    Hdf5Error marked("another HDF5 program has it open for writing, or was killed while writing");
    marked.hint = "close that program; if it has ended, run: wallheat repair " + file.string();
    throw marked;
  }
}

bool is_marked_as_open(const std::filesystem::path& file) {
  constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  constexpr std::size_t version_offset = 8;
  constexpr std::size_t flags_offset = 11;
  std::array<char, flags_offset + 1> start{};
  const File in(file, O_RDONLY);
  return in.size() >= start.size() && in.read_at(0, std::as_writable_bytes(std::span(start))) &&
         std::string_view(start.data(), signature.size()) == signature &&
         start[version_offset] == 3 && start[flags_offset] != 0;
}

void clear_open_mark(const std::filesystem::path& file) {
  constexpr const char* task = "clear the open-for-writing mark of another program";
  const Handle list = make_access_list();
  hbool_t clear = true;  // HDF5's tool h5clear sets the same property
  checked(H5Pset(list.get(), "clear_status_flags", &clear), task);
  Handle opened = open_file(
      [&] { return Handle(H5Fopen(file.c_str(), H5F_ACC_RDWR, list.get()), H5Fclose, task); });
  opened.close(task);
}

Handle create_new(const std::filesystem::path& file) {
  const std::string task = "create " + file.string();
  const Handle list = make_access_list();
  // The library version bounds V18 result in superblock version 2. Version 3 contains a mark while
  // a program has the file open for writing. A notebook that is killed leaves this mark, and then
  // HDF5 does not open the file. The objects in the file have the format of version 1.10, which has
  // checksums and small chunk indices; older tools cannot read newer formats.
  checked(H5Pset_libver_bounds(list.get(), H5F_LIBVER_V18, H5F_LIBVER_V18), task);
  Handle created = open_file([&] {
    return Handle(H5Fcreate(file.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, list.get()), H5Fclose, task);
  });
  checked(H5Fset_libver_bounds(created.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), task);
  return created;
}

Handle text_type(std::size_t bytes) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "create a string type");
  checked(H5Tset_size(type.get(), bytes), "create a string type");
  checked(H5Tset_cset(type.get(), H5T_CSET_UTF8), "create a string type");
  return type;
}

bool has_object(const Handle& file, const std::string& name) {
  for (std::size_t end = 0; end < name.size();) {
    end = std::min(name.find('/', end + 1), name.size());
    const std::string part = name.substr(0, end);
    if (part == "/") continue;
    if (checked(H5Lexists(file.get(), part.c_str(), H5P_DEFAULT), "find " + part) == 0)
      return false;
    H5L_info_t link{};
    checked(H5Lget_info(file.get(), part.c_str(), &link, H5P_DEFAULT), "find " + part);
    if (link.type != H5L_TYPE_HARD)
      throw Hdf5Error("cannot open " + name + ": " + part + " is a soft or external link");
  }
  return true;
}

Handle create_group(const Handle& file, const std::string& name) {
  return {H5Gcreate2(file.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
          "create the group " + name};
}

Handle open_group(const Handle& file, const std::string& name) {
  require(file, name);
  return {H5Gopen2(file.get(), name.c_str(), H5P_DEFAULT), H5Gclose, "open the group " + name};
}

Handle open_dataset(const Handle& file, const std::string& name, hid_t type, H5D_layout_t layout) {
  const auto task = "open " + name;
  require(file, name);
  Handle dataset(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), H5Dclose, task);
  const Handle stored(H5Dget_type(dataset.get()), H5Tclose, task);
  const Handle creation(H5Dget_create_plist(dataset.get()), H5Pclose, task);
  const bool has_type = H5Tequal(stored.get(), type) > 0;
  if (has_type && H5Pget_layout(creation.get()) != layout && layout == H5D_CONTIGUOUS) {
    Hdf5Error rewritten("another program, such as h5repack, has changed how " + name +
                        " is stored");
    rewritten.hint = "restore the layout: h5repack -l " + name + ":CONTI -f " + name +
                     ":NONE OLD NEW; fields that were compressed again count as damaged";
    throw rewritten;
  }
  if (!has_type || H5Pget_layout(creation.get()) != layout ||
      H5Pget_external_count(creation.get()) != 0)
    throw Hdf5Error("cannot " + task + ": unexpected type or layout");
  return dataset;
}

Handle create_dataset(const Handle& file, const std::string& name, hid_t type,
                      const std::vector<hsize_t>& size, hid_t creation) {
  const auto task = "create " + name;
  const Handle space(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr),
                     H5Sclose, task);
  // Plan IDs may contain any UTF-8 characters.
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose, task);
  checked(H5Pset_char_encoding(links.get(), H5T_CSET_UTF8), task);
  return {
      H5Dcreate2(file.get(), name.c_str(), type, space.get(), links.get(), creation, H5P_DEFAULT),
      H5Dclose, task};
}

std::vector<hsize_t> size_of(const Handle& dataset) {
  const Handle space(H5Dget_space(dataset.get()), H5Sclose, "read a dataset's size");
  const int rank = checked(H5Sget_simple_extent_ndims(space.get()), "read a dataset's size");
  std::vector<hsize_t> size(static_cast<std::size_t>(rank));
  checked(H5Sget_simple_extent_dims(space.get(), size.data(), nullptr), "read a dataset's size");
  return size;
}

std::vector<std::string> attributes_of(const Handle& object) {
  std::vector<std::string> names;
  hsize_t position = 0;
  checked(H5Aiterate2(object.get(), H5_INDEX_NAME, H5_ITER_INC, &position, collect_name, &names),
          "list the attributes");
  return names;
}

void write_attribute(const Handle& object, const std::string& name, hid_t type, const void* value) {
  const auto task = "write the attribute " + name;
  const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose, task);
  const Handle attribute(
      H5Acreate2(object.get(), name.c_str(), type, scalar.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose, task);
  checked(H5Awrite(attribute.get(), type, value), task);
}

std::optional<std::string> read_text(const Handle& object, const std::string& name,
                                     std::uint64_t max_bytes) {
  const auto attribute = open_attribute(object, name);
  if (!attribute) return std::nullopt;
  const hid_t type = attribute->type.get();
  const std::size_t length = H5Tget_size(type);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 || length > max_bytes)
    return std::nullopt;
  std::string value(length, '\0');
  checked(H5Aread(attribute->handle.get(), type, value.data()), "read the attribute " + name);
  return value.substr(0, value.find('\0'));
}

std::optional<std::int64_t> read_integer(const Handle& object, const std::string& name) {
  const auto attribute = open_attribute(object, name);
  if (!attribute || H5Tget_class(attribute->type.get()) != H5T_INTEGER) return std::nullopt;
  std::int64_t value = 0;
  checked(H5Aread(attribute->handle.get(), H5T_NATIVE_INT64, &value), "read the attribute " + name);
  return value;
}

void write_texts(const Handle& object, const Attributes& values) {
  for (const auto& [name, value] : values)
    write_attribute(object, name, text_type(value.size() + 1).get(), value.c_str());
}

Attributes read_texts(const Handle& object, std::uint64_t& max_bytes) {
  Attributes values;
  for (const auto& name : attributes_of(object)) {
    auto value = read_text(object, name, max_bytes);
    if (!value) continue;
    const auto bytes = name.size() + value->size();
    if (bytes > max_bytes) throw Hdf5Error("invalid attributes: they are larger than the file");
    max_bytes -= bytes;
    values[name] = std::move(*value);
  }
  return values;
}

namespace {

/// Copies a soft or external link, that is, the path to which it refers.
void copy_link(const Handle& from, const Handle& to, const std::string& name,
               const H5L_info_t& link) {
  const auto task = "copy the link /" + name;
  std::vector<char> value(link.u.val_size);
  checked(H5Lget_val(from.get(), name.c_str(), value.data(), value.size(), H5P_DEFAULT), task);
  if (link.type == H5L_TYPE_SOFT) {
    checked(H5Lcreate_soft(value.data(), to.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), task);
  } else if (link.type == H5L_TYPE_EXTERNAL) {
    const char* file = nullptr;
    const char* object = nullptr;
    checked(H5Lunpack_elink_val(value.data(), value.size(), nullptr, &file, &object), task);
    checked(H5Lcreate_external(file, object, to.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
            task);
  } else {
    checked(H5Lcreate_ud(to.get(), name.c_str(), link.type, value.data(), value.size(), H5P_DEFAULT,
                         H5P_DEFAULT),
            task);
  }
}

herr_t collect_hard_link(hid_t, const char* name, const H5L_info_t* link, void* names) {
  if (link->type == H5L_TYPE_HARD)
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

/// Returns the names of all objects in a group and in the groups below it.
std::vector<std::string> objects_below(const Handle& group) {
  std::vector<std::string> names;
  checked(H5Lvisit(group.get(), H5_INDEX_NAME, H5_ITER_INC, collect_hard_link, &names),
          "list the objects in the file");
  return names;
}

/// Maps objects with several hard links to one name each.
class SharedObjects {
 public:
  /// Objects that exist in both files under one name are known from the start.
  SharedObjects(const Handle& old, const Handle& fresh) : old_(old), fresh_(fresh) {}

  /// Returns the name that the object with this name in `old` has in `fresh`. Returns `name` if it
  /// has not been copied yet.
  std::string name_in_fresh(const std::string& name) {
    const auto address = address_if_shared(name);
    if (!address) return name;
    if (!names_.contains(*address)) read_names();
    return names_.emplace(*address, name).first->second;
  }

 private:
  using Address = std::pair<unsigned long, unsigned long>;

  std::optional<Address> address_if_shared(const std::string& name) {
    H5G_stat_t info{};
    checked(H5Gget_objinfo(old_.get(), name.c_str(), 0, &info), "examine /" + name);
    if (info.nlink < 2) return std::nullopt;
    return Address(info.objno[0], info.objno[1]);
  }
  void read_names() {
    for (const auto& name : objects_below(fresh_))
      if (has_object(old_, name))
        if (const auto address = address_if_shared(name)) names_.emplace(*address, name);
  }

  const Handle& old_;
  const Handle& fresh_;
  std::map<Address, std::string> names_;
};

}  // namespace

void copy_foreign_objects(const Handle& from, const Handle& to) {
  const Handle old = open_group(from, "/");
  const Handle fresh = open_group(to, "/");
  for (const auto& name : attributes_of(old))
    if (H5Aexists(fresh.get(), name.c_str()) == 0) copy_attribute(old, fresh, name);
  std::vector<std::string> names;
  hsize_t position = 0;
  checked(H5Literate(old.get(), H5_INDEX_NAME, H5_ITER_INC, &position, collect_link, &names),
          "list the objects in the file");
  SharedObjects objects(old, fresh);
  for (const auto& name : names) {
    const auto task = "copy /" + name;
    if (checked(H5Lexists(fresh.get(), name.c_str(), H5P_DEFAULT), task) > 0) continue;
    H5L_info_t link{};
    checked(H5Lget_info(old.get(), name.c_str(), &link, H5P_DEFAULT), task);
    if (link.type != H5L_TYPE_HARD) {
      copy_link(old, fresh, name, link);
    } else if (const auto same = objects.name_in_fresh(name); same != name) {
      checked(H5Lcreate_hard(fresh.get(), same.c_str(), fresh.get(), name.c_str(), H5P_DEFAULT,
                             H5P_DEFAULT),
              task);
    } else {
      checked(H5Ocopy(old.get(), name.c_str(), fresh.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
              task);
    }
  }
}

}  // namespace wallheat::store
