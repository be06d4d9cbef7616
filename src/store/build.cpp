#include <fcntl.h>

#include "store/checksum.hpp"
#include "store/posix_file.hpp"
#include "store/recovery.hpp"

namespace wallheat::store {
namespace {

/// Copies the fields from the old file, numbering the slots of each shape anew. Returns how many
/// were lost.
std::size_t copy_fields(const std::filesystem::path& old, FieldTables& fields, Contents& contents) {
  std::optional<PosixFile> source;
  if (std::filesystem::exists(old)) source.emplace(old, O_RDONLY);
  std::map<GridShape, std::int64_t> next_slot;
  std::vector<std::byte> chunk;
  std::size_t lost = 0;
  for (std::size_t i = 0; i < contents.rows.size(); ++i) {
    auto& row = contents.rows[i];
    if (!has_field(row)) continue;
    const auto from = contents.addresses[i];
    const bool plausible = source && from >= 0 && row.field_bytes > 0 &&
                           static_cast<std::uint64_t>(row.field_bytes) <= source->size();
    chunk.resize(plausible ? static_cast<std::size_t>(row.field_bytes) : 0);
    if (!plausible || !source->read_at(static_cast<std::uint64_t>(from), chunk) ||
        crc32_of(chunk) != row.field_crc32) {
      forget_row(contents, i);
      ++lost;
      continue;
    }
    row.field_slot = next_slot[shape_of(row)]++;
    seal(row);
    contents.addresses[i] = fields.write(shape_of(row), row.field_slot, chunk).address;
  }
  return lost;
}

}  // namespace

std::size_t build(const std::filesystem::path& path, Contents& contents) {
  auto temporary = path;
  temporary += ".new";
  // The old log's addresses are wrong for the new file; the new id keeps the two apart.
  contents.file_id = new_file_id();
  std::size_t lost = 0;
  auto file = create_file(temporary);
  try {
    write_identity(file, contents.file_id);
    write_attributes(file, "/settings", contents.settings);
    write_sessions(file, contents.sessions);
    if (contents.save_fields) {
      FieldTables::create(file, contents.capacities);
      FieldTables fields(file);
      lost = copy_fields(path, fields, contents);
    }
    RowTable::create(file, contents.rows.size());
    RowTable(file).write(0, contents.rows);
    file.close("close " + temporary.string());
  } catch (...) {
    file.leak();
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
  sync_file(temporary);
  rename_durably(temporary, path);
  return lost;
}

}  // namespace wallheat::store
