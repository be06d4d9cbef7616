// Reads, resumes, repairs and merges a result file. An input is a byte that selects the operation,
// the file, and its journal if the writer was killed. Damage must be detected: a reported result
// must be the stored one. A forged input, that is, one changed together with its checksum, may have
// any content, but must not cause a crash.

#include "support/results.hpp"

#include <unistd.h>

#include <algorithm>

#include "io/deflate.hpp"
#include "io/files.hpp"
#include "store/journal.hpp"
#include "store/merge.hpp"
#include "store/repair.hpp"
#include "store/result_file_names.hpp"
#include "target.hpp"
#include "wallheat/error.hpp"

namespace wallheat::fuzz {
namespace {

namespace fs = std::filesystem;

const TestPlan campaign = make_plan_with_rooms(6, {{6, 7}, {3, 3}});
constexpr std::size_t stored = 5;  // number of plans with results; the last one is pending

enum class Step { read, resume, repair, merge };
constexpr unsigned steps = 4;

/// Returns an undamaged shard file with the results that the input lacks.
const fs::path& other_part() {
  static const auto made = [] {
    auto path = directory() / "other.h5";
    ResultStore store({path, OpenMode::overwrite}, campaign, {{"host", "other"}});
    store.store(make_results(campaign, stored, campaign.ids.size()));
    store.close({});
    return path;
  }();
  return made;
}

void seal_row_at(std::string& bytes, std::size_t at) {
  store::ResultRow row;
  if (at > bytes.size() || bytes.size() - at < sizeof row) return;
  std::memcpy(&row, bytes.data() + at, sizeof row);
  store::update_checksum(row);
  std::memcpy(bytes.data() + at, &row, sizeof row);
}

/// Updates the checksums of the consecutive rows that start at plan 1.
void seal_file(std::string& bytes) {
  const std::size_t begin = row_at(bytes, campaign, 1);
  if (begin == std::string::npos) return;
  for (std::size_t i = 0; i < stored; ++i) seal_row_at(bytes, begin + i * sizeof(store::ResultRow));
}

/// Updates the checksums of the consecutive journal records.
void seal_journal(std::string& bytes) {
  constexpr std::size_t head_bytes = 40, before_checksum = 36;
  const auto number_at = [&](std::size_t at) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
  };
  for (std::size_t at = 0; at + head_bytes <= bytes.size();) {
    const std::uint64_t payload_bytes = number_at(at + 16);
    const std::uint64_t field_bytes = number_at(at + 24);
    const std::size_t payload = at + head_bytes;
    if (payload_bytes > bytes.size() - payload) return;
    if (payload_bytes >= sizeof(store::ResultRow)) seal_row_at(bytes, payload);
    const auto of_head = crc32_of(bytes_of(bytes).subspan(at, before_checksum));
    const auto checksum = crc32_of(bytes_of(bytes).subspan(payload, payload_bytes), of_head);
    std::memcpy(bytes.data() + at + before_checksum, &checksum, sizeof checksum);
    at = payload + payload_bytes;
    if (field_bytes > bytes.size() - at) return;
    at += field_bytes;
  }
}

/// Checks that the file reports the stored results, or fails.
void require_sound(const fs::path& path, bool is_forged) {
  const ResultReader reader(path);
  const auto& rows = reader.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    require(rows[i].index == i, "a row with the index of another one");
    std::optional<Grid<double>> field;
    const bool is_readable = accepts<RunError>([&] { field = reader.field(i); });
    std::vector<RoomResult> rooms;
    const bool has_rooms = accepts<RunError>([&] { rooms = rooms_in(reader, i); });
    if (is_forged || rows[i].status == PlanStatus::pending) continue;
    require(i < campaign.ids.size(), "an unknown plan");
    const PlanResult expected = make_result(campaign, i);
    require(same(rows[i], expected), "a row that differs from the stored one");
    require(!has_rooms || rooms == expected.rooms, "rooms that differ from the stored ones");
    if (!is_readable) continue;
    require(field.has_value(), "a result without its field");
    require(*field == field_of(campaign, i), "a field that differs from the stored one");
  }
}

