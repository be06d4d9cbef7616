#include "store/stored_fields.hpp"

#include "store/boundary.hpp"
#include "store/result_path.hpp"
#include "store/view.hpp"

namespace wallheat {

using namespace store;

std::vector<StoredField> stored_fields(const std::filesystem::path& file) {
  return in_one_sentence(file, {}, [&] {
    const View view(result_path(file));
    if (view.journals() > 0)
      throw RunError(file.string() +
                     " is not whole yet: other programs find its fields once the run has finished, "
                     "or after 'wallheat repair'; while it runs, 'wallheat merge --allow-missing' "
                     "makes a whole copy");
    std::vector<StoredField> fields;
    view.for_each_row([&](const Row& row) {
      if (has_field(row))
        fields.push_back({row.index, std::string(id_of(row)), shape_of(row),
                          "/fields/" + field_name(id_of(row))});
    });
    return fields;
  });
}

}  // namespace wallheat
