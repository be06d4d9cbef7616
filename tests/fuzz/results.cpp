// A result file as it is read, resumed, repaired and merged. An input's first byte chooses the file
// (a whole one, or one with its journal as a kill leaves it) and what is done with it; then come
// patches. Damage must be found: whatever is reported as a result has to be the one that was
// stored. What was forged, that is, changed together with its checksum, may say anything, but must
// not lead to a crash.

#include "support/results.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "io/deflate.hpp"
#include "io/files.hpp"
#include "store/journal.hpp"
#include "store/merge.hpp"
#include "store/repair.hpp"
#include "target.hpp"
#include "wallheat/error.hpp"

namespace wallheat::fuzz {
namespace {

namespace fs = std::filesystem;

const TestPlan campaign = make_plan_with_rooms(6, {{6, 7}, {3, 3}});
constexpr std::size_t stored = 5;  // of the plans; the last one is pending

enum class Step { read, resume, repair, merge };
constexpr std::size_t steps = 4;

struct Files {
  std::string file, journal;
  bool is_forged = false;
};

/// Whole, and killed.
const std::array<Files, 2>& originals() {
  static const auto made = [] {
    std::array<Files, 2> files;
    const auto path = directory() / "original.h5";
    auto store = ResultStore::create(path, campaign, {{"host", "node"}}, true);
    store.store(make_results(campaign, 0, 3));
    store.store(make_results(campaign, 3, stored));
    files[1] = {read_bytes(path), read_bytes(journal_path(path, 0))};
    store.close({{"end", "well"}});
    files[0] = {read_bytes(path), {}};
    return files;
  }();
  return made;
}

/// A sound part to merge with, which has what the others lack.
const fs::path& other_part() {
  static const auto made = [] {
    auto path = directory() / "other.h5";
    auto store = ResultStore::create(path, campaign, {{"host", "other"}}, true);
    store.store(make_results(campaign, stored, campaign.ids.size()));
    store.close({});
    return path;
  }();
  return made;
}

void seal_row_at(std::string& bytes, std::size_t at) {
  store::Row row;
  std::memcpy(&row, bytes.data() + at, sizeof row);
  store::seal(row);
  std::memcpy(bytes.data() + at, &row, sizeof row);
}

/// Changes a byte of a plan's row in the file.
void forge_row(Files& files, std::size_t index, std::size_t at, unsigned value) {
  const auto found = row_at(files.file, campaign, index);
  if (found == std::string::npos || found + sizeof(store::Row) > files.file.size()) return;
  char& byte = files.file[found + at % offsetof(store::Row, row_crc32)];
  byte = static_cast<char>(byte ^ value);
  seal_row_at(files.file, found);
  files.is_forged = true;
}

/// Gives the journal's records, as far as they follow each other, the checksums of what they hold.
void seal_journal(Files& files) {
  constexpr std::size_t head_bytes = 40, before_checksum = 36;
  std::string& bytes = files.journal;
  const auto number_at = [&](std::size_t at) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
  };
  files.is_forged = true;
  for (std::size_t at = 0; at + head_bytes <= bytes.size();) {
    const std::uint64_t payload_bytes = number_at(at + 16);
    const std::uint64_t field_bytes = number_at(at + 24);
    const std::size_t payload = at + head_bytes;
    if (payload_bytes > bytes.size() - payload) return;
    if (payload_bytes >= sizeof(store::Row)) seal_row_at(bytes, payload);
    const auto of_head = crc32_of(bytes_of(bytes).subspan(at, before_checksum));
    const auto checksum = crc32_of(bytes_of(bytes).subspan(payload, payload_bytes), of_head);
    std::memcpy(bytes.data() + at + before_checksum, &checksum, sizeof checksum);
    at = payload + payload_bytes;
    if (field_bytes > bytes.size() - at) return;
    at += field_bytes;
  }
}

void change(Files& files, const Patch& patch) {
  switch (const unsigned what = patch.what % 11) {
    case 8:
      return forge_row(files, patch.value % stored, patch.at, 1U << (patch.value / stored % 8));
    case 9:
      return seal_journal(files);
    case 10:
      return files.journal.clear();
    default:
      return damage(what % 2 == 0 ? files.file : files.journal, what / 2, patch);
  }
}

/// Whatever the file reports is what was stored, or it refuses.
void require_sound(const fs::path& path, bool is_forged) {
  const ResultReader reader(path);
  const auto& rows = reader.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    require(rows[i].index == i, "a row in another's place");
    std::optional<Grid<double>> field;
    const bool is_readable = accepts<RunError>([&] { field = reader.field(i); });
    std::vector<RoomResult> rooms;
    const bool has_rooms = accepts<RunError>([&] { rooms = rooms_in(reader, i); });
    if (is_forged || rows[i].status == PlanStatus::pending) continue;
    require(i < campaign.ids.size(), "a plan that there never was");
    const PlanResult expected = make_result(campaign, i);
    require(same(rows[i], expected), "a row that was not stored as sound");
    require(!has_rooms || rooms == expected.rooms, "rooms that were not stored as sound");
    if (!is_readable) continue;
    require(field.has_value(), "a result without its field");
    require(*field == field_of(campaign, i), "a field that was not stored as sound");
  }
}

