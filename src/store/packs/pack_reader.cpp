#include <fcntl.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/bytes.hpp"
#include "io/checksum.hpp"
#include "store/packs/pack_file.hpp"
#include "store/packs/plan_pack.hpp"
#include "store/results/boundary.hpp"
#include "store/results/hdf5_file.hpp"
#include "store/results/result_path.hpp"
#include "store/results/row.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

FileStamp stamp_of(System& system, const PosixFile& file, const fs::path& path) {
  struct stat info {};
  if (system.fstat(file.fd(), &info) != 0) throw_system_error(path, "be examined", errno);
  return {info.st_size, std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

/// What check_values asks of all cells, asked of the few values that they have. (A value of the
/// table that no cell has may be anything.)
bool are_possible(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::abs(value) <= largest_value; });
}

/// HDF5 finds the plans; their bytes are read beside it, as it lets one thread in at a time.
class PlanPack final : public PlanSource {
 public:
  PlanPack(const StoreEnvironment& env, const fs::path& path)
      : path_(path),
        file_(env.system, result_path(path, env.system), O_RDONLY),
        stamp_(stamp_of(env.system, file_, path)) {
    const Handle file = open_file(env, path, Access::read);
    require_pack(file, path);
    read_pack_rows(
        file, file_.size(), [&](const PackRow& row) { ids_.push_back(take(row, entries_)); },
        [&](const PackRow& row) { (void)take(row, sources_); });
  }

  [[nodiscard]] fs::path path() const override { return path_; }

  [[nodiscard]] PlanIds ids() const override { return {ids_, {}, {}}; }

  [[nodiscard]] FloorPlan load(const std::string& id) const override {
    const Entry& entry = find(id);
    return read_of(path_, [&] { return decode_plan(id, entry); });
  }

  /// As 'wallheat pack' has found and checked it.
  [[nodiscard]] std::optional<std::uint64_t> stated_hash(const std::string& id) const override {
    return find(id).hash;
  }

  [[nodiscard]] Grid<std::uint8_t> interior(const std::string& id,
                                            std::size_t most_cells) const override {
    const Entry& entry = find(id);
    if (entry.shape.rows > most_cells / entry.shape.cols)
      throw InputError(path_.string() + ": plan " + id + " has more than " +
                       std::to_string(most_cells) + " cells");
    return read_of(path_, [&] { return decode_mask(id, entry); });
  }

  [[nodiscard]] GridShape shape(const std::string& id) const override { return find(id).shape; }

  /// Of the pack, which stands for each of a plan's files.
  [[nodiscard]] PlanStamps stamps(const std::string& id) const override {
    (void)find(id);
    return {stamp_, stamp_, sources_.contains(id) ? stamp_ : FileStamp{}};
  }

 private:
  struct Entry {
    GridShape shape;
    CodeKind kind = CodeKind::byte;
    std::uint32_t value_count = 0;
    std::uint32_t crc32 = 0;
    std::uint64_t hash = 0;
    std::uint64_t values_offset = 0;
    std::uint64_t codes_offset = 0, codes_bytes = 0;
    std::uint64_t interior_offset = 0, interior_bytes = 0;
    std::string reason;  ///< why the plan was left out; empty if it was not
  };
  struct Chunks {
    std::vector<double> values;
    std::vector<std::byte> codes, interior;
  };

  FloorPlan decode_plan(const std::string& id, const Entry& entry) const {
    try {
      const Chunks chunks = read(entry);
      FloorPlan plan{decode_field(id, entry, chunks),
                     decode_interior(entry.shape, chunks.interior)};
      if (const auto source = sources_.find(id); source != sources_.end()) {
        if (source->second.shape != entry.shape) refuse(id, "its source has another shape");
        plan.source = decode_field(id + ", source", source->second, read(source->second));
      }
      return plan;
    } catch (const DecodeError& error) {
      refuse(id, error.what());
    }
  }

  Grid<double> decode_field(const std::string& what, const Entry& entry,
                            const Chunks& chunks) const {
    auto field = decode_domain(entry.shape, entry.kind, chunks.values, chunks.codes);
    if (!are_possible(chunks.values) || entry.kind == CodeKind::value)
      check_values(field, path_.string() + ": plan " + what);
    return field;
  }

