#include "services/index/api/http_index.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "base/value.h"
#include "catalog/name.h"
#include "runtime/background.h"

namespace ron::index_api {
namespace {

using base::Code;
using base::fail;
using base::Result;
using catalog::ProviderRecord;
using http::Method;
using platform::Task;
using runtime::Deadline;

constexpr std::uint64_t kAnswerBytes = 64 * base::kKiB;

// What an answer of 4xx or 5xx says: its envelope names the code.
base::Error error_of(int status, std::string_view body) {
  const auto codes = base::all_codes();
  const Result<base::Value> document = base::parse_json(body);
  const base::Value* const envelope = document ? document->find("error") : nullptr;
  const base::Value* const code = envelope != nullptr ? envelope->find("code") : nullptr;
  const std::string* const name = code != nullptr ? code->text() : nullptr;
  const auto named =
      name != nullptr ? std::ranges::find(codes, *name, &base::CodeInfo::name) : codes.end();
  return {named != codes.end() ? named->code : Code::UpstreamFail,
          "the index answered " + std::to_string(status) +
              (named != codes.end() ? " " + std::string(named->name) : "")};
}

Result<NamedTarget> named_target(std::string_view body) {
  const Result<base::Value> document = base::parse_json(body);
  const base::Value* const target = document ? document->find("target") : nullptr;
  const base::Value* const version = document ? document->find("version") : nullptr;
  const base::Value* const type = document ? document->find("type") : nullptr;
  if (target == nullptr || target->text() == nullptr || version == nullptr ||
      !version->unsigned_number()) {
    return fail(Code::UpstreamFail, "the index's answer is not a name");
  }
  const auto address = base::ObjectId::parse(*target->text());
  if (!address) return fail(Code::UpstreamFail, "the index's answer has no address");
  NamedTarget out{*address, *version->unsigned_number(), {}};
  if (type != nullptr && type->text() != nullptr) out.type = *type->text();
  return out;
}

}  // namespace

HttpIndex::HttpIndex(HttpIndexParts parts)
    : address_(std::move(parts.address)),
      authorization_(parts.token.empty() ? "" : "Bearer " + parts.token),
      clock_(parts.host.clock),
      client_(parts.host.net,
              {.tls = std::move(parts.trust),
               .clock = &parts.host.clock,
               .resolver = &parts.host.resolver},
              *parts.meters) {}

Task<Result<std::size_t>> HttpIndex::announce(std::vector<ProviderRecord> records,
                                              Deadline deadline) {
  Batch batch{.records = std::move(records)};
  using Lane = runtime::Background<Result<void>>;
  std::vector<std::unique_ptr<Lane>> lanes;
  for (std::size_t i = 0; i < std::min(kLanes, batch.records.size()); ++i) {
    lanes.push_back(std::make_unique<Lane>(send_some(&batch, deadline)));
  }
  Result<void> all;
  for (const auto& lane : lanes) {
    if (!lane->done()) co_await runtime::wait_for(lane->finished(), Deadline());
    Result<void> sent = lane->take();
    if (!sent && all) all = fail(std::move(sent.error()));
  }
  if (!all) co_return fail(std::move(all.error()));
  co_return batch.accepted;
}

// The index has a newer one, or never had the one that is withdrawn: nothing that trying again
// would change.
bool HttpIndex::is_settled(const ProviderRecord& record, Code code) const {
  if (code == Code::VersionSkew) return true;
  const auto unix_ms = static_cast<std::uint64_t>(clock_.unix_ms());
  return code == Code::Malformed && record.expires_ms <= unix_ms;
}

// One record after the other, until there are none; an error ends the other lanes, too.
Task<Result<void>> HttpIndex::send_some(Batch* batch, Deadline deadline) {
  while (batch->next < batch->records.size()) {
    const ProviderRecord& record = batch->records[batch->next++];
    const Result<std::string> answer = co_await ask(Method::Put, "/providers/" + record.addr.text(),
                                                    catalog::encode(record), deadline);
    if (answer) ++batch->accepted;
    if (answer || is_settled(record, answer.error().code)) continue;
    batch->next = batch->records.size();
    co_return fail(answer.error());
  }
  co_return Result<void>();
}

Task<Result<NamedTarget>> HttpIndex::look_up(catalog::NameRef name, Deadline deadline) {
  const Result<std::string> answer =
      co_await ask(Method::Get, "/names/" + catalog::encode_in_path(name.text()), "", deadline);
  if (!answer) co_return fail(answer.error());
  co_return named_target(*answer);
}

Task<Result<std::string>> HttpIndex::ask(Method method, std::string target, std::string body,
                                         Deadline deadline) {
  std::vector<http::Field> fields;
  if (!authorization_.empty()) fields.push_back({"Authorization", authorization_});
  if (!body.empty()) fields.push_back({"Content-Type", "application/cbor"});
  const base::ByteView bytes = base::as_bytes(body);
  http::ClientRequest request{.method = method, .target = target, .fields = fields};
  if (!body.empty()) request.body = {&bytes, 1};
  address_.aim(request);
  request.host = address_.authority();
  Result<http::ClientResponse> response = co_await client_.send(request, deadline);
  if (!response) co_return fail(std::move(response.error()));
  const Result<base::Buffer> read = co_await response->read_all(kAnswerBytes);
  if (!read) co_return fail(read.error());
  const std::string_view text = base::as_text(read->view());
  if (response->status() >= 300) co_return fail(error_of(response->status(), text));
  co_return std::string(text);
}

}  // namespace ron::index_api
