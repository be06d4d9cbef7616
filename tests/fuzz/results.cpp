// A result file as it is read, resumed, repaired and merged. An input's first byte chooses the file
// (a whole one, or one with its journal as a kill leaves it) and what is done with it; then come
// patches of four bytes: what is changed, 16 bits of where, a value. Damage must be found: whatever
// is reported as a result has to be the one that was stored. A forged row, one that was changed
// together with its checksum, may say anything, but must not lead to a crash.

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "io/file_names.hpp"
#include "plans.hpp"
#include "store/merge.hpp"
#include "store/repair.hpp"
#include "support/odd_hdf5.hpp"
#include "target.hpp"
#include "wallheat/error.hpp"

namespace wallheat::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t stored = 5;  // of the campaign's plans; the last one is pending

enum class Step { read, resume, repair, merge };
constexpr std::size_t steps = 4;

struct Files {
  std::string file, journal;
  bool forged = false;
};

/// Whole, and killed.
const std::array<Files, 2>& originals() {
  static const auto made = [] {
    std::array<Files, 2> files;
    const auto path = directory() / "original.h5";
    auto store = ResultStore::create(path, campaign(), {{"host", "node"}}, true);
    store.store(known_results(0, 3));
    store.store(known_results(3, stored));
    files[1] = {read_file(path), read_file(journal_path(path, 0))};
    store.close({{"end", "well"}});
    files[0] = {read_file(path), {}};
    return files;
  }();
  return made;
}

/// A sound part to merge with, which has what the others lack.
const fs::path& other_part() {
  static const auto made = [] {
    auto path = directory() / "other.h5";
    auto store = ResultStore::create(path, campaign(), {{"host", "other"}}, true);
    store.store(known_results(stored, campaign().ids.size()));
    store.close({});
    return path;
  }();
  return made;
}

/// Changes a byte of a plan's row in the file, with a sound checksum. (journal.cpp does the same to
/// journals.)
void forge(Files& files, std::size_t index, std::size_t at, unsigned value) {
  using store::Row;
  const auto known = store::to_row(known_result(index));
  const std::string begin(reinterpret_cast<const char*>(&known),
                          sizeof known.index + sizeof known.status + sizeof known.id);
  const auto found = files.file.find(begin);
  if (found == std::string::npos || found + sizeof(Row) > files.file.size()) return;
  Row row;
  std::memcpy(&row, files.file.data() + found, sizeof row);
  reinterpret_cast<unsigned char*>(&row)[at % offsetof(Row, row_crc32)] ^=
      static_cast<unsigned char>(value);
  store::seal(row);
  std::memcpy(files.file.data() + found, &row, sizeof row);
  files.forged = true;
}

/// Puts something else under a name that wallheat looks for.
void make_odd(Files& files, std::size_t place, unsigned form) {
  static constexpr std::array<odd::Place, 13> places{{{"/", "wallheat"},
                                                      {"/", "format_version"},
                                                      {"/", "file_id"},
                                                      {"/", "layer_names"},
                                                      {"/settings", "solver"},
                                                      {"/sessions/0", "host"},
                                                      {"/", "predecessor"},
                                                      {"/rows", nullptr},
                                                      {"/rooms", nullptr},
                                                      {"/settings", nullptr},
                                                      {"/sessions/0", nullptr},
                                                      {"/sessions", nullptr},
                                                      {"/fields", nullptr}}};
  const auto path = directory() / "odd.h5";
  fs::remove(path);
  write_file(path, files.file);
  // Not where the file was damaged before.
  if (!accepts<store::Hdf5Error>(
          [&] { odd::make_odd(path, places[place % places.size()], form, other_part()); })) {
    return;
  }
  files.file = read_file(path);
  files.forged = true;
}

void change(Files& files, const Patch& patch) {
  switch (const unsigned what = patch.what % 11) {
    case 8:
      return forge(files, patch.value % stored, patch.at, 1U << (patch.value / stored % 8));
    case 9:
      return make_odd(files, patch.at, patch.value);
    case 10:
      return files.journal.clear();
    default:
      return damage(what % 2 == 0 ? files.file : files.journal, what / 2, patch);
  }
}

