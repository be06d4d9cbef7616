#include <fcntl.h>

#include <algorithm>
#include <limits>
#include <new>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "core/parallel_for.hpp"
#include "core/plan_hash.hpp"
#include "io/file_lock.hpp"
#include "io/file_names.hpp"
#include "store/packs/pack_file.hpp"
#include "store/packs/plan_pack.hpp"
#include "store/results/boundary.hpp"
#include "store/results/hdf5_file.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

/// A plan on its way into the pack.
struct Item {
  std::optional<PackedPlan> plan;  ///< nothing where it is left out
  std::uint64_t hash = 0;
  std::uint32_t interior_cells = 0;
  std::uint64_t bytes_in = 0;
  std::string reason;
};

class Packing {
 public:
  Packing(const StoreEnvironment& env, fs::path path, const PlanSource& source, const TextList& ids,
          const PackOptions& options)
      : env_(env),
        path_(std::move(path)),
        temporary_(temporary_path(path_)),
        source_(source),
        ids_(ids),
        options_(options) {}

  PackReport run() {
    remove_durably(env_.system, temporary_);
    auto file = create_file(env_, temporary_, Space::dense);
    try {
      take_rights_of(env_.system, path_, temporary_, descriptor_of(file));
      PackWriter writer(file, options_.spacing);
      in_batches([&](std::size_t first, std::size_t count) { pack(writer, first, count); },
                 options_.packed);
      if (report_.plans == 0) {
        throw RunError("none of the " + std::to_string(ids_.size()) +
                       " plan(s) can be read, thus nothing was written; the first: " +
                       report_.left_out.front().reason);
      }
      writer.finish();
      file.close("close " + temporary_.string());
      sync_file(env_.system, temporary_);
      check();
      report_.bytes_out = PosixFile(env_.system, temporary_, O_RDONLY).size();
      rename_durably(env_.system, temporary_, path_);
    } catch (...) {
      file.leak();  // after a failed write even closing can crash in HDF5
      env_.system.unlink(temporary_.c_str());
      throw;
    }
    return std::move(report_);
  }

 private:
  template <class Step>
  void in_batches(Step step, const std::function<void(std::size_t)>& told) const {
    const std::size_t batch = 64 * options_.threads;
    for (std::size_t first = 0; first < ids_.size(); first += batch) {
      const std::size_t count = std::min(batch, ids_.size() - first);
      step(first, count);
      if (told) told(first + count);
      if (options_.interrupted && options_.interrupted())
        throw RunError("packing was stopped; nothing was written");
    }
  }

  void pack(PackWriter& writer, std::size_t first, std::size_t count) {
    std::vector<Item> items(count);
    parallel_for(options_.threads, count, [&] {
      return [&](std::size_t i) { items[i] = make(std::string(ids_[first + i])); };
    });
    for (std::size_t i = 0; i < count; ++i) take(writer, std::string(ids_[first + i]), items[i]);
  }

  [[nodiscard]] Item make(const std::string& id) const {
    Item item;
    try {
      const FloorPlan plan = source_.load(id);
      item.hash = plan_hash(plan);
      item.interior_cells = static_cast<std::uint32_t>(count_interior(plan));
      if (plan.domain.cells.size() > std::numeric_limits<std::uint32_t>::max()) {
        item.reason = "plan " + id + " has more cells than a pack can hold";
      } else {
        item.plan = encode_plan(plan);
        item.bytes_in = plan.domain.cells.size() * (plan.has_source() ? 17 : 9);
      }
    } catch (const InputError& error) {
      item.reason = error.what();
    } catch (const std::bad_alloc&) {
      throw RunError("there is not enough memory to pack plan " + id + "; try fewer --threads");
    }
    return item;
  }

  void take(PackWriter& writer, const std::string& id, const Item& item) {
    hashes_.push_back(item.hash);
    if (!item.plan) {
      writer.leave_out(id, item.reason);
      report_.left_out.push_back({id, item.reason});
      return;
    }
    PackRow row = writer.store(*item.plan);
    row.input_hash = item.hash;
    row.interior_cells = item.interior_cells;
    writer.add(id, row);
    ++report_.plans;
    report_.bytes_in += item.bytes_in;
  }

  /// Reads everything back as any reader does.
  void check() const {
    const auto pack = open_plan_source(temporary_, env_);
    const auto refuse = [&](const std::string& id, const std::string& why) {
      throw RunError(path_.string() + ": plan " + id +
                     " was not read back as it was packed, thus nothing was written; see whether "
                     "disk and memory are sound, and pack again: " +
                     why);
    };
    if (pack->ids().ids != ids_) refuse(std::string(ids_[0]), "the list of plans differs");
    std::unordered_set<std::string_view> left_out;
    for (const LeftOut& plan : report_.left_out) left_out.insert(plan.id);
    const auto compare = [&](std::size_t number) {
      const std::string id(ids_[number]);
      if (left_out.contains(id)) return;
      try {
        static_cast<void>(pack->load(id));  // compares it with the hash in the pack
        if (pack->stated_hash(id) != hashes_[number]) refuse(id, "its hash differs");
      } catch (const InputError& error) {
        refuse(id, error.what());
      }
    };
    in_batches(
        [&](std::size_t first, std::size_t count) {
          parallel_for(options_.threads, count,
                       [&] { return [&](std::size_t i) { compare(first + i); }; });
        },
        options_.checked);
  }

  const StoreEnvironment& env_;
  fs::path path_, temporary_;
  const PlanSource& source_;
  const TextList& ids_;
  const PackOptions& options_;
  std::vector<std::uint64_t> hashes_;
  PackReport report_;
};

}  // namespace

PackReport pack_plans(const fs::path& out, const PlanSource& source, const TextList& ids,
                      const PackOptions& options, const StoreEnvironment& env) {
  if (ids.empty()) throw RunError("there are no plans to pack into " + out.string());
  return in_one_sentence(out, {"make room and pack again", "pack again"}, [&] {
    const auto path = real_path(env, out);
    if (exists(env.system, path) && !options.overwrite)
      throw RunError(out.string() + " exists; name another file, or replace it by --overwrite");
    require_own(env, path, OwnKind::plans);
    return with_file_lock(env.system, path,
                          [&] { return Packing(env, path, source, ids, options).run(); });
  });
}

}  // namespace wallheat
