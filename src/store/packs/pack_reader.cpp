#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <type_traits>

#include "core/bytes.hpp"
#include "core/number_of.hpp"
#include "core/plan_hash.hpp"
#include "store/packs/pack_file.hpp"
#include "store/packs/plan_pack.hpp"
#include "store/results/boundary.hpp"
#include "store/results/hdf5_file.hpp"
#include "store/results/result_path.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

FileStamp stamp_of(System& system, const PosixFile& file, const fs::path& path) {
  struct stat info {};
  if (system.fstat(file.fd(), &info) != 0) throw_system_error(path, "be examined", errno);
  return {info.st_size, std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

/// HDF5 finds the plans; their bytes are read beside it, as it lets one thread in at a time.
class PlanPack final : public PlanSource {
 public:
  PlanPack(const StoreEnvironment& env, const fs::path& path)
      : path_(path),
        file_(env.system, result_path(path, env.system), O_RDONLY),
        stamp_(stamp_of(env.system, file_, path)) {
    plans_.emplace(open_file(env, path, Access::read), path, file_, list_);
  }

  [[nodiscard]] fs::path path() const override { return path_; }

  [[nodiscard]] PlanIds ids() const override {
    PlanIds all;
    all.ids.reserve(list_.ids.size());
    for (std::size_t n = 0; n < list_.ids.size(); ++n) all.ids.emplace_back(list_.ids[n]);
    return all;
  }

  [[nodiscard]] FloorPlan load(const std::string& id) const override {
    const std::size_t n = find(id);
    return read_of(path_, [&] {
      return decoded(id, [&] {
        FloorPlan plan = plans_->load(n);
        // Checksums hold each on its own; a row may have been given another plan's cells.
        if (plan_hash(plan) != plans_->hash(n))
          throw DecodeError("its cells are not those that its input_hash is of");
        check_values(plan.domain, path_.string() + ": plan " + id);
        if (plan.has_source())
          check_values(plan.source, path_.string() + ": plan " + id + ", source");
        return plan;
      });
    });
  }

  [[nodiscard]] std::optional<std::uint64_t> stated_hash(const std::string& id) const override {
    const std::size_t n = find(id);
    return decoded(id, [&] { return plans_->hash(n); });
  }

  [[nodiscard]] Grid<std::uint8_t> interior(const std::string& id,
                                            std::size_t most_cells) const override {
    const std::size_t n = find(id);
    const GridShape shape = this->shape(id);
    if (shape.rows > most_cells / shape.cols)
      throw InputError(path_.string() + ": plan " + id + " has more than " +
                       std::to_string(most_cells) + " cells");
    return read_of(path_, [&] { return decoded(id, [&] { return plans_->mask(n); }); });
  }

  [[nodiscard]] GridShape shape(const std::string& id) const override {
    const std::size_t n = find(id);
    return decoded(id, [&] { return plans_->shape(n); });
  }

  /// Of the pack, which stands for each of a plan's files.
  [[nodiscard]] PlanStamps stamps(const std::string& id) const override {
    return {stamp_, stamp_, list_.has_source[find(id)] ? stamp_ : FileStamp{}};
  }

 private:
  /// The plan's number. Throws InputError if there is no such plan.
  [[nodiscard]] std::size_t find(const std::string& id) const {
    check_id(id);
    // Most ask for one after the other.
    const std::size_t next = next_.load(std::memory_order_relaxed);
    const auto found = next < list_.ids.size() && list_.ids[next] == id ? next : list_.ids.find(id);
    if (!found) throw InputError(path_.string() + ": there is no plan " + id + " in this pack");
    if (const auto why = list_.left_out.find(*found); why != list_.left_out.end()) {
      throw InputError(path_.string() + ": plan " + id +
                       " was left out of this pack: " + why->second);
    }
    next_.store(*found + 1, std::memory_order_relaxed);
    return *found;
  }

  template <class Read>
  [[nodiscard]] std::invoke_result_t<Read> decoded(const std::string& id, Read read) const {
    try {
      return read();
    } catch (const DecodeError& error) {
      throw InputError(path_.string() + ": plan " + id + " is damaged (" + error.what() +
                       "); pack the plans anew");
    }
  }

  fs::path path_;
  PosixFile file_;
  FileStamp stamp_;
  PackList list_;
  std::optional<PackFile> plans_;
  mutable std::atomic<std::size_t> next_ = 0;  ///< behind the plan that was asked for last
};

}  // namespace

namespace {

std::optional<double> spacing_in(const StoreEnvironment& env, const fs::path& text_file) {
  if (!exists(env.system, text_file)) return std::nullopt;
  std::string text = read_whole(env.system, text_file);
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  const auto spacing = number_of<double>(text);
  if (!spacing || !std::isfinite(*spacing) || *spacing <= 0)
    throw RunError(text_file.string() +
                   " must hold one number above 0, the distance of neighbouring cells");
  return spacing;
}

}  // namespace

std::optional<double> spacing_of_plans(const fs::path& path, const StoreEnvironment& env) {
  if (is_directory(env.system, path)) return spacing_in(env, path / spacing_name);
  if (!is_regular_file(env.system, path) || peek(env, path) == FileState::foreign)
    return std::nullopt;
  try {
    return spacing_of_pack(open_file(env, path, Access::read));
  } catch (const Hdf5Error&) {
    return std::nullopt;  // who opens the pack says why it cannot be read
  }
}

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
