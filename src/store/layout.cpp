#include <algorithm>
#include <array>
#include <charconv>

#include "core/result_columns.hpp"
#include "store/result_file.hpp"

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

template <std::size_t bytes>
Handle type_of(std::type_identity<FixedText<bytes>>) {
  return text_type(bytes);
}
template <class T>
Handle type_of(std::type_identity<T>) {
  const auto own = [](hid_t predefined) {
    return Handle(H5Tcopy(predefined), H5Tclose, describing);
  };
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
  void add(const char* name, std::type_identity<T> type) {
    checked(H5Tinsert(type_.get(), name, offset_, type_of(type).get()), describing);
    offset_ += sizeof(typename RowValue<T>::type);
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

}  // namespace

std::string session_name(std::size_t number) {
  return sessions_name + ("/" + std::to_string(number));
}

Handle make_row_type() {
  CompoundType compound(sizeof(ResultRow));
  for_each_row_column(
      [&](const char* name, auto, auto type, auto...) { compound.add(name, type); });
  return compound.take();
}

Handle make_room_type() {
  CompoundType compound(sizeof(RoomResult));
  for_each_room_column([&](const char* name, auto member, const char*) {
    using Value = std::remove_reference_t<decltype(std::declval<RoomResult&>().*member)>;
    compound.add(name, std::type_identity<Value>{});
  });
  return compound.take();
}

void write_identity(const Handle& file, const FileHeader& header) {
  const Handle root = open_group(file, "/");
  write_attribute(root, version_name, H5T_STD_I32LE, &format_version);
  write_texts(root, {{mark_name, mark_value},
                     {id_name, hex_text(header.file_id)},
                     {predecessor_name, hex_text(header.predecessor)}});
}

void read_identity(const Handle& file, const std::filesystem::path& path, FileHeader& header) {
  const Handle root = open_group(file, "/");
  const auto version = read_integer(root, version_name);
  if (read_text(root, mark_name, 64) != mark_value || !version)
    throw RunError(path.string() + " is an HDF5 file, but holds no results of wallheat");
  if (*version != format_version)
    throw RunError(path.string() + " has format version " + std::to_string(*version) +
                   ", but this wallheat knows version " + std::to_string(format_version) +
                   " only; use the wallheat that wrote it, or solve anew into another file");
  header.file_id = read_id(root, id_name);
  header.predecessor = read_id(root, predecessor_name);
  if (header.file_id == 0) throw Hdf5Error("cannot tell which file it is");
}

}  // namespace wallheat::store
