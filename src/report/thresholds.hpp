#pragma once

#include "plans/plan_source.hpp"
#include "report/row_table.hpp"

namespace wallheat {

/// The thresholds that a file's shares of cells are counted by; those of a file that does not say
/// are the reference's.
[[nodiscard]] Thresholds recorded_thresholds(const ResultReader& reader);

/// The rows of a file with their shares counted again by other thresholds, from the stored fields
/// and the plans' masks: nothing is solved. The cells in doubt are those within error_bound; they
/// are not known of fastforward. Reads all fields, by all cores of the process. Throws RunError
/// that names the plan if an answer has no field, or its plan is not there, or another one.
/// `reader` must live as long.
[[nodiscard]] Rows counted_again(const ResultReader& reader, const PlanSource& plans,
                                 const Thresholds& thresholds);

}  // namespace wallheat
