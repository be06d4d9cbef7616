#include "wallheat/result_reader.hpp"

#include <mutex>

#include "store/field_codec.hpp"
#include "store/result_path.hpp"
#include "store/view.hpp"

namespace wallheat {

namespace fs = std::filesystem;
using namespace store;

namespace {

View view_of(const fs::path& path) {
  try {
    return View(path);
  } catch (const Hdf5Error& error) {
    throw RunError(path.string() + " is damaged, " + error.what() +
                   "; bring back a copy of it, or solve anew");
  } catch (const fs::filesystem_error& error) {
    throw RunError(path.string() + " cannot be read: " + error.code().message());
  }
}

}  // namespace

class ResultReader::Impl {
 public:
  explicit Impl(const fs::path& file) : path_(result_path(file)), view_(view_of(path_)) {}

  [[nodiscard]] const View& view() const { return view_; }

  [[nodiscard]] std::optional<Grid<double>> field(std::size_t index) const {
    const Row row = row_of(index);
    if (!has_field(row)) return std::nullopt;
    const auto chunk = view_.field(row);
    if (!chunk) refuse_damaged("a damaged field", row);
    return decompress_field(*chunk, shape_of(row));
  }

  [[nodiscard]] std::vector<RoomResult> rooms(std::size_t index) const {
    const Row row = row_of(index);
    if (!view_.campaign().has_rooms(row)) return {};
    auto rooms = view_.rooms(index);
    if (!are_intact(rooms, row)) refuse_damaged("damaged rooms", row);
    return rooms;
  }

  /// Made on first use: most of the memory of a reader.
  [[nodiscard]] const std::vector<PlanResult>& rows() const {
    std::call_once(rows_are_made_, [&] {
      rows_.reserve(view_.count());
      view_.for_each_row([&](const Row& row) { rows_.push_back(to_result(row)); });
    });
    return rows_;
  }

 private:
  [[nodiscard]] Row row_of(std::size_t index) const {
    if (index >= view_.count())
      throw RunError(path_.string() + " has no row " + std::to_string(index));
    return view_.row(index);
  }
  [[noreturn]] void refuse_damaged(const std::string& what, const Row& row) const {
    throw RunError(path_.string() + " holds " + what + " of plan " + std::string(id_of(row)) +
                   ", or was replaced while it was read");
  }

  fs::path path_;
  View view_;
  mutable std::once_flag rows_are_made_;
  mutable std::vector<PlanResult> rows_;
};

ResultReader::ResultReader(const fs::path& file) : impl_(std::make_unique<Impl>(file)) {}
ResultReader::ResultReader(ResultReader&&) noexcept = default;
ResultReader& ResultReader::operator=(ResultReader&&) noexcept = default;
ResultReader::~ResultReader() = default;

const std::vector<PlanResult>& ResultReader::rows() const { return impl_->rows(); }
std::size_t ResultReader::count() const { return impl_->view().count(); }
PlanResult ResultReader::row(std::size_t index) const {
  return to_result(impl_->view().row(index));
}
void ResultReader::for_each_row(const std::function<void(const PlanResult&)>& take) const {
  PlanResult result;
  impl_->view().for_each_row([&](const Row& row) {
    put_row(row, result);
    take(result);
  });
}
const Attributes& ResultReader::settings() const { return impl_->view().campaign().settings; }
const std::vector<Attributes>& ResultReader::sessions() const {
  return impl_->view().campaign().sessions;
}
const std::vector<std::size_t>& ResultReader::damaged() const {
  return impl_->view().damage().lost;
}
std::optional<Grid<double>> ResultReader::field(std::size_t index) const {
  return impl_->field(index);
}
bool ResultReader::has_rooms() const { return impl_->view().campaign().keeps_rooms(); }
std::vector<RoomResult> ResultReader::rooms(std::size_t index) const { return impl_->rooms(index); }
bool ResultReader::closed_well() const { return impl_->view().has_ended(); }
bool ResultReader::is_whole() const { return impl_->view().journals() == 0; }
const std::vector<std::string>& ResultReader::damage() const {
  return impl_->view().damage().sentences;
}

std::vector<StoredField> stored_fields(const fs::path& file) {
  const View view = view_of(result_path(file));
  if (view.journals() > 0)
    throw RunError(file.string() +
                   " is not whole yet: other programs find its fields once the run has finished, "
                   "or after 'wallheat repair'; while it runs, 'wallheat merge --allow-missing' "
                   "makes a whole copy");
  std::vector<StoredField> fields;
  view.for_each_row([&](const Row& row) {
    if (has_field(row))
      fields.push_back(
          {row.index, std::string(id_of(row)), shape_of(row), "/fields/" + field_name(id_of(row))});
  });
  return fields;
}

}  // namespace wallheat
