#include "store/hdf5/hdf5_handle.hpp"

#include <algorithm>
#include <cstdlib>

namespace wallheat::store {
namespace {

herr_t keep_first(unsigned depth, const H5E_error2_t* error, void* text) {
  // Walking upward starts at the function that failed first; the callers above only add noise.
  if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

/// What stands between two marks, empty if they are not there. HDF5 says "file write failed: time =
/// ..., errno = 28, error message = 'No space left on device', ...".
std::string between(const std::string& text, const std::string& mark, char end_mark) {
  const auto begin = text.find(mark);
  if (begin == std::string::npos) return {};
  const auto end = text.find(end_mark, begin + mark.size());
  return text.substr(begin + mark.size(), end - begin - mark.size());
}

}  // namespace

QuietHdf5::QuietHdf5() {
  unsigned is_new = 0;  // set by the functions of HDF5 1.6 it can be read by those alone
  known_ = H5Eauto_is_v2(H5E_DEFAULT, &is_new) >= 0 && is_new != 0 &&
           H5Eget_auto2(H5E_DEFAULT, &print_, &data_) >= 0;
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietHdf5::~QuietHdf5() {
  if (known_) H5Eset_auto2(H5E_DEFAULT, print_, data_);
}

void throw_hdf5_error(const std::string& what) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
  const std::string code = between(reason, "errno = ", ',');
  if (const auto words = between(reason, "error message = '", '\''); !words.empty()) reason = words;
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  throw Hdf5Error("cannot " + what + (reason.empty() ? "" : ": " + reason),
                  static_cast<int>(std::strtol(code.c_str(), nullptr, 10)));
}

}  // namespace wallheat::store
