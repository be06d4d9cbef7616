#include "store/layout.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/answer.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace {

constexpr const char* describing = "describe a row";
constexpr const char* mark_name = "wallheat";
constexpr const char* mark_value = "results";
constexpr const char* version_name = "format_version";
constexpr const char* id_name = "file_id";
constexpr const char* predecessor_name = "predecessor";

Handle make_status_type() {
  Handle type(H5Tenum_create(H5T_STD_I32LE), H5Tclose, describing);
  for (std::int32_t value = 0; value <= static_cast<std::int32_t>(PlanStatus::failed); ++value) {
    const std::string name(to_string(static_cast<PlanStatus>(value)));
    checked(H5Tenum_insert(type.get(), name.c_str(), &value), describing);
  }
  return type;
}

template <class T>
Handle type_of(std::type_identity<T>, std::size_t bytes) {
  const auto own = [](hid_t predefined) {
    return Handle(H5Tcopy(predefined), H5Tclose, describing);
  };
  if constexpr (std::is_same_v<T, std::string>) return text_type(bytes);
  if constexpr (std::is_same_v<T, PlanStatus>) return make_status_type();
  if constexpr (std::is_same_v<T, float>) return own(H5T_IEEE_F32LE);
  if constexpr (std::is_same_v<T, double>) return own(H5T_IEEE_F64LE);
  if constexpr (std::is_same_v<T, std::int32_t>) return own(H5T_STD_I32LE);
  if constexpr (std::is_same_v<T, std::uint32_t>) return own(H5T_STD_U32LE);
  if constexpr (std::is_same_v<T, std::int64_t>) return own(H5T_STD_I64LE);
  if constexpr (std::is_same_v<T, std::uint64_t>) return own(H5T_STD_U64LE);
}

/// A compound whose members follow each other without gaps.
class CompoundType {
 public:
  explicit CompoundType(std::size_t bytes)
      : type_(H5Tcreate(H5T_COMPOUND, bytes), H5Tclose, describing) {}
  template <class T>
  void add(const char* name, std::type_identity<T> type, std::size_t bytes) {
    checked(H5Tinsert(type_.get(), name, offset_, type_of(type, bytes).get()), describing);
    offset_ += bytes;
  }
  Handle take() { return std::move(type_); }

 private:
  Handle type_;
  std::size_t offset_ = 0;
};

std::string hex_text(FileId id) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(id));
  return digits.data();
}

/// 0 if there is none.
FileId read_id(const Handle& root, const char* name) {
  const auto text = read_text(root, name, 64).value_or("");
  FileId id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id, 16);
  return id;
}

herr_t collect_link(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

void copy_attribute(const Handle& from, const Handle& to, const std::string& name) {
  const auto task = "keep the attribute " + name;
  const Handle old(H5Aopen(from.get(), name.c_str(), H5P_DEFAULT), H5Aclose, task);
  const Handle type(H5Aget_type(old.get()), H5Tclose, task);
  const Handle space(H5Aget_space(old.get()), H5Sclose, task);
  const Handle copy(
      H5Acreate2(to.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose, task);
  const auto count = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get()));
  const std::size_t size = H5Tget_size(type.get());
  constexpr std::size_t most_bytes = 16 << 20;
  if (count == 0) return;
  if (count > most_bytes / size) throw Hdf5Error("cannot " + task + ": it is too large");
  std::vector<char> value(count * size);
  checked(H5Aread(old.get(), type.get(), value.data()), task);
  checked(H5Awrite(copy.get(), type.get(), value.data()), task);
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, value.data());
}

Handle make_access_list() {
  Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "prepare the opening");
  // Version 1.10's objects carry checksums; newer ones could not be opened by older tools.
  checked(H5Pset_libver_bounds(list.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), "choose the format");
  checked(H5Pset_fclose_degree(list.get(), H5F_CLOSE_STRONG), "choose how to close");
  checked(H5Pset_file_locking(list.get(), false, true), "turn HDF5's locks off");
  // What waits in HDF5's buffer is written when a dataset is closed, where nobody hears of an
  // error. Without the buffer it is written, and fails, at once.
  checked(H5Pset_sieve_buf_size(list.get(), 0), "write at once");
  return list;
}

}  // namespace

