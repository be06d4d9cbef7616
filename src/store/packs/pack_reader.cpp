#include <fcntl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <type_traits>
#include <unordered_map>

#include "core/bytes.hpp"
#include "core/id_list.hpp"
#include "core/number_of.hpp"
#include "core/plan_hash.hpp"
#include "store/hdf5/hdf5_object.hpp"
#include "store/packs/pack_file.hpp"
#include "store/packs/plan_pack.hpp"
#include "store/results/boundary.hpp"
#include "store/results/hdf5_file.hpp"
#include "store/results/result_path.hpp"
#include "store/row.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

constexpr const char* reading = "read the list of plans";

std::uint64_t stamp_of_pack(System& system, const PosixFile& file, const fs::path& path) {
  struct stat info {};
  if (system.fstat(file.fd(), &info) != 0) throw_system_error(path, "be examined", errno);
  return stamp_of(std::array{static_cast<std::uint64_t>(info.st_size),
                             static_cast<std::uint64_t>(info.st_mtim.tv_sec),
                             static_cast<std::uint64_t>(info.st_mtim.tv_nsec)});
}

void require_pack(const Handle& file, const std::filesystem::path& path) {
  auto marks = read_attributes(file, "/");
  if (marks["wallheat"] == "results") {
    throw RunError(path.string() +
                   " holds results, not floor plans; give a pack that "
                   "'wallheat pack' made, or a directory");
  }
  if (marks["wallheat"] != "plans") {
    throw RunError(path.string() +
                   " is an HDF5 file, but no pack of floor plans that "
                   "'wallheat pack' made");
  }
  const std::string& version = marks[pack_format::version_attribute];
  if (version != pack_format::version)
    throw RunError(path.string() + " is a pack of format version " + version +
                   ", but this wallheat knows version " + pack_format::version +
                   " only; use the wallheat that wrote it, or pack the plans anew");
}

bool is_possible(const FieldForm& form, bool may_be_missing) {
  switch (form.kind) {
    case CodeKind::none:
      return may_be_missing && form.value_count == 0;
    case CodeKind::byte:
    case CodeKind::word:
      return form.value_count <= 65536;
    case CodeKind::value:
      return form.value_count == 0;
  }
  return false;
}

PlanForm form_of(const PackRow& row) {
  return {{row.rows, row.cols},
          {static_cast<CodeKind>(row.code_bytes), row.value_count},
          {static_cast<CodeKind>(row.source_code_bytes), row.source_value_count}};
}

void require_entry(bool sound, std::size_t number) {
  if (!sound)
    throw Hdf5Error("cannot use the list of plans: entry " + std::to_string(number) +
                    " is damaged");
}

/// The bytes of `in` from `offset` on. Throws DecodeError where there are not so many.
std::vector<std::byte> bytes_at(const PosixFile& in, std::uint64_t offset, std::uint64_t count) {
  const std::uint64_t file_bytes = in.size();
  // A wild size must not ask for memory.
  if (offset > file_bytes || count > file_bytes - offset)
    throw DecodeError("it is longer than the file");
  std::vector<std::byte> bytes(count);
  if (!in.read_at(offset, bytes))
    throw DecodeError("the file ends too early, or cannot be read there");
  return bytes;
}

/// Where a dataset's values are.
struct Block {
  std::uint64_t offset = 0, count = 0;
};

Block find_block(const Handle& dataset, std::size_t bytes_of_value) {
  const Block block{H5Dget_offset(dataset.get()), size_of(dataset).front()};
  const std::uint64_t file_bytes = file_bytes_of(dataset);
  if (block.offset == HADDR_UNDEF || block.offset > file_bytes ||
      block.count > (file_bytes - block.offset) / bytes_of_value)
    throw Hdf5Error("cannot trust the file: it is too short for its plans");
  return block;
}