/// Whatever the file reports is what was stored, or it refuses.
void require_sound(const fs::path& path, bool forged) {
  const ResultReader reader(path);
  const auto& rows = reader.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::optional<Grid<double>> field;
    const bool readable = accepts<RunError>([&] { field = reader.field(i); });
    std::vector<RoomResult> rooms;
    const bool has_rooms = accepts<RunError>([&] { rooms = reader.rooms(i); });
    if (forged || rows[i].status == PlanStatus::pending) continue;
    require(i < campaign().ids.size(), "a plan that there never was");
    require(same(rows[i], known_result(i)), "a row that was not stored as sound");
    for (RoomResult& room : rooms) room.plan = room.room_crc32 = 0;
    require(!has_rooms || rooms == known_result(i).rooms, "rooms that were not stored as sound");
    if (!readable) continue;
    require(field.has_value() == is_answer(rows[i].status), "a result without its field");
    if (field) require(*field == known_field(i), "a field that was not stored as sound");
  }
}

/// As require_sound, of a file that was just made whole.
void require_whole(const fs::path& path, bool forged) {
  require(ResultReader(path).is_whole(), "a file that was made whole and is not");
  require_sound(path, forged);
}

void take(Step step, const fs::path& path, bool forged) {
  switch (step) {
    case Step::read:
      return require_sound(path, forged);
    case Step::resume: {
      auto store = ResultStore::resume(path, campaign(), {{"host", "second"}});
      for (const auto& row : store.restored()) {
        require(forged || row.status == PlanStatus::pending || same(row, known_result(row.index)),
                "a row that was not stored, restored");
      }
      store.store(known_results(stored, stored + 1));
      store.close({});
      return require_whole(path, forged);
    }
    case Step::repair:
      (void)repair_results(path);
      require_whole(path, forged);
      require(forged || !repair_results(path).changed, "a repaired file that needs repair");
      return;
    case Step::merge: {
      const auto out = path.parent_path() / "merged.h5";
      if (merge_results(out, {path, other_part()}, {true, true}).written) {
        require_whole(out, forged);
      }
      return;
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

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> inputs;
  for (std::size_t choice = 0; choice < originals().size() * steps; ++choice) {
    const auto& [file, journal, forged] = originals()[choice % 2];
    const auto with = [&](std::initializer_list<Patch> patches) {
      inputs.push_back(std::string(1, static_cast<char>(choice)) + as_bytes(patches));
    };
    const auto row = file.find(campaign().ids[1]);
    with({});
    with({{0, row + 200, 4}});
    with({{1, journal.size() / 2, 1}, {0, row + 200, 4}});
    with({{2, file.size() / 2, 0}});
    with({{3, journal.size() - 300, 0}, {4, row - 8, 0}});
    with({{6, file.size() - 1, 200}, {5, 40, 255}});
    with({{8, offsetof(store::Row, field_bytes) + 7, 1}, {8, offsetof(store::Row, rows) + 3, 2}});
    with({{9, 3, 8}});  // an array where one text was expected
    with({{9, 1, 9}});
    with({{9, 6, 9}, {9, 7, 0}});
    with({{10, 0, 0}});
  }
  return inputs;
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat;
  using namespace wallheat::fuzz;
  if (size == 0) return 0;
  auto files = originals()[data[0] % 2];
  (void)other_part();
  for (const Patch& patch : patches_in(text_of(data, size).substr(1), 32)) change(files, patch);
  const OpenedFiles opened;
  const auto place = directory() / "patched";
  fs::remove_all(place);
  fs::create_directory(place);
  const auto path = place / "results.h5";
  write_file(path, files.file);
  if (!files.journal.empty()) write_file(journal_path(path, 0), files.journal);
  const auto step = static_cast<Step>(data[0] / 2 % steps);
  accepts<RunError>([&] { take(step, path, files.forged); });
  return 0;
}
