#include "report/xdmf.hpp"

#include <fmt/format.h>

#include <iterator>
#include <map>

#include "core/printable.hpp"
#include "report/report_page.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

const std::string_view xdmf_magic = "<?xml version=\"1.0\"?>\n<Xdmf Version=\"2.0\">\n<Domain>\n";

std::string xdmf_of(const std::vector<StoredField>& fields, const std::filesystem::path& results) {
  const std::string file = results.string();
  // What follows the first colon would be the dataset, and blanks at the ends are cut off.
  if (file.find(':') != std::string::npos || file.starts_with(' ') || printable(file) != file)
    throw RunError(fmt::format(
        "an XDMF file cannot name '{}': rename it, in plain characters without ':', and without a "
        "blank at its beginning",
        printable(file)));
  std::map<GridShape, std::string> series;
  for (const StoredField& field : fields) {
    const auto [rows, cols] = field.shape;
    // Three dimensions with one layer, as ParaView shows a grid of two from its edge.
    fmt::format_to(std::back_inserter(series[field.shape]),
                   "<Grid Name=\"{}\">\n"
                   " <Time Value=\"{}\"/>\n"
                   " <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"2 {} {}\"/>\n"
                   " <Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n"
                   "  <DataItem Dimensions=\"3\">0 0 0</DataItem>\n"
                   "  <DataItem Dimensions=\"3\">1 1 1</DataItem>\n"
                   " </Geometry>\n"
                   " <Attribute Name=\"temperature\" Center=\"Cell\">\n"
                   "  <DataItem Dimensions=\"1 {} {}\" NumberType=\"Float\" Precision=\"8\" "
                   "Format=\"HDF\">{}:{}</DataItem>\n"
                   " </Attribute>\n"
                   "</Grid>\n",
                   escaped(field.id), field.row, rows + 1, cols + 1, rows, cols, escaped(file),
                   escaped(field.dataset));
  }
  std::string text(xdmf_magic);
  for (const auto& [shape, grids] : series)
    text += fmt::format(
        "<Grid Name=\"{}x{}\" GridType=\"Collection\" CollectionType=\"Temporal\">\n{}</Grid>\n",
        shape.rows, shape.cols, grids);
  return text + "</Domain>\n</Xdmf>\n";
}

}  // namespace wallheat
