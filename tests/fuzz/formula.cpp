// A formula of --where or --sort.

#include <cmath>
#include <limits>

#include "report/row_table.hpp"
#include "target.hpp"
#include "wallheat/error.hpp"

namespace wallheat::fuzz {

std::vector<std::string> seeds() {
  return {"id = 'villa' AND status != 'converged' or mean_temp / 2 < 1.5e-05",
          "status in ('failed', \"empty\") and not (id like '%a''b%')",
          "max(abs(mean_temp), round(rows, 1)) between 3 and iif(id == \"x\", 4, seconds)",
          "1) from row; select (1",
          "case when host is null then 3 else error end collate nocase",
          "1 < mean_temp < 3",
          "count(*) over () && 3 || x",
          "-- /* ?1 :a @b $c [id] `id` x'00' 0x1F \"mean_tmp\""};
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat;
  using namespace wallheat::fuzz;
  PlanResult solved;
  solved.id = "villa";
  solved.status = PlanStatus::converged;
  solved.statistics = {13.5, std::numeric_limits<double>::infinity(), 10, 60};
  accepts<UsageError>([&] {
    const auto formula = row_formula<PlanResult>("where", std::string(text_of(data, size)));
    for (const PlanResult& row : {PlanResult(), solved, PlanResult()}) {
      const Value value = formula(row);
      const auto* const number = std::get_if<double>(&value);
      require(number == nullptr || !std::isnan(*number), "NaN, by which nothing can be sorted");
    }
  });
  return 0;
}
