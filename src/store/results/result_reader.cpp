#include "wallheat/result_reader.hpp"

#include <mutex>

#include "store/hdf5/hdf5_handle.hpp"
#include "store/field_codec.hpp"
#include "store/results/opening.hpp"
#include "store/results/result_path.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

class ResultReader::Impl {
 public:
  Impl(const fs::path& file, const StoreEnvironment& env)
      : env_(env), path_(result_path(file, env.system)), view_(look(Offsets::leave_out)) {}

  [[nodiscard]] std::optional<Grid<double>> field(std::size_t index) const {
    if (index >= view_.snapshot.rows.size()) {
      throw RunError(path_.string() + " has no row " + std::to_string(index));
    }
    const auto& row = view_.snapshot.rows[index];
    if (!has_field(row)) return std::nullopt;
    const auto offset = offset_of(index);
    std::vector<std::byte> chunk;
    if (!view_.raw || !read_chunk(*view_.raw, offset, row, chunk)) {
      throw RunError(path_.string() + " holds a damaged field of plan " + id_of(row) +
                     ", or was replaced while it was read");
    }
    return decompress_field(chunk, shape_of(row));
  }

  [[nodiscard]] std::vector<RoomResult> rooms(std::size_t index) const {
    if (index >= view_.snapshot.rows.size())
      throw RunError(path_.string() + " has no row " + std::to_string(index));
    const Row row = view_.snapshot.rows[index];
    if (!keeps_rooms(view_.snapshot.settings) || !store::has_rooms(row)) return {};
    find_offsets();
    auto rooms =
        view_.snapshot.rooms_of ? view_.snapshot.rooms_of(index) : std::vector<RoomResult>();
    if (rooms.empty())
      throw RunError(path_.string() + " holds damaged rooms of plan " + id_of(row) +
                     ", or was replaced while it was read");
    return rooms;
  }

  [[nodiscard]] const ReadView& view() const { return view_; }
  /// Made on first use: most of the memory of a reader.
  [[nodiscard]] const std::vector<PlanResult>& rows() const {
    std::call_once(rows_are_made_, [&] {
      rows_.reserve(view_.snapshot.rows.size());
      for (const Row& row : view_.snapshot.rows) rows_.push_back(to_result(row));
    });
    return rows_;
  }

 private:
  /// All that calls HDF5, which is the host program's, too.
  [[nodiscard]] ReadView look(Offsets offsets) const {
    const KeptErrorPrinting kept;
    return open_for_reading(env_, path_, offsets);
  }
  /// To find the offsets takes a while and most readers want rows only, hence on first use. A
  /// writer may have begun a session since, so it is a whole new look.
  void find_offsets() const {
    const std::scoped_lock lock(finding_);
    if (view_.has_offsets) return;
    auto now = look(Offsets::find);
    if (now.snapshot.file_id == view_.snapshot.file_id) {
      view_.snapshot.offsets = std::move(now.snapshot.offsets);
      view_.snapshot.rooms_of = std::move(now.snapshot.rooms_of);
    }
    view_.has_offsets = true;
  }
  Offset offset_of(std::size_t index) const {
    find_offsets();
    return view_.snapshot.offsets.at(index);
  }

  StoreEnvironment env_;
  fs::path path_;
  mutable ReadView view_;
  mutable std::mutex finding_;  ///< of offsets: HDF5 is for one thread at a time
  mutable std::once_flag rows_are_made_;
  mutable std::vector<PlanResult> rows_;
};

ResultReader::ResultReader(const fs::path& file) : ResultReader(file, StoreEnvironment{}) {}
ResultReader::ResultReader(const fs::path& file, const StoreEnvironment& env)
    : impl_(std::make_unique<Impl>(file, env)) {}
ResultReader::ResultReader(ResultReader&&) noexcept = default;
ResultReader& ResultReader::operator=(ResultReader&&) noexcept = default;
ResultReader::~ResultReader() = default;

const std::vector<PlanResult>& ResultReader::rows() const { return impl_->rows(); }
std::size_t ResultReader::count() const { return impl_->view().snapshot.rows.size(); }
PlanResult ResultReader::row(std::size_t index) const {
  return to_result(impl_->view().snapshot.rows[index]);
}
void ResultReader::for_each_row(const std::function<void(const PlanResult&)>& take) const {
  for (const Row& row : impl_->view().snapshot.rows) take(to_result(row));
}
const Attributes& ResultReader::settings() const { return impl_->view().snapshot.settings; }
const std::vector<Attributes>& ResultReader::sessions() const {
  return impl_->view().snapshot.sessions;
}
const std::vector<std::size_t>& ResultReader::damaged() const { return impl_->view().damage.lost; }
std::optional<Grid<double>> ResultReader::field(std::size_t index) const {
  return impl_->field(index);
}
bool ResultReader::has_rooms() const { return keeps_rooms(settings()); }
std::vector<RoomResult> ResultReader::rooms(std::size_t index) const { return impl_->rooms(index); }
bool ResultReader::closed_well() const { return impl_->view().closed_well; }
const std::vector<std::string>& ResultReader::damage() const {
  return impl_->view().damage.sentences;
}

}  // namespace wallheat
