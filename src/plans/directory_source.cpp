#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "core/npy.hpp"
#include "core/plan_files.hpp"
#include "core/system_limits.hpp"
#include "plans/plan_source.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"

namespace wallheat {
namespace {

/// Returns the IDs of the plans of which a directory contains an initial field, in any order.
std::vector<std::string> plans_with_files(const std::filesystem::path& directory) {
  std::vector<std::string> ids;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const auto found = parse_plan_file_name(name);
    if (found && found->first == PlanFile::domain && !is_hidden(name))
      ids.emplace_back(found->second);
  }
  if (error)
    throw RunError("the directory " + directory.string() + " cannot be read: " + error.message());
  return ids;
}

bool is_sidecar(const std::filesystem::path& name) {
  return name == ids_file_name || name == spacing_name ||
         name.string().ends_with(drawing_record_suffix);
}

class DirectorySource final : public PlanSource {
 public:
  explicit DirectorySource(std::filesystem::path directory) : directory_(std::move(directory)) {}

  [[nodiscard]] std::filesystem::path path() const override { return directory_; }
  [[nodiscard]] PlanIds ids() const override {
    const auto list = directory_ / ids_file_name;
    // Ignored: if the status cannot be read, read_ids() throws its own error.
    std::error_code unknown;
    const auto status = std::filesystem::symlink_status(list, unknown);
    return status.type() == std::filesystem::file_type::not_found
               ? sorted_ids_without_list(directory_.string(), ids_of_files())
               : read_ids(list);
  }
  [[nodiscard]] std::vector<std::string> ids_of_files() const override {
    return plans_with_files(directory_);
  }
  [[nodiscard]] std::optional<EntryOffsets> entry_offsets(const std::string&) const override {
    return std::nullopt;
  }
  [[nodiscard]] FloorPlan load(const PlanKey& plan) const override {
    return read_checking_source(directory_, [&] { return load_floor_plan(directory_, plan.id); });
  }
  [[nodiscard]] Grid<std::uint8_t> interior(const std::string& id,
                                            std::size_t max_cells) const override {
    return read_checking_source(directory_, [&] {
      const InputFile file(plan_file(directory_, id, PlanFile::interior));
      npy::require_max_cells(max_cells, file.name(), file.size());
      return npy::read_mask({file.name(), file.read_range(0, file.size())}, max_cells);
    });
  }
  [[nodiscard]] GridShape shape(const PlanKey& plan) const override {
    return read_checking_source(directory_, [&] { return floor_plan_shape(directory_, plan.id); });
  }
  [[nodiscard]] bool has_source(const std::string& id) const override {
    return read_checking_source(directory_, [&] { return examine(id).size() > 2; });
  }
  [[nodiscard]] std::uint64_t stamp(const PlanKey& plan) const override {
    return combine(plan, [](const struct stat& file) {
      return std::vector{file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
    });
  }
  [[nodiscard]] std::uint64_t copy_stamp(const PlanKey& plan) const override {
    return combine(plan, [](const struct stat& file) {
      return std::vector{file.st_size, file.st_mtim.tv_sec};
    });
  }

 private:
  /// Combines numbers of each of the plan's files, which numbers_of() returns, into one number.
  template <class NumbersOf>
  [[nodiscard]] std::uint64_t combine(const PlanKey& plan, const NumbersOf& numbers_of) const {
    const auto files = read_checking_source(directory_, [&] { return examine(plan.id); });
    std::vector<std::uint64_t> numbers;
    for (const struct stat& file : files)
      for (const auto number : numbers_of(file))
        numbers.push_back(static_cast<std::uint64_t>(number));
    return combine_stamps(numbers);
  }
  /// Returns the status of the plan's two or three files. Throws InputError if the initial field or
  /// the mask is missing, and InputSystemError if the status of a file cannot be read.
  [[nodiscard]] std::vector<struct stat> examine(const std::string& id) const {
    std::vector<struct stat> found;
    for (const PlanFile each : all_plan_files) {
      if (each == PlanFile::source && !has_heat_source_file(directory_, id)) continue;
      const std::filesystem::path file = plan_file(directory_, id, each);
      if (::stat(file.c_str(), &found.emplace_back()) != 0)
        throw_input_error(file.string(), "cannot be examined", errno);
    }
    return found;
  }

  std::filesystem::path directory_;
};

}  // namespace

bool is_plan_file_name(const std::filesystem::path& name) {
  return is_sidecar(name) || parse_plan_file_name(name.string());
}

bool is_plan_input(const std::filesystem::path& file) {
  const std::filesystem::path directory = file.parent_path();
  const std::string name = file.filename().string();
  if (const auto found = parse_plan_file_name(name))
    return std::ranges::any_of(all_plan_files, [&](PlanFile other) {
      std::error_code unknown;
      const std::string sibling = std::string(found->second).append(plan_file_suffix(other));
      return std::filesystem::exists(directory / sibling, unknown);
    });
  if (!is_sidecar(file.filename())) return false;
  try {
    return !plans_with_files(directory).empty();
  } catch (const RunError&) {
    return false;
  }
}

SharedPlanSource directory_source(std::filesystem::path directory) {
  return std::make_shared<DirectorySource>(std::move(directory));
}

}  // namespace wallheat