/// As require_sound, of a file that was just made whole.
void require_whole(const fs::path& path, bool is_forged) {
  require(ResultReader(path).is_whole(), "a file that was made whole and is not");
  require_sound(path, is_forged);
}

void take(Step step, const fs::path& path, bool is_forged) {
  switch (step) {
    case Step::read:
      return require_sound(path, is_forged);
    case Step::resume: {
      auto store = ResultStore::resume(path, campaign, {{"host", "second"}});
      store.for_each_restored([&](const PlanResult& row) {
        require(is_forged || row.status == PlanStatus::pending ||
                    same(row, make_result(campaign, row.index)),
                "a row that was not stored, restored");
      });
      store.store(make_results(campaign, stored, stored + 1));
      store.close({});
      return require_whole(path, is_forged);
    }
    case Step::repair:
      (void)repair_results(path);
      require_whole(path, is_forged);
      require(is_forged || !repair_results(path).changed, "a repaired file that needs repair");
      return;
    case Step::merge: {
      const auto out = path.parent_path() / "merged.h5";
      if (merge_results(out, {path, other_part()}, {true, true}).written)
        require_whole(out, is_forged);
    }
  }
}

/// After a failed write the store leaves its HDF5 handles open, as the process is to end. This one
/// goes on, and would run out of descriptors. (HDF5 knows a file by its inode, and on a tmpfs these
/// do not come back.)
class OpenedFiles {
 public:
  OpenedFiles() : first_(::dup(STDERR_FILENO)) { ::close(first_); }
  ~OpenedFiles() { ::close_range(static_cast<unsigned>(first_), ~0U, 0); }
  OpenedFiles(const OpenedFiles&) = delete;
  OpenedFiles& operator=(const OpenedFiles&) = delete;

 private:
  int first_;
};

std::vector<std::string> results_seeds() {
  std::vector<std::string> inputs;
  for (std::size_t choice = 0; choice < originals().size() * steps; ++choice) {
    const auto& [file, journal, is_forged] = originals()[choice % 2];
    const auto with = [&](std::initializer_list<Patch> patches) {
      inputs.push_back(std::string(1, static_cast<char>(choice)) + input_of(patches));
    };
    const auto row = row_at(file, campaign, 1);
    with({});
    with({{0, row + 200, 4}});
    with({{1, journal.size() / 2, 1}, {0, row + 200, 4}});
    with({{2, file.size() / 2, 0}});
    with({{3, journal.size() - 300, 0}, {4, row - 8, 0}});
    with({{6, file.size() - 1, 200}, {5, 40, 255}});
    with({{8, offsetof(store::Row, field_bytes) + 7, 1}, {8, offsetof(store::Row, rows) + 3, 2}});
    with({{1, 32, 3}, {9, 0, 0}});    // of another kind
    with({{1, 300, 3}, {9, 0, 0}});   // within the row
    with({{7, 60, 200}, {9, 0, 0}});  // longer than it says
    with({{10, 0, 0}});
  }
  return inputs;
}

void read_results(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input[0]);
  auto files = originals()[choice % 2];
  (void)other_part();
  for (const Patch& patch : patches_in(input.substr(1), 32)) change(files, patch);
  const OpenedFiles opened;
  const auto folder = directory() / "patched";
  fs::remove_all(folder);
  fs::create_directory(folder);
  const auto path = folder / "results.h5";
  write_bytes(path, files.file);
  if (!files.journal.empty()) write_bytes(journal_path(path, 0), files.journal);
  accepts<RunError>([&] { take(static_cast<Step>(choice / 2 % steps), path, files.is_forged); });
}

}  // namespace

const Target results{"results", 1'000, results_seeds, read_results};

}  // namespace wallheat::fuzz
