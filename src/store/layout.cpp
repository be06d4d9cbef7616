#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>

#include "core/result_columns.hpp"
#include "io/files.hpp"
#include "store/result_file.hpp"

namespace wallheat::store {
namespace {

constexpr const char* describing = "create the type of a row";
constexpr const char* mark_name = "wallheat";
constexpr const char* mark_value = "results";
constexpr const char* version_name = "format_version";
constexpr const char* id_name = "file_id";
constexpr const char* predecessor_name = "predecessor";

Handle make_status_type(const FileHeader& header) {
  Handle type(H5Tenum_create(H5T_STD_I32LE), H5Tclose, describing);
  for (const PlanStatus status : plan_statuses) {
    if (status == PlanStatus::convergence_unknown && !header.has_solver_command()) continue;
    const std::string name(to_string(status));
    const auto value = static_cast<std::int32_t>(status);
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
  if constexpr (std::is_same_v<T, float>) return own(H5T_IEEE_F32LE);
  if constexpr (std::is_same_v<T, double>) return own(H5T_IEEE_F64LE);
  if constexpr (std::is_same_v<T, std::int32_t>) return own(H5T_STD_I32LE);
  if constexpr (std::is_same_v<T, std::uint32_t>) return own(H5T_STD_U32LE);
  if constexpr (std::is_same_v<T, std::int64_t>) return own(H5T_STD_I64LE);
  if constexpr (std::is_same_v<T, std::uint64_t>) return own(H5T_STD_U64LE);
}

/// Builds a compound type without padding between its members.
class CompoundType {
 public:
  explicit CompoundType(std::size_t bytes)
      : type_(H5Tcreate(H5T_COMPOUND, bytes), H5Tclose, describing) {}
  template <class T>
  void add(const char* name, std::type_identity<T> type) {
    add(name, type_of(type), sizeof(typename RowValue<T>::type));
  }
  void add(const char* name, const Handle& type, std::size_t bytes) {
    checked(H5Tinsert(type_.get(), name, offset_, type.get()), describing);
    offset_ += bytes;
  }
  Handle take() { return std::move(type_); }

 private:
  Handle type_;
  std::size_t offset_ = 0;
};

FileId parse_file_id(std::string_view text) {
  FileId id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id, 16);
  return id;
}

/// Returns the ID in an attribute; 0 if the attribute does not exist or is invalid.
FileId read_id(const Handle& root, const char* name) {
  return parse_file_id(read_text(root, name, 64).value_or(""));
}

/// Finds an attribute of the root group in the first bytes of a file that HDF5 may not be able to
/// read. Its name and a NUL are followed by its type and its text. Returns the bytes that contain
/// the text.
std::string_view find_attribute(std::string_view bytes, const std::string& name) {
  constexpr std::size_t reach = 128;
  const auto at = bytes.find(name + '\0');
  return at == std::string_view::npos ? "" : bytes.substr(at + name.size() + 1, reach);
}

/// Returns the first text of 16 hexadecimal digits and a NUL; 0 if there is none.
FileId find_file_id(std::string_view bytes) {
  constexpr std::size_t digits = 16;
  for (std::size_t at = 0; at + digits < bytes.size(); ++at) {
    const auto end = bytes.find_first_not_of("0123456789abcdef", at);
    if (end == at + digits && bytes[end] == '\0') return parse_file_id(bytes.substr(at, digits));
    if (end != std::string_view::npos) at = end;
  }
  return 0;
}

std::string session_value(const Attributes& session, const char* name) {
  const auto found = session.find(name);
  return found == session.end() ? "" : found->second;
}

}  // namespace

std::string to_text(FileId id) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(id));
  return digits.data();
}

std::vector<FileId> absorbed_file_ids(const FileHeader& header) {
  std::vector<FileId> ids{header.file_id, header.predecessor};
  for (const Attributes& session : header.sessions)
    ids.push_back(parse_file_id(session_value(session, journal_file_id)));
  std::erase(ids, 0);
  return ids;
}

Attributes session_of(const JournalReader& journal) {
  Attributes session = journal.session();
  session[journal_file_id] = to_text(journal.file_id());
  session[journal_bytes] = std::to_string(journal.bytes());
  return session;
}

