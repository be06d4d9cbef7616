#include <utility>

#include "wallheat/plan_source.hpp"

namespace wallheat {
namespace {

class DirectorySource final : public PlanSource {
 public:
  explicit DirectorySource(std::filesystem::path directory) : directory_(std::move(directory)) {}

  [[nodiscard]] std::filesystem::path path() const override { return directory_; }
  [[nodiscard]] PlanIds ids() const override { return read_ids(directory_ / "building_ids.txt"); }
  [[nodiscard]] FloorPlan load(const std::string& id) const override {
    return load_floor_plan(directory_, id);
  }
  [[nodiscard]] Grid<std::uint8_t> interior(const std::string& id) const override {
    return load_interior(directory_, id);
  }
  [[nodiscard]] GridShape shape(const std::string& id) const override {
    return floor_plan_shape(directory_, id);
  }
  [[nodiscard]] PlanStamps stamps(const std::string& id) const override {
    return floor_plan_stamps(directory_, id);
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace

SharedPlanSource directory_source(std::filesystem::path directory) {
  return std::make_shared<DirectorySource>(std::move(directory));
}

}  // namespace wallheat
