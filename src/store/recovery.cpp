#include "store/recovery.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "store/checksum.hpp"
#include "store/posix_file.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace {

bool same(const Row& a, const Row& b) { return std::memcmp(&a, &b, sizeof(Row)) == 0; }

/// A field's bytes where they are what the row says they are.
std::optional<std::vector<std::byte>> sound_chunk(const PosixFile& source, Address address,
                                                  const Row& row) {
  if (address < 0 || row.field_bytes <= 0) return std::nullopt;
  if (static_cast<std::uint64_t>(row.field_bytes) > source.size()) return std::nullopt;
  std::vector<std::byte> chunk(static_cast<std::size_t>(row.field_bytes));
  if (!source.read_at(static_cast<std::uint64_t>(address), chunk)) return std::nullopt;
  if (crc32_of(chunk) != row.field_crc32) return std::nullopt;
  return chunk;
}

/// The rows and fields of an open file on their way to what `contents` says.
class Mending {
 public:
  Mending(const Handle& file, const std::filesystem::path& path, Contents& contents)
      : contents_(contents), rows_(file), fields_(file), raw_(path, O_RDONLY) {
    if (rows_.count() != contents.rows.size()) {
      throw Hdf5Error("cannot mend the file: its number of rows is another");
    }
  }

  void mend_rows() {
    const auto in_file = rows_.read_all();
    for (std::size_t i = 0; i < in_file.size(); ++i) {
      if (same(in_file[i], contents_.rows[i]) || adopt(i, in_file[i])) continue;
      rows_.write(i, std::span(&contents_.rows[i], 1));
    }
  }

  void mend_field(std::size_t i, bool unproven) {
    const auto& row = contents_.rows[i];
    auto& address = contents_.addresses[i];
    const auto place = fields_.find(shape_of(row), row.field_slot);
    if (place && place->bytes == row.field_bytes) {
      if (place->address == address && !unproven) return;
      if (sound_chunk(raw_, place->address, row)) {
        address = place->address;
        return;
      }
    }
    const auto chunk = sound_chunk(raw_, address, row);
    if (!chunk) throw Hdf5Error("cannot find the field of plan " + id_of(row));
    address = fields_.write(shape_of(row), row.field_slot, *chunk).address;
  }

 private:
  /// A row reaches the HDF5 file only after the log, so a sound answer there that the log lacks was
  /// lost with a damaged part of the log, and holds.
  bool adopt(std::size_t i, const Row& row) {
    if (status_of(contents_.rows[i]) != PlanStatus::pending || !is_intact(row)) return false;
    if (status_of(row) == PlanStatus::pending || row.index != i || row.id != contents_.rows[i].id) {
      return false;
    }
    Address address = -1;
    if (has_field(row)) {
      if (!contents_.capacities.contains(shape_of(row))) return false;
      const auto place = fields_.find(shape_of(row), row.field_slot);
      if (!place || !sound_chunk(raw_, place->address, row)) return false;
      address = place->address;
    }
    contents_.rows[i] = row;
    contents_.addresses[i] = address;
    return true;
  }

  Contents& contents_;
  RowTable rows_;
  FieldTables fields_;
  PosixFile raw_;
};

[[noreturn]] void differs(const std::string& what) {
  throw Hdf5Error("cannot trust the file: " + what + " not what was stored");
}

}  // namespace

void bring_up_to_date(const std::filesystem::path& path, Access access, Contents& contents,
                      const std::vector<std::size_t>& unproven) {
  auto file = open_file(path, access);
  try {
    if (read_identity(file, path) != contents.file_id) {
      throw Hdf5Error("cannot mend the file: the log belongs to another");
    }
    write_sessions(file, contents.sessions);
    {
      Mending mending(file, path, contents);
      mending.mend_rows();
      std::vector<bool> check(contents.rows.size());
      for (const auto i : unproven) check[i] = true;
      for (std::size_t i = 0; i < contents.rows.size(); ++i) {
        if (has_field(contents.rows[i])) mending.mend_field(i, check[i]);
      }
    }
    file.close("close the file");
  } catch (...) {
    file.leak();
    throw;
  }
  sync_file(path);
}

void require_equal(const std::filesystem::path& path, const Contents& contents,
                   const std::vector<std::size_t>& unproven) {
  std::vector<std::string> complaints;
  const auto found = load(path, Access::read, Addresses::find, complaints);
  if (!complaints.empty()) differs("rows are");
  if (found.settings != contents.settings) differs("the settings are");
  if (found.sessions != contents.sessions) differs("the sessions are");
  if (found.capacities != contents.capacities) differs("the room for fields is");
  if (!std::equal(found.rows.begin(), found.rows.end(), contents.rows.begin(), contents.rows.end(),
                  same)) {
    differs("rows are");
  }
  if (found.addresses != contents.addresses) differs("the places of fields are");
  const PosixFile raw(path, O_RDONLY);
  for (const auto i : unproven) {
    if (has_field(contents.rows[i]) && !sound_chunk(raw, contents.addresses[i], contents.rows[i])) {
      differs("the field of plan " + id_of(contents.rows[i]) + " is");
    }
  }
}

void recover(const std::filesystem::path& path, Contents& contents,
             const std::vector<std::size_t>& unproven, std::vector<std::string>& report) {
  std::string cause = "it is missing";
  if (const auto state = peek(path); state == FileState::foreign) {
    cause = "it does not begin like an HDF5 file";
  } else if (state != FileState::missing) {
    // Mending works on a copy: a failed attempt must not blur what the log says.
    auto mended = contents;
    try {
      bring_up_to_date(path, Access::take_up, mended, unproven);
      require_equal(path, mended, unproven);
      contents = std::move(mended);
      return;
    } catch (const Hdf5Error& error) {
      cause = error.what();
    }
  }
  const auto lost = build(path, contents);
  report.push_back("the file could not be mended (" + cause + ") and was rebuilt from its log");
  if (lost > 0) {
    report.push_back(count_were(lost, "field") + " lost with it; the plans are solved again");
  }
}

}  // namespace wallheat::store
