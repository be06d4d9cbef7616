#include "store/results/recovery.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "store/results/chunk.hpp"
#include "store/results/log_choice.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {
namespace {

bool same(const Row& a, const Row& b) { return std::memcmp(&a, &b, sizeof(Row)) == 0; }

/// The rows and fields of an open file on their way to what `contents` says.
class Mending {
 public:
  Mending(const Handle& file, const std::filesystem::path& path, Contents& contents)
      : contents_(contents), rows_(file), fields_(file), raw_(path, O_RDONLY) {
    if (rows_.count() != contents.rows.size()) {
      throw Hdf5Error("cannot mend the file: its number of rows is another");
    }
  }

  /// Returns the rows that were damaged.
  std::vector<std::size_t> mend_rows() {
    std::vector<std::size_t> damaged;
    const auto in_file = rows_.read_all();
    for (std::size_t i = 0; i < in_file.size(); ++i) {
      if (same(in_file[i], contents_.rows[i]) || adopt(contents_, i, in_file[i], fields_, raw_))
        continue;
      if (!is_intact(in_file[i])) damaged.push_back(i);
      rows_.write(i, std::span(&contents_.rows[i], 1));
    }
    return damaged;
  }

  void mend_field(std::size_t i, bool unproven) {
    const auto& row = contents_.rows[i];
    auto& address = contents_.addresses[i];
    const auto place = fields_.find(shape_of(row), row.field_slot);
    if (place && place->bytes == row.field_bytes) {
      if (place->address == address && !unproven) return;
      if (read_chunk(raw_, place->address, row, chunk_)) {
        address = place->address;
        return;
      }
    }
    if (!read_chunk(raw_, address, row, chunk_)) {
      throw Hdf5Error("cannot find the field of plan " + id_of(row));
    }
    address = fields_.write(shape_of(row), row.field_slot, chunk_).address;
  }

 private:
  Contents& contents_;
  RowTable rows_;
  FieldTables fields_;
  PosixFile raw_;
  std::vector<std::byte> chunk_;
};

[[noreturn]] void differs(const std::string& what) {
  throw Hdf5Error("cannot trust the file: " + what + " not what was stored");
}

/// Sessions that a damaged log lost are still in the file.
void take_over_sessions(const Handle& file, std::vector<Attributes>& sessions) {
  const auto in_file = read_sessions(file);
  sessions.resize(std::max(sessions.size(), in_file.size()));
  for (std::size_t i = 0; i < in_file.size(); ++i) {
    if (sessions[i].empty()) sessions[i] = in_file[i];
  }
}

bool names(const std::vector<std::string>& ids, const std::vector<Row>& rows) {
  return std::equal(ids.begin(), ids.end(), rows.begin(), rows.end(),
                    [](const std::string& id, const Row& row) { return id == id_of(row); });
}

/// Rows that are pending by now were reported as lost.
void report_rebuilt(const std::vector<std::size_t>& rows, const Contents& contents,
                    Findings& findings) {
  std::vector<std::string> ids;
  for (const auto i : rows) {
    if (status_of(contents.rows[i]) != PlanStatus::pending) ids.push_back(id_of(contents.rows[i]));
  }
  if (ids.empty()) return;
  findings.sentences.push_back(count_were(ids.size(), "row") +
                               " damaged and rebuilt from the log: " + few_of(ids));
}

}  // namespace

bool says_more_than_log(const Row& in_file, const Row& logged) {
  return status_of(logged) == PlanStatus::pending
             ? status_of(in_file) != PlanStatus::pending
             : is_answer(status_of(in_file)) && !is_answer(status_of(logged));
}

bool adopt(Contents& contents, std::size_t i, const Row& row, FieldTables& fields,
           const PosixFile& raw) {
  if (!says_more_than_log(row, contents.rows[i]) || !is_intact(row) || row.index != i ||
      row.id != contents.rows[i].id) {
    return false;
  }
  Address address = -1;
  if (has_field(row)) {
    if (!contents.capacities.contains(shape_of(row))) return false;
    const auto place = fields.find(shape_of(row), row.field_slot);
    std::vector<std::byte> chunk;
    if (!place || !read_chunk(raw, place->address, row, chunk)) return false;
    address = place->address;
  }
  contents.rows[i] = row;
  contents.addresses[i] = address;
  return true;
}

std::vector<std::size_t> bring_up_to_date(const std::filesystem::path& path, Access access,
                                          Contents& contents,
                                          const std::vector<std::size_t>& unproven) {
  auto file = open_file(path, access);
  std::vector<std::size_t> rebuilt;
  try {
    if (read_identity(file, path) != contents.file_id) refuse_pair(path, strangers);
    take_over_sessions(file, contents.sessions);
    write_sessions(file, contents.sessions);
    if (const auto ids = read_ids(file, contents.rows.size());
        !ids || !names(*ids, contents.rows)) {
      write_ids(file, contents.rows);
    }
    {
      Mending mending(file, path, contents);
      rebuilt = mending.mend_rows();
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
  return rebuilt;
}

void require_equal(const std::filesystem::path& path, const Contents& contents,
                   const std::vector<std::size_t>& unproven) {
  Findings complaints;
  const auto found = load(path, Access::read, Addresses::find, complaints);
  if (!complaints.sentences.empty()) differs("rows are");
  if (found.settings != contents.settings) differs("the settings are");
  if (found.sessions != contents.sessions) differs("the sessions are");
  if (found.capacities != contents.capacities) differs("the room for fields is");
  if (!std::equal(found.rows.begin(), found.rows.end(), contents.rows.begin(), contents.rows.end(),
                  same)) {
    differs("rows are");
  }
  if (found.addresses != contents.addresses) differs("the places of fields are");
  const PosixFile raw(path, O_RDONLY);
  std::vector<std::byte> chunk;
  for (const auto i : unproven) {
    if (has_field(contents.rows[i]) &&
        !read_chunk(raw, contents.addresses[i], contents.rows[i], chunk)) {
      differs("the field of plan " + id_of(contents.rows[i]) + " is");
    }
  }
}

void recover(const std::filesystem::path& path, Contents& contents,
             const std::vector<std::size_t>& unproven, Findings& findings) {
  std::string cause = "it is missing";
  if (const auto state = peek(path); state == FileState::foreign) {
    cause = "it does not begin like an HDF5 file";
  } else if (state != FileState::missing) {
    // Mending works on a copy: a failed attempt must not blur what the log says.
    auto mended = contents;
    try {
      const auto rebuilt = bring_up_to_date(path, Access::take_up, mended, unproven);
      require_equal(path, mended, unproven);
      contents = std::move(mended);
      report_rebuilt(rebuilt, contents, findings);
      return;
    } catch (const Hdf5Error& error) {
      cause = error.what();
    }
  }
  const auto lost = build(path, contents);
  findings.sentences.push_back("the file could not be mended (" + cause +
                               ") and was rebuilt from its log");
  findings.add_lost("field", "lost with it", lost, contents);
}

}  // namespace wallheat::store
