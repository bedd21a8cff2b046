#include "services/index/dht_target.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "b3/hash.h"
#include "base/encoding.h"
#include "base/json.h"
#include "services/index/dht_answer.h"
#include "services/index/metric_names.h"
#include "services/index/target_call.h"

namespace ron::index {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;
using runtime::Deadline;

// A value has an id besides its key, and values of one id replace nothing: the DHT keeps both
// unless they are equal. So a record's id is made of its bytes, and to publish it again is to
// refresh it.
std::string value_of(const catalog::ProviderRecord& record) {
  const std::string bytes = encode(record);
  const base::ObjectId digest = b3::hash(base::as_bytes(bytes));
  std::uint64_t id = 0;
  std::memcpy(&id, digest.digest().data(), sizeof id);
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  json.key("data").value(base::to_base64(base::as_bytes(bytes)));
  json.key("id").value(std::to_string(id));
  json.key("type").value(0);
  json.end_object();
  return out;
}

}  // namespace

DhtTarget::DhtTarget(http::Client& client, runtime::Meters& meters, std::uint8_t lane,
                     http::UpstreamAddress proxy)
    : client_(client),
      lane_(lane),
      proxy_(std::move(proxy)),
      skipped_(meters.counter(metrics::kValuesSkipped)) {}

Task<Result<void>> DhtTarget::find(base::ObjectId addr, Finds* finds, Deadline deadline) {
  TargetCall get{.path = "/" + catalog::lane_key(lane_, addr)};
  Result<http::ClientResponse> response =
      co_await call(&client_, &proxy_, std::move(get), deadline);
  if (!response) co_return fail(response.error());
  finds->begun();
  const Result<void> proper = check_answer(*response, "application/json");
  if (!proper) co_return proper;
  const Result<void> heard = co_await read(std::move(*response), finds, deadline);
  co_return heard;
}

Task<Result<void>> DhtTarget::read(http::ClientResponse response, Finds* finds, Deadline deadline) {
  DhtAnswer answer;
  bool enough = false;
  for (;;) {
    const Result<base::ByteView> piece = co_await response.next();
    // With what counts already heard it does not matter how the rest ends.
    if (!piece) co_return enough ? Result<void>() : fail(piece.error());
    const bool ended = piece->empty();
    const std::uint64_t skipped = answer.skipped();
    std::vector<catalog::ProviderRecord> records;
    const Result<void> taken = ended ? answer.finish(records) : answer.take(*piece, records);
    skipped_.add(answer.skipped() - skipped);
    if (!records.empty()) enough = co_await finds->offer(std::move(records));
    if (!taken) co_return enough ? Result<void>() : taken;
    if (ended) co_return Result<void>();
    if (enough) response.set_deadline(deadline.sooner(Deadline::in(kSettle)));
  }
}

Task<Result<void>> DhtTarget::publish(catalog::ProviderRecord record, Deadline deadline) {
  TargetCall post{.method = http::Method::Post,
                  .path = "/" + catalog::lane_key(lane_, record.addr),
                  .content_type = "application/json",
                  .body = value_of(record)};
  Result<http::ClientResponse> response =
      co_await call(&client_, &proxy_, std::move(post), deadline);
  if (!response) co_return fail(response.error());
  const Result<void> taken = co_await check_taken(std::move(*response));
  co_return taken;
}

}  // namespace ron::index
