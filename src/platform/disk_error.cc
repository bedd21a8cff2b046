#include "platform/disk_error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace ron::platform {
namespace {

base::Code code_of(int error) noexcept {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return base::Code::StorageFull;
    case ENOENT:
    case ENOTDIR:
      return base::Code::NotFound;
    case EIO:
    case EAGAIN:
    case EBUSY:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case ETIMEDOUT:
      return base::Code::StorageBusy;
    case EEXIST:
    case ENOTEMPTY:
      return base::Code::PreconditionFailed;
    default:
      return base::Code::Internal;
  }
}

// What a block device may answer about single sectors.
constexpr std::array<std::string_view, 4> kMediumErrors = {"EIO", "ENODATA", "EILSEQ", "EREMOTEIO"};

}  // namespace

base::Error disk_error(std::string_view what, std::string_view path, int error) {
  std::string message(what);
  message += " '";
  message += path;
  message += "': ";
  message += std::generic_category().message(error);
  const char* const name = strerrorname_np(error);
  return base::Error(code_of(error), std::move(message))
      .with("errno", name != nullptr ? name : std::to_string(error));
}

bool is_medium_error(const base::Error& error) noexcept {
  return std::ranges::any_of(error.details, [](const auto& detail) {
    return detail.first == "errno" &&
           std::ranges::find(kMediumErrors, detail.second) != kMediumErrors.end();
  });
}

}  // namespace ron::platform
