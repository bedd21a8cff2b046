#include "services/index/static_target.h"

#include <string>
#include <utility>
#include <vector>

#include "services/index/target_call.h"

namespace ron::index {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;
using runtime::Deadline;

StaticTarget::StaticTarget(http::Client& client, http::UpstreamAddress server)
    : client_(client), server_(std::move(server)) {}

Task<Result<void>> StaticTarget::find(base::ObjectId addr, Finds* finds, Deadline deadline) {
  TargetCall head{.method = http::Method::Head, .path = "/o/" + addr.text()};
  const Result<http::ClientResponse> response =
      co_await call(&client_, &server_, std::move(head), deadline);
  if (!response) co_return fail(response.error());
  finds->begun();
  const int status = response->status();
  if (status != 200 && status != 404) {
    co_return fail(Code::UpstreamFail, "it answers " + std::to_string(status));
  }
  if (status == 404) co_return Result<void>();
  std::vector<catalog::ProviderRecord> records(1);
  records.front().addr = addr;
  records.front().url = server_.url();
  co_await finds->offer(std::move(records));
  co_return Result<void>();
}

Task<Result<void>> StaticTarget::publish(catalog::ProviderRecord, Deadline) {
  co_return Result<void>();
}

}  // namespace ron::index