bool contains_journal(std::span<const Attributes> identities, const JournalReader& journal) {
  const Attributes found = session_of(journal);
  return std::ranges::any_of(identities, [&](const Attributes& session) {
    const auto is_equal = [&](const char* name) {
      return session_value(session, name) == session_value(found, name);
    };
    const auto bytes = session_value(session, journal_bytes);
    return is_equal(journal_file_id) && is_equal(journal_session_id) && !bytes.empty() &&
           journal.bytes() <= std::strtoull(bytes.c_str(), nullptr, 10);
  });
}

FileMark read_mark(const std::filesystem::path& path) {
  FileMark mark;
  const auto take_id = [&](FileId id) {
    if (id != 0) mark.file_ids.push_back(id);
  };
  const SuppressHdf5Errors quiet;
  const File in(path, O_RDONLY);
  try {
    const Handle file = open_to_read(path);
    const Handle root = open_group(file, "/");
    mark.is_result_file = read_text(root, mark_name, 64) == mark_value;
    for (const char* name : {id_name, predecessor_name}) take_id(read_id(root, name));
    std::uint64_t max_bytes = in.size();
    mark.replaced = read_groups(file, replaced_name, max_bytes);
  } catch (const Hdf5Error&) {
    constexpr std::uint64_t enough = 64 << 10;
    std::string bytes(std::min(in.size(), enough), '\0');
    if (!in.read_at(0, std::as_writable_bytes(std::span(bytes))))
      throw_system_error(path, "be read", EIO);
    mark.is_result_file = find_attribute(bytes, mark_name).find(mark_value) != std::string::npos;
    for (const char* name : {id_name, predecessor_name})
      take_id(find_file_id(find_attribute(bytes, name)));
  }
  return mark;
}

bool has_absorbed(const FileHeader& header, const JournalReader& journal) {
  return contains_journal(header.sessions, journal);
}

void write_groups(const Handle& file, const std::string& name,
                  const std::vector<Attributes>& groups) {
  (void)create_group(file, name);
  for (std::size_t number = 0; number < groups.size(); ++number)
    write_texts(create_group(file, name + "/" + std::to_string(number)), groups[number]);
}

std::vector<Attributes> read_groups(const Handle& file, const std::string& name,
                                    std::uint64_t& max_bytes) {
  std::vector<Attributes> groups;
  for (;;) {
    const std::string group = name + "/" + std::to_string(groups.size());
    if (!has_object(file, group)) return groups;
    groups.push_back(read_texts(open_group(file, group), max_bytes));
  }
}

Handle make_row_type(const FileHeader& header) {
  CompoundType compound(sizeof(ResultRow));
  for_each_member<PlanResult>([&](const auto& column) {
    if constexpr (std::is_same_v<decltype(column.type), std::type_identity<PlanStatus>> ||
                  std::is_same_v<decltype(column.type), const std::type_identity<PlanStatus>>)
      compound.add(column.name, make_status_type(header), sizeof(ResultRow::status));
    else
      compound.add(column.name, column.type);
  });
  compound.add("row_crc32", std::type_identity<decltype(ResultRow::row_crc32)>{});
  return compound.take();
}

Handle make_room_type() {
  CompoundType compound(sizeof(RoomResult));
  for_each_member<RoomResult>([&]<class Value>(const MemberOf<RoomResult, Value>& column) {
    compound.add(column.name, std::type_identity<Value>{});
  });
  return compound.take();
}

void write_identity(const Handle& file, const FileHeader& header) {
  const Handle root = open_group(file, "/");
  write_attribute(root, version_name, H5T_STD_I32LE, &format_version);
  write_texts(root, {{mark_name, mark_value},
                     {id_name, to_text(header.file_id)},
                     {predecessor_name, to_text(header.predecessor)}});
}

void read_identity(const Handle& file, const std::filesystem::path& path, FileHeader& header) {
  const Handle root = open_group(file, "/");
  const auto version = read_integer(root, version_name);
  if (read_text(root, mark_name, 64) != mark_value || !version)
    throw RunError(path.string() + " is an HDF5 file, but not a wallheat result file");
  if (*version != format_version)
    throw RunError(path.string() + " has format version " + std::to_string(*version) +
                   ", but this build of wallheat reads only version " +
                   std::to_string(format_version) +
                   "; use the version that wrote it, or solve again into another file");
  header.file_id = read_id(root, id_name);
  header.predecessor = read_id(root, predecessor_name);
  if (header.file_id == 0) throw Hdf5Error("cannot read its file_id");
}

}  // namespace wallheat::store
