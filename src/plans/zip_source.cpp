#include "plans/zip_source.hpp"

#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/id_list.hpp"
#include "core/npy.hpp"
#include "core/plan_files.hpp"
#include "plans/zip_archive.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Member = ZipArchive::Member;

/// The folder of an archive that has the plans, "plans/" or "". What lies in folders below it does
/// not count, as in a directory.
std::string folder_of_plans(const ZipArchive& archive) {
  std::optional<std::string> folder;
  archive.for_each_member([&](const Member& member) {
    if (!member.name.ends_with(plan_file_ending(PlanFile::domain))) return;
    const auto found = std::string_view(member.name).substr(0, member.name.rfind('/') + 1);
    if (folder && found.starts_with(*folder)) return;
    if (folder && !folder->starts_with(found))
      throw RunError("it holds plans in two folders, '" + *folder + "' and '" + std::string(found) +
                     "'");
    folder = found;
  });
  if (!folder)
    throw RunError(archive.path().string() +
                   " holds no floor plan (ID_domain.npy with ID_interior.npy)");
  return *folder;
}

/// Of a file that is not a plan's. Throws RunError.
std::string text_in(const ZipArchive& archive, const Member& member) {
  try {
    const NamedBytes text = archive.read(member);
    return {reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()};
  } catch (const InputError& error) {
    throw RunError(error.what());
  }
}

class ZipSource final : public PlanSource {
 public:
  explicit ZipSource(const std::filesystem::path& path)
      : archive_(path), folder_(folder_of_plans(archive_)) {
    const std::size_t likely_plans = archive_.members() / 2;
    plans_.reserve(likely_plans, 0);
    places_.reserve(likely_plans);
    stamps_.reserve(likely_plans);
    archive_.for_each_member([&](const Member& member) { take(member); });
  }

  [[nodiscard]] std::filesystem::path path() const override { return archive_.path(); }
  [[nodiscard]] PlanIds ids() const override {
    if (ids_file_)
      return ids_in(text_in(archive_, *ids_file_), path().string() + ": " + ids_file_->name);
    std::vector<std::string> with_domain;
    for (std::size_t plan = 0; plan < plans_.size(); ++plan)
      if (place_of(plan, PlanFile::domain) != no_place) with_domain.emplace_back(plans_[plan]);
    return unlisted_ids(path().string(), std::move(with_domain));
  }
  [[nodiscard]] FloorPlan load(const std::string& id) const override {
    return read_of(path(), [&] {
      const auto read = [&](PlanFile file, NamedBytes& into) {
        archive_.read(find(id, file), into);
      };
      return read_floor_plan(read, has_source(id));
    });
  }
  [[nodiscard]] Grid<std::uint8_t> interior(const std::string& id,
                                            std::size_t most_cells) const override {
    return read_of(path(), [&] {
      const Member member = find(id, PlanFile::interior);
      npy::expect_at_most(most_cells, path().string() + ": " + member.name, member.size);
      return npy::read_mask(archive_.read(member), most_cells);
    });
  }
  /// That of the mask, as it is the smallest of the plan's arrays: what is compressed can only be
  /// read as a whole.
  [[nodiscard]] GridShape shape(const std::string& id) const override {
    return read_of(path(), [&] {
      const NamedBytes mask = archive_.read(find(id, PlanFile::interior));
      return npy::read_shape(mask.name, mask.bytes, mask.bytes.size());
    });
  }
  [[nodiscard]] bool has_source(const std::string& id) const override {
    return place_of(find(id), PlanFile::source) != no_place;
  }
  [[nodiscard]] std::uint64_t stamp(const std::string& id) const override {
    return stamps_[find(id)];
  }

 private:
  static constexpr std::uint32_t no_place = std::numeric_limits<std::uint32_t>::max();

  void take(const Member& member) {
    if (!member.name.starts_with(folder_)) return;
    const std::string_view name = std::string_view(member.name).substr(folder_.size());
    if (name == ids_name) ids_file_ = member;
    const auto found = plan_file_of(name);
    if (!found || name.find('/') != std::string_view::npos) return;
    const auto [file, id] = *found;
    if (member.place >= no_place) throw RunError("its list of members has more than 4 GiB");
    const auto [plan, is_new] = plans_.place_of(id);
    if (is_new) {
      places_.push_back({no_place, no_place, no_place});
      stamps_.push_back(0);
    }
    std::uint32_t& place = places_[plan][static_cast<std::size_t>(file)];
    if (place != no_place) throw RunError("it has " + member.name + " twice");
    place = static_cast<std::uint32_t>(member.place);
    // The members may come in any order.
    stamps_[plan] ^= stamp_of(
        std::array{static_cast<std::uint64_t>(file), member.size, std::uint64_t{member.crc32}});
  }

  /// The plan's number. Throws InputError if it lacks one of the two files that it must have.
  [[nodiscard]] std::size_t find(const std::string& id) const {
    check_id(id);
    const auto plan = plans_.find(id);
    for (const PlanFile file : {PlanFile::domain, PlanFile::interior})
      if (!plan || place_of(*plan, file) == no_place)
        throw InputError(path().string() + ": there is no " + folder_ + plan_file_name(id, file));
    return *plan;
  }
  [[nodiscard]] Member find(const std::string& id, PlanFile file) const {
    return archive_.member_at(place_of(find(id), file));
  }
  [[nodiscard]] std::uint32_t place_of(std::size_t plan, PlanFile file) const {
    return places_[plan][static_cast<std::size_t>(file)];
  }

  ZipArchive archive_;
  std::string folder_;
  std::optional<Member> ids_file_;
  IdList plans_;  ///< all of which there is a file
  std::vector<std::array<std::uint32_t, all_plan_files.size()>> places_;
  std::vector<std::uint64_t> stamps_;
};

}  // namespace

SharedPlanSource zip_source(const std::filesystem::path& archive) {
  return std::make_shared<ZipSource>(archive);
}

std::optional<std::string> text_beside_plans(const std::filesystem::path& path,
                                             const std::string& name) {
  const ZipArchive archive(path);
  std::vector<Member> found;
  archive.for_each_member([&](const Member& member) {
    if (member.name.ends_with(name)) found.push_back(member);
  });
  if (found.empty()) return std::nullopt;
  const std::string wanted = folder_of_plans(archive) + name;
  for (const Member& member : found)
    if (member.name == wanted) return text_in(archive, member);
  return std::nullopt;
}

}  // namespace wallheat
