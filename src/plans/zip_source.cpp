#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/npy.hpp"
#include "core/plan_files.hpp"
#include "core/plan_ids.hpp"
#include "plans/plan_source.hpp"
#include "plans/zip_archive.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Member = ZipArchive::Member;

/// Returns the text of a file next to the plans. Throws RunError if it cannot be read.
std::string text_in(const ZipArchive& archive, const Member& member) {
  try {
    const NamedBytes text = archive.read(member);
    return {reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()};
  } catch (const InputError& error) {
    throw RunError(error.what());
  }
}

constexpr EntryOffsets no_entries{no_entry, no_entry, no_entry};

std::size_t number_of_file(PlanFile file) { return static_cast<std::size_t>(file); }

/// Returns the part of a plan's stamp that one file contributes. The files of a plan may be in any
/// order, because the parts are combined by xor.
std::uint64_t stamp_of_file(PlanFile file, const Member& member) {
  return combine_stamps(
      std::array{static_cast<std::uint64_t>(file), member.size, std::uint64_t{member.crc32}});
}

/// Returns the folder of an archive that contains the plans, "plans/" or "". Folders below it are
/// ignored, as they are in a directory. Throws RunError if there is no such folder, or more than
/// one.
std::string folder_of_plans(const ZipArchive& archive) {
  std::optional<std::string> folder;
  std::optional<std::string> other;
  archive.for_each_member([&](const Member& member) {
    if (!member.name.ends_with(plan_file_suffix(PlanFile::domain)) || is_hidden(member.name))
      return;
    const auto found = std::string_view(member.name).substr(0, member.name.rfind('/') + 1);
    if (folder && found.starts_with(*folder)) return;
    if (folder && !folder->starts_with(found))
      other = found;
    else
      folder = found;
  });
  if (other)
    throw RunError(archive.path().string() + " contains plans in two directories, '" + *folder +
                   "' and '" + *other +
                   "'; all plans must be in one: create it with 'zip -j', which omits directories");
  if (folder) return *folder;
  throw RunError(
      archive.path().string() +
      " contains no floor plan (ID_domain.npy with ID_interior.npy; names that begin with "
      "a dot are ignored)");
}

/// The plans in the central directory of an archive.
class ArchiveIndex {
 public:
  /// Throws RunError if the central directory is damaged, if the archive contains no plans, or if
  /// it contains plans of two directories.
  explicit ArchiveIndex(const ZipArchive& archive) : folder_(folder_of_plans(archive)) {
    const std::size_t likely_plans = archive.members() / 2;
    plans_.reserve(likely_plans, 0);
    entries_.reserve(likely_plans);
    stamps_.reserve(likely_plans);
    archive.for_each_member([&](const Member& member) { take(member); });
  }

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::optional<Member>& ids_file() const { return ids_file_; }
  /// Returns the IDs of the plans that have an initial field and are not hidden, in the order of
  /// the archive.
  [[nodiscard]] std::vector<std::string> plans() const {
    std::vector<std::string> with_domain;
    for (std::size_t plan = 0; plan < plans_.size(); ++plan)
      if (entries_[plan][number_of_file(PlanFile::domain)] != no_entry && !is_hidden(plans_[plan]))
        with_domain.emplace_back(plans_[plan]);
    return with_domain;
  }
  [[nodiscard]] EntryOffsets entry_offsets(const std::string& id) const {
    const auto plan = find(id);
    return plan ? entries_[*plan] : no_entries;
  }
  /// Returns nullopt if the initial field or the mask of the plan is missing.
  [[nodiscard]] std::optional<std::uint64_t> stamp(const std::string& id) const {
    const auto plan = find(id);
    if (!plan || !is_whole(entries_[*plan])) return std::nullopt;
    return stamps_[*plan];
  }

  [[nodiscard]] static bool is_whole(const EntryOffsets& entries) {
    return entries[number_of_file(PlanFile::domain)] != no_entry &&
           entries[number_of_file(PlanFile::interior)] != no_entry;
  }

 private:
  /// Returns the index of the plan. Most plans are requested in the order of the archive, so the
  /// next index is tried first: finding one of a million plans by its hash takes long.
  [[nodiscard]] std::optional<std::size_t> find(const std::string& id) const {
    const std::size_t next = next_;
    const auto plan =
        next < plans_.size() && plans_[next] == id ? std::optional(next) : plans_.find(id);
    if (plan) next_ = *plan + 1;
    return plan;
  }

  void take(const Member& member) {
    if (!member.name.starts_with(folder_)) return;
    const auto name = std::string_view(member.name).substr(folder_.size());
    if (name == ids_file_name) ids_file_ = member;
    const auto found = parse_plan_file_name(name);
    if (!found || name.find('/') != std::string_view::npos) return;
    const auto [file, id] = *found;
    if (member.entry_offset >= no_entry)
      throw RunError("its central directory is larger than 4 GiB");
    const auto [plan, is_new] = plans_.insert(id);
    if (is_new) {
      entries_.push_back(no_entries);
      stamps_.push_back(0);
    }
    std::uint32_t& entry = entries_[plan][number_of_file(file)];
    if (entry != no_entry) throw RunError("it contains " + member.name + " twice");
    entry = static_cast<std::uint32_t>(member.entry_offset);
    stamps_[plan] ^= stamp_of_file(file, member);
  }

