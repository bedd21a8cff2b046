#include "services/index/peer_target.h"

#include <string>
#include <utility>
#include <vector>

#include "services/index/record_list.h"
#include "services/index/target_call.h"

namespace ron::index {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;
using runtime::Deadline;

PeerTarget::PeerTarget(http::Client& client, http::UpstreamAddress peer)
    : client_(client), peer_(std::move(peer)) {}

Task<Result<void>> PeerTarget::find(base::ObjectId addr, Finds* finds, Deadline deadline) {
  TargetCall get{.path = "/providers/" + addr.text() + "?local=1",
                 .accept = std::string(kRecordListType)};
  Result<http::ClientResponse> response = co_await call(&client_, &peer_, std::move(get), deadline);
  if (!response) co_return fail(response.error());
  finds->begun();
  if (response->status() == 404) {
    // What it says besides is of no interest; it is read so that the connection can be kept.
    (void)co_await response->read_all(kMaxRecordListBytes);
    co_return Result<void>();
  }
  const Result<void> proper = check_answer(*response, kRecordListType);
  if (!proper) co_return proper;
  const Result<base::Buffer> body = co_await response->read_all(kMaxRecordListBytes);
  if (!body) co_return fail(body.error());
  Result<std::vector<catalog::ProviderRecord>> records = decode_records(body->view());
  if (!records) {
    co_return fail(Code::UpstreamFail, "its list of records: " + records.error().message);
  }
  co_await finds->offer(std::move(*records));
  co_return Result<void>();
}

Task<Result<void>> PeerTarget::publish(catalog::ProviderRecord record, Deadline deadline) {
  TargetCall put{.method = http::Method::Put,
                 .path = "/providers/" + record.addr.text(),
                 .content_type = std::string(kRecordListType),
                 .body = encode(record)};
  Result<http::ClientResponse> response = co_await call(&client_, &peer_, std::move(put), deadline);
  if (!response) co_return fail(response.error());
  const Result<void> taken = co_await check_taken(std::move(*response));
  co_return taken;
}

}  // namespace ron::index