/// Calls require_sound for a file that must be compacted.
void require_compacted(const fs::path& path, bool is_forged) {
  require(ResultReader(path).is_compacted(), "a file that is not compacted");
  require_sound(path, is_forged);
}

void take(Step step, const fs::path& path, bool is_forged) {
  switch (step) {
    case Step::read:
      return require_sound(path, is_forged);
    case Step::resume: {
      ResultStore store({path, OpenMode::resume}, campaign, {{"host", "second"}});
      store.store(make_results(campaign, stored, stored + 1));
      store.close({});
      return require_compacted(path, is_forged);
    }
    case Step::repair:
      (void)repair_results(path);
      require_compacted(path, is_forged);
      require(is_forged || !repair_results(path).changed,
              "a repaired file that needs another repair");
      return;
    case Step::merge: {
      const auto out = path.parent_path() / "merged.h5";
      if (merge_results(out, {path, other_part()}, {true, true}).written)
        require_compacted(out, is_forged);
    }
  }
}

/// Closes the files that were opened during its lifetime. After a failed write the store leaves its
/// HDF5 handles open, as the process should end; this process continues, and would run out of
/// descriptors. (HDF5 identifies a file by its inode, and a tmpfs does not reuse inodes.)
class OpenedFiles {
 public:
  OpenedFiles() : first_(::dup(STDERR_FILENO)) { ::close(first_); }
  ~OpenedFiles() { ::close_range(static_cast<unsigned>(first_), ~0U, 0); }
  OpenedFiles(const OpenedFiles&) = delete;
  OpenedFiles& operator=(const OpenedFiles&) = delete;

 private:
  int first_;
};

/// A compacted file and that of a killed writer, with each operation, damaged and forged.
std::vector<std::string> results_seeds() {
  const auto path = directory() / "original.h5";
  ResultStore store({path, OpenMode::overwrite}, campaign, {{"host", "node"}});
  store.store(make_results(campaign, 0, 3));
  store.store(make_results(campaign, 3, stored));
  const std::string file = read_bytes(path);
  const std::string journal = read_bytes(journal_path(path, 0));
  store.close({{"end", "well"}});
  const std::string whole = read_bytes(path);
  std::vector<std::string> inputs;
  for (char what = 0; what < static_cast<char>(2 * steps); ++what) {
    const auto add = [&](const std::string& h5, const std::string& wal) {
      inputs.push_back(what + joined(h5, wal));
    };
    const auto changed = [](std::string bytes, std::size_t at, std::size_t count, char with) {
      return bytes.replace(at, count, count, with);
    };
    const auto row = row_at(file, campaign, 1);
    add(whole, "");
    add(file, journal);
    add(whole.substr(0, whole.size() / 2), "");
    add(file, journal.substr(0, journal.size() - 300));
    add(changed(file, row + 200, 1, 'x'), changed(journal, journal.size() / 2, 1, 'x'));
    add(changed(whole, row_at(whole, campaign, 1) + 200, 1, 'x'), "");
    for (const std::size_t in_row :
         {offsetof(store::ResultRow, field_bytes), offsetof(store::ResultRow, rows)})
      add(changed(file, row + in_row, 4, '\x7f'), changed(journal, 40 + in_row, 4, '\x7f'));
    for (const std::size_t at : {32, 300})  // the record type; within a row
      add(file, changed(journal, at, 1, '\3'));
    add(file, std::string(journal).insert(60, 200, 'P'));  // longer than its header states
  }
  return inputs;
}

void read_results(std::string_view input) {
  if (input.empty()) return;
  const auto what = static_cast<unsigned char>(input[0]) % (2 * steps);
  const bool is_forged = what >= steps;
  auto [file, journal] = split(input.substr(1));
  if (is_forged) {
    seal_file(file);
    seal_journal(journal);
  }
  (void)other_part();
  const OpenedFiles opened;
  const auto folder = directory() / "odd";
  fs::remove_all(folder);
  fs::create_directory(folder);
  const auto path = folder / "results.h5";
  write_bytes(path, file);
  if (!journal.empty()) write_bytes(journal_path(path, 0), journal);
  accepts<RunError>([&] { take(static_cast<Step>(what % steps), path, is_forged); });
}

}  // namespace

const Target results{"results", 1'500, results_seeds, read_results};

}  // namespace wallheat::fuzz