  Grid<std::uint8_t> decode_mask(const std::string& id, const Entry& entry) const {
    try {
      return decode_interior(entry.shape, read(entry).interior);
    } catch (const DecodeError& error) {
      refuse(id, error.what());
    }
  }

  using Entries = std::unordered_map<std::string, Entry>;

  /// Adds a row to some entries and returns its plan.
  static std::string take(const PackRow& row, Entries& entries) {
    const auto kind = static_cast<CodeKind>(row.code_bytes);
    const bool left_out = row.rows == 0;
    const bool possible =
        kind == CodeKind::byte || kind == CodeKind::word || kind == CodeKind::value;
    std::string id = get_text(row.id);
    if (!is_intact(row) || (!left_out && !possible) || row.value_count > 65536 || id.empty()) {
      throw Hdf5Error("cannot use the list of plans: entry " + std::to_string(entries.size()) +
                      " is damaged");
    }
    const bool is_new = entries
                            .emplace(id, Entry{{row.rows, row.cols},
                                               kind,
                                               row.value_count,
                                               row.crc32,
                                               row.input_hash,
                                               row.values_offset,
                                               row.codes_offset,
                                               row.codes_bytes,
                                               row.interior_offset,
                                               row.interior_bytes,
                                               left_out ? get_text(row.reason) : ""})
                            .second;
    if (!is_new) {
      throw Hdf5Error("cannot use the list of plans: entry " + std::to_string(entries.size()) +
                      " is damaged, as it names a plan again");
    }
    return id;
  }

  /// Throws InputError if there is no such plan.
  const Entry& find(const std::string& id) const {
    check_id(id);
    const auto found = entries_.find(id);
    if (found == entries_.end())
      throw InputError(path_.string() + ": there is no plan " + id + " in this pack");
    if (found->second.shape.rows == 0) {
      throw InputError(path_.string() + ": plan " + id +
                       " was left out of this pack: " + found->second.reason);
    }
    return found->second;
  }

  Chunks read(const Entry& entry) const {
    Chunks chunks;
    const std::uint64_t file_bytes = file_.size();
    // A wild size must not ask for memory. No stream is twice as long as what it holds.
    if (entry.codes_bytes > file_bytes || entry.interior_bytes > file_bytes)
      throw DecodeError("it is longer than the file");
    const std::uint64_t cells = std::uint64_t{entry.shape.rows} * entry.shape.cols;
    constexpr std::uint64_t least = 4096;
    if (entry.codes_bytes / 2 > cells * static_cast<std::uint64_t>(entry.kind) + least ||
        entry.interior_bytes / 2 > cells + least)
      throw DecodeError("it is longer than its shape allows");
    chunks.values.resize(entry.value_count);
    chunks.codes.resize(entry.codes_bytes);
    chunks.interior.resize(entry.interior_bytes);
    const auto values = std::as_writable_bytes(std::span(chunks.values));
    if (!file_.read_at(entry.values_offset, values) ||
        !file_.read_at(entry.codes_offset, chunks.codes) ||
        !file_.read_at(entry.interior_offset, chunks.interior)) {
      throw DecodeError("the file ends too early, or cannot be read there");
    }
    if (crc32_of(chunks.interior, crc32_of(chunks.codes, crc32_of(values))) != entry.crc32)
      throw DecodeError("its checksum does not match");
    return chunks;
  }

  [[noreturn]] void refuse(const std::string& id, const std::string& why) const {
    throw InputError(path_.string() + ": plan " + id + " is damaged (" + why +
                     "); pack the plans anew");
  }

  fs::path path_;
  PosixFile file_;
  FileStamp stamp_;
  std::vector<std::string> ids_;
  Entries entries_;
  Entries sources_;  ///< what their start fields are said to be
};

}  // namespace

SharedPlanSource open_plan_source(const fs::path& path, const StoreEnvironment& env) {
  if (is_directory(env.system, path)) return directory_source(path);
  if (!exists(env.system, path))
    throw RunError("--data: there is no directory or pack " + path.string());
  return in_one_sentence(
      path, {"make room", "it may be damaged; pack the plans anew"}, [&]() -> SharedPlanSource {
        if (!is_regular_file(env.system, path) || peek(env, path) == FileState::foreign) {
          throw RunError(path.string() +
                         " is neither a directory of floor plans nor a pack that "
                         "'wallheat pack' made");
        }
        return std::make_shared<PlanPack>(env, path);
      });
}

}  // namespace wallheat