/// HDF5 finds the plans; their bytes are read beside it, as it lets one thread in at a time. The
/// rows stay in the file: of many plans they would take much memory in each of many processes.
class PlanPack final : public PlanSource {
 public:
  PlanPack(const StoreEnvironment& env, const fs::path& path)
      : path_(path),
        file_(env.system, result_path(path, env.system), O_RDONLY),
        stamp_(stamp_of_pack(env.system, file_, path)) {
    const Handle opened = open_file(env, path, Access::read);
    require_pack(opened, path);
    read_ids(opened);
    read_left_out(opened);
    find_parts(opened);
    const auto type = pack_format::row_type();
    rows_at_ = find_block(open_dataset(opened, pack_format::rows, {type.get(), {ids_.size()}, {}}),
                          sizeof(PackRow))
                   .offset;
    look_at_rows();
  }

  [[nodiscard]] fs::path path() const override { return path_; }

  [[nodiscard]] PlanIds ids() const override {
    PlanIds all;
    all.ids = ids_.ids();
    return all;
  }

  [[nodiscard]] FloorPlan load(const std::string& id) const override {
    const std::size_t n = find(id);
    return read_of(path_, [&] {
      return decoded(id, [&] {
        const PackRow found = row(n);
        FloorPlan plan = decode_plan(form_of(found), stream(found));
        // Checksums hold each on its own; a row may have been given another plan's cells.
        if (plan_hash(plan) != found.input_hash)
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
    return decoded(id, [&] { return row(n).input_hash; });
  }

  [[nodiscard]] Grid<std::uint8_t> interior(const std::string& id,
                                            std::size_t most_cells) const override {
    const std::size_t n = find(id);
    const GridShape shape = this->shape(id);
    if (shape.rows > most_cells / shape.cols)
      throw InputError(path_.string() + ": plan " + id + " has more than " +
                       std::to_string(most_cells) + " cells");
    return read_of(path_, [&] {
      return decoded(id, [&] {
        const PackRow found = row(n);
        return decode_mask(form_of(found), stream(found));
      });
    });
  }

  [[nodiscard]] std::int64_t interior_cells(const std::string& id) const override {
    const std::size_t n = find(id);
    return decoded(id, [&] { return row(n).interior_cells; });
  }

  [[nodiscard]] GridShape shape(const std::string& id) const override {
    const std::size_t n = find(id);
    return decoded(id, [&] { return form_of(row(n)).shape; });
  }

  [[nodiscard]] bool has_source(const std::string& id) const override {
    return has_source_[find(id)];
  }
  /// That of the pack.
  [[nodiscard]] std::uint64_t stamp(const std::string& id) const override {
    (void)find(id);
    return stamp_;
  }

 private:
  /// The plan's number. Throws InputError if there is no such plan.
  [[nodiscard]] std::size_t find(const std::string& id) const {
    check_id(id);
    // Most ask for one after the other.
    const std::size_t next = next_.load(std::memory_order_relaxed);
    const auto found = next < ids_.size() && ids_[next] == id ? next : ids_.find(id);
    if (!found) throw InputError(path_.string() + ": there is no plan " + id + " in this pack");
    if (const auto why = left_out_.find(*found); why != left_out_.end()) {
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

  void read_ids(const Handle& file);
  void read_left_out(const Handle& file);
  void find_parts(const Handle& file);
  void look_at_rows();
  [[nodiscard]] bool is_sound(const PackRow& row) const;
  /// Of a plan that was not left out. These throw DecodeError where it is damaged.
  [[nodiscard]] PackRow row(std::size_t n) const;
  [[nodiscard]] std::vector<std::byte> stream(const PackRow& row) const;

  fs::path path_;
  PosixFile file_;
  std::uint64_t stamp_;
  IdList ids_;
  std::vector<bool> has_source_;                           ///< of plan n
  std::unordered_map<std::size_t, std::string> left_out_;  ///< plan n, and why
  std::vector<Block> parts_;
  std::uint64_t rows_at_ = 0;
  mutable std::atomic<std::size_t> next_ = 0;  ///< behind the plan that was asked for last
};

void PlanPack::read_ids(const Handle& file) {
  const Handle dataset = open_dataset(file, pack_format::ids, {H5T_STD_U8LE, {0}, {}});
  const Block block = find_block(dataset, 1);
  std::string letters(block.count, '\0');
  const auto bytes = std::as_writable_bytes(std::span(letters));
  if (!file_.read_at(block.offset, bytes) ||
      read_whole_number(dataset, pack_format::ids_checksum) != crc32_of(bytes) ||
      (!letters.empty() && letters.back() != '\0'))
    throw Hdf5Error(std::string("cannot ") + reading + ": their ids are damaged");
  const auto count = static_cast<std::size_t>(std::count(letters.begin(), letters.end(), '\0'));
  ids_.reserve(count, letters.size() - count);
  for (std::size_t at = 0; at < letters.size();) {
    const std::size_t end = letters.find('\0', at);
    const auto id = std::string_view(letters).substr(at, end - at);
    const std::size_t number = ids_.size();
    require_entry(!id.empty() && id.size() <= max_id_length && ids_.add(id), number);
    at = end + 1;
  }
}

void PlanPack::read_left_out(const Handle& file) {
  if (!has_object(file, pack_format::left_out)) return;
  const auto type = pack_format::left_out_type();
  const Handle dataset = open_dataset(file, pack_format::left_out, {type.get(), {0}, {}});
  const Block block = find_block(dataset, sizeof(LeftOutRow));
  std::vector<LeftOutRow> rows(block.count);
  if (!file_.read_at(block.offset, std::as_writable_bytes(std::span(rows))))
    throw Hdf5Error(std::string("cannot ") + reading);
  for (const LeftOutRow& row : rows) {
    require_entry(row.row_crc32 == checksum_of(row), row.plan);
    left_out_[row.plan] = get_text(row.reason);
  }
}

void PlanPack::find_parts(const Handle& file) {
  const Handle group = open_group(file, pack_format::data);
  H5G_info_t info{};
  checked(H5Gget_info(group.get(), &info), "find the plans");
  for (hsize_t part = 0; part < info.nlinks; ++part)
    parts_.push_back(
        find_block(open_dataset(group, std::to_string(part), {H5T_STD_U8LE, {0}, {}}), 1));
}

void PlanPack::look_at_rows() {
  constexpr std::size_t rows_at_once = 4096;
  std::vector<PackRow> rows;
  has_source_.resize(ids_.size());
  for (std::size_t first = 0; first < ids_.size(); first += rows.size()) {
    rows.resize(std::min(rows_at_once, ids_.size() - first));
    if (!file_.read_at(rows_at_ + first * sizeof(PackRow), std::as_writable_bytes(std::span(rows))))
      throw Hdf5Error(std::string("cannot ") + reading);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool left_out = rows[i].rows == 0;
      require_entry(is_sound(rows[i]) && left_out == left_out_.contains(first + i), first + i);
      has_source_[first + i] = rows[i].source_code_bytes != 0;
    }
  }
}

bool PlanPack::is_sound(const PackRow& row) const {
  if (row.row_crc32 != checksum_of(row)) return false;
  const PlanForm form = form_of(row);
  return row.rows == 0 ||
         (row.cols > 0 && is_possible(form.domain, false) && is_possible(form.source, true) &&
          row.part < parts_.size() && row.position <= parts_[row.part].count &&
          row.bytes <= parts_[row.part].count - row.position);
}

PackRow PlanPack::row(std::size_t n) const {
  PackRow row{};
  if (!file_.read_at(rows_at_ + n * sizeof row, std::as_writable_bytes(std::span(&row, 1))) ||
      !is_sound(row) || row.rows == 0)
    throw DecodeError("its entry in the list of plans cannot be read");
  return row;
}

std::vector<std::byte> PlanPack::stream(const PackRow& row) const {
  auto bytes = bytes_at(file_, parts_[row.part].offset + row.position, row.bytes);
  if (crc32_of(bytes) != row.crc32) throw DecodeError("its checksum does not match");
  return bytes;
}

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
  if (!is_regular_file(env.system, path) || peek(env, path) == Hdf5State::foreign)
    return std::nullopt;
  try {
    const Attributes marks = read_attributes(open_file(env, path, Access::read), "/");
    const auto spacing = marks.find(pack_format::spacing_attribute);
    return spacing == marks.end() ? std::nullopt : number_of<double>(spacing->second);
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
        if (!is_regular_file(env.system, path) || peek(env, path) == Hdf5State::foreign) {
          throw RunError(path.string() +
                         " is neither a directory of floor plans nor a pack that "
                         "'wallheat pack' made");
        }
        return std::make_shared<PlanPack>(env, path);
      });
}

}  // namespace wallheat
