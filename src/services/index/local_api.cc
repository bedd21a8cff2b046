#include "services/index/local_api.h"

#include <utility>

namespace ron::index {

using base::fail;
using base::Result;
using platform::Task;

Task<Result<std::size_t>> LocalApi::announce(std::vector<catalog::ProviderRecord> records,
                                             runtime::Deadline deadline) {
  if (records.empty()) co_return std::size_t{0};
  const auto announced = co_await core_.announce(std::move(records), {}, deadline);
  if (!announced) co_return fail(announced.error());
  co_return announced->accepted;
}

Task<Result<index_api::NamedTarget>> LocalApi::look_up(catalog::NameRef name, runtime::Deadline) {
  const auto version = co_await find_name(&core_.map(), std::move(name));
  if (!version) co_return fail(version.error());
  if (!*version || !(*version)->target) {
    co_return fail(base::Code::NotFound, "there is no such name");
  }
  co_return index_api::NamedTarget{*(*version)->target, (*version)->version, (*version)->type};
}

}  // namespace ron::index
