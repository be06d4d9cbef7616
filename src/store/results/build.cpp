#include <fcntl.h>

#include <algorithm>
#include <numeric>

#include "store/results/chunk.hpp"
#include "store/results/recovery.hpp"
#include "store/results/write_ahead_log.hpp"

namespace wallheat::store {
namespace {

/// Gives every field a slot of its shape, in the order of the rows, and copies it there. Returns
/// the rows whose field is lost.
std::vector<std::size_t> copy_fields(const FieldSource& source, FieldTables& fields,
                                     Contents& contents) {
  std::map<GridShape, std::int64_t> next_slot;
  for (auto& row : contents.rows) {
    if (!has_field(row)) continue;
    row.field_slot = next_slot[shape_of(row)]++;
    seal(row);
  }
  std::vector<std::size_t> lost;
  std::vector<std::byte> chunk;
  for (const auto i : source.order) {
    const auto& row = contents.rows[i];
    if (!has_field(row)) continue;
    if (source.read(i, chunk)) {
      contents.addresses[i] = fields.write(shape_of(row), row.field_slot, chunk).address;
    } else {
      forget_row(contents, i);
      lost.push_back(i);
    }
  }
  return lost;
}

/// Notes a file that `contents` takes the place of.
void succeed(Contents& contents, const std::string& file_id) {
  constexpr std::size_t most = 64;  // so that they fit into an attribute
  auto& ids = contents.succeeds;
  if (file_id.empty() || std::find(ids.begin(), ids.end(), file_id) != ids.end()) return;
  if (ids.size() == most) ids.erase(ids.begin());
  ids.push_back(file_id);
}

}  // namespace

std::vector<std::size_t> build(const std::filesystem::path& path, Contents& contents,
                               const FieldSource& source) {
  const auto temporary = temporary_path(path);
  // The old log's addresses are wrong for the new file; the new id keeps the two apart.
  succeed(contents, contents.file_id);
  succeed(contents, logged_file_id(path));
  contents.file_id = new_file_id();
  std::vector<std::size_t> lost;
  remove_durably(temporary);
  auto file = create_file(temporary);
  try {
    take_rights_of(path, temporary, descriptor_of(file));
    write_identity(file, contents);
    write_attributes(file, "/settings", contents.settings);
    write_sessions(file, contents.sessions);
    if (contents.save_fields) {
      FieldTables::create(file, contents.capacities);
      FieldTables fields(file);
      lost = copy_fields(source, fields, contents);
    }
    write_ids(file, contents.rows);
    RowTable::create(file, contents.rows.size());
    RowTable(file).write(0, contents.rows);
    file.close("close " + temporary.string());
    sync_file(temporary);
    rename_durably(temporary, path);
  } catch (...) {
    file.leak();
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
  return lost;
}

std::vector<std::size_t> build(const std::filesystem::path& path, Contents& contents) {
  std::optional<PosixFile> old;
  if (std::filesystem::exists(path)) old.emplace(path, O_RDONLY);
  const auto addresses = contents.addresses;
  FieldSource source;
  source.order.resize(contents.rows.size());
  std::iota(source.order.begin(), source.order.end(), std::size_t{0});
  source.read = [&](std::size_t i, std::vector<std::byte>& chunk) {
    return old && read_chunk(*old, addresses[i], contents.rows[i], chunk);
  };
  return build(path, contents, source);
}

}  // namespace wallheat::store