std::string session_name(std::size_t number) {
  return sessions_name + ("/" + std::to_string(number));
}

Handle make_row_type() {
  CompoundType compound(sizeof(Row));
  for_each_row_column([&](const char* name, auto member, auto type) {
    compound.add(name, type, sizeof(std::declval<Row>().*member));
  });
  return compound.take();
}

Handle make_room_type() {
  CompoundType compound(sizeof(RoomResult));
  for_each_room_column([&](const char* name, auto member, const char*) {
    using Value = std::remove_reference_t<decltype(std::declval<RoomResult&>().*member)>;
    compound.add(name, std::type_identity<Value>{}, sizeof(Value));
  });
  return compound.take();
}

Handle open_to_read(const std::filesystem::path& file) {
  const Handle list = make_access_list();
  // A process has one way to open a file with a driver, and the host of this library may have it
  // open in another way. This driver is HDF5's own for POSIX files, which logs nothing as it is
  // set.
  checked(H5Pset_fapl_log(list.get(), nullptr, 0, 0), "choose the driver");
  return {H5Fopen(file.c_str(), H5F_ACC_RDONLY, list.get()), H5Fclose, "open the file"};
}

Handle create_new(const std::filesystem::path& file) {
  return {H5Fcreate(file.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, make_access_list().get()), H5Fclose,
          "make " + file.string()};
}

void write_texts(const Handle& object, const Attributes& values) {
  for (const auto& [name, value] : values)
    write_attribute(object, name, text_type(value.size() + 1).get(), value.c_str());
}

Attributes read_texts(const Handle& object, std::uint64_t& most_bytes) {
  Attributes values;
  for (const auto& name : attributes_of(object)) {
    auto value = read_text(object, name, most_bytes);
    if (!value) continue;
    const auto bytes = name.size() + value->size();
    if (bytes > most_bytes)
      throw Hdf5Error("cannot trust the attributes: they hold more than the file");
    most_bytes -= bytes;
    values[name] = std::move(*value);
  }
  return values;
}

void copy_unknown(const Handle& from, const Handle& to) {
  const Handle old = open_group(from, "/");
  const Handle fresh = open_group(to, "/");
  for (const auto& name : attributes_of(old))
    if (H5Aexists(fresh.get(), name.c_str()) == 0) copy_attribute(old, fresh, name);
  std::vector<std::string> names;
  hsize_t position = 0;
  checked(H5Literate(old.get(), H5_INDEX_NAME, H5_ITER_INC, &position, collect_link, &names),
          "list what the file holds");
  for (const auto& name : names) {
    if (has_object(to, "/" + name)) continue;
    (void)has_object(from, "/" + name);  // refuses links
    checked(H5Ocopy(old.get(), name.c_str(), fresh.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
            "keep /" + name);
  }
}

void write_identity(const Handle& file, const Campaign& campaign) {
  const Handle root = open_group(file, "/");
  write_attribute(root, version_name, H5T_STD_I32LE, &format_version);
  write_texts(root, {{mark_name, mark_value},
                     {id_name, hex_text(campaign.file_id)},
                     {predecessor_name, hex_text(campaign.predecessor)}});
}

void read_identity(const Handle& file, const std::filesystem::path& path, Campaign& campaign) {
  const Handle root = open_group(file, "/");
  const auto version = read_whole_number(root, version_name);
  if (read_text(root, mark_name, 64) != mark_value || !version)
    throw RunError(path.string() + " is an HDF5 file, but holds no results of wallheat");
  if (*version != format_version)
    throw RunError(path.string() + " has format version " + std::to_string(*version) +
                   ", but this wallheat knows version " + std::to_string(format_version) +
                   " only; use the wallheat that wrote it, or solve anew into another file");
  campaign.file_id = read_id(root, id_name);
  campaign.predecessor = read_id(root, predecessor_name);
  if (campaign.file_id == 0) throw Hdf5Error("cannot tell which file it is");
}

}  // namespace wallheat::store