  std::string folder_;
  std::optional<Member> ids_file_;
  IdIndex plans_;  ///< all plans of which the archive contains a file
  std::vector<EntryOffsets> entries_;
  std::vector<std::uint64_t> stamps_;
  mutable std::atomic<std::size_t> next_ = 0;  ///< index after that of the plan that was found last
};

class ZipSource final : public PlanSource {
 public:
  ZipSource(const std::filesystem::path& path, ListingMode listing) : archive_(path) {
    if (listing == ListingMode::eager) (void)index();
  }

  [[nodiscard]] std::filesystem::path path() const override { return archive_.path(); }
  [[nodiscard]] PlanIds ids() const override {
    if (const auto& file = index().ids_file())
      return parse_ids(text_in(archive_, *file), path().string() + ": " + file->name);
    return sorted_ids_without_list(path().string(), ids_of_files());
  }
  [[nodiscard]] std::vector<std::string> ids_of_files() const override { return index().plans(); }
  [[nodiscard]] std::optional<EntryOffsets> entry_offsets(const std::string& id) const override {
    return index().entry_offsets(id);
  }
  [[nodiscard]] FloorPlan load(const PlanKey& plan) const override {
    return read_checking_source(path(), [&] {
      const Files files = files_of(plan);
      const auto read = [&](PlanFile file) { return archive_.read(*files[number_of_file(file)]); };
      const auto read_numbers = [&](PlanFile which) {
        const NamedBytes file = read(which);
        return std::pair(file.name, npy::read_float(file));
      };
      return read_floor_plan(
          read_numbers, [&] { return read(PlanFile::interior); },
          files[number_of_file(PlanFile::source)].has_value());
    });
  }
  [[nodiscard]] Grid<std::uint8_t> interior(const std::string& id,
                                            std::size_t max_cells) const override {
    return read_checking_source(path(), [&] {
      const Member mask = *files_of(id)[number_of_file(PlanFile::interior)];
      npy::require_max_cells(max_cells, path().string() + ": " + mask.name, mask.size);
      return npy::read_mask(archive_.read(mask), max_cells);
    });
  }
  /// Reads the shape of the mask, which is the smallest of the plan's arrays, because a compressed
  /// array can only be read completely.
  [[nodiscard]] GridShape shape(const PlanKey& plan) const override {
    return read_checking_source(path(), [&] {
      const NamedBytes mask = archive_.read(*files_of(plan)[number_of_file(PlanFile::interior)]);
      return npy::read_shape(mask.name, mask.bytes, mask.bytes.size());
    });
  }
  [[nodiscard]] bool has_source(const std::string& id) const override {
    return entries_of(id)[number_of_file(PlanFile::source)] != no_entry;
  }
  [[nodiscard]] std::uint64_t stamp(const PlanKey& plan) const override {
    if (!plan.entry_offsets)
      if (const auto stamp = index().stamp(plan.id)) return *stamp;
    std::uint64_t stamp = 0;
    const Files files = files_of(plan);
    for (const PlanFile file : all_plan_files)
      if (const auto& member = files[number_of_file(file)]) stamp ^= stamp_of_file(file, *member);
    return stamp;
  }

 private:
  using Files = std::array<std::optional<Member>, all_plan_files.size()>;

  /// Returns the index, which the first call reads. Throws RunError if the archive is damaged.
  [[nodiscard]] const ArchiveIndex& index() const {
    std::call_once(listed_, [&] { index_.emplace(archive_); });
    return *index_;
  }
  /// Throws InputError if the initial field or the mask of the plan is missing.
  [[nodiscard]] EntryOffsets entries_of(const PlanKey& plan) const {
    require_valid_id(plan.id);
    const EntryOffsets entries =
        plan.entry_offsets ? *plan.entry_offsets : index().entry_offsets(plan.id);
    const std::string folder = plan.entry_offsets ? "" : index().folder();
    for (const PlanFile file : {PlanFile::domain, PlanFile::interior})
      if (entries[number_of_file(file)] == no_entry)
        throw InputError(path().string() + ": not found: " + folder +
                         plan_file_name(plan.id, file));
    return entries;
  }
  /// Returns the members of the plan's files; those of the initial field and the mask exist. Throws
  /// InputError.
  [[nodiscard]] Files files_of(const PlanKey& plan) const {
    const EntryOffsets entries = entries_of(plan);
    Files files;
    for (const PlanFile file : all_plan_files) {
      const std::uint32_t entry = entries[number_of_file(file)];
      if (entry == no_entry) continue;
      const Member& member = files[number_of_file(file)].emplace(archive_.member_at(entry));
      const std::string name = plan_file_name(plan.id, file);
      if (member.name != name && !member.name.ends_with("/" + name))
        throw InputError(path().string() + ": its central directory does not list " + name +
                         " at the expected offset; the archive was changed or replaced");
    }
    return files;
  }

  ZipArchive archive_;
  mutable std::once_flag listed_;
  mutable std::optional<ArchiveIndex> index_;
};

}  // namespace

SharedPlanSource zip_source(const std::filesystem::path& archive, ListingMode listing) {
  return std::make_shared<ZipSource>(archive, listing);
}

std::optional<std::string> read_archive_sidecar_text(const std::filesystem::path& path,
                                                     const std::string& name) {
  const ZipArchive archive(path);
  const std::string wanted = folder_of_plans(archive) + name;
  std::optional<Member> found;
  archive.for_each_member([&](const Member& member) {
    if (member.name == wanted && !found) found = member;
  });
  return found ? std::optional(text_in(archive, *found)) : std::nullopt;
}

}  // namespace wallheat
