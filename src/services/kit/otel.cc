#include "services/kit/otel.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/value.h"
#include "http/client.h"
#include "http/field_list.h"
#include "runtime/background.h"
#include "runtime/wait_either.h"
#include "services/kit/ops_routes.h"
#include "services/kit/wires.h"

namespace ron::kit {
namespace {

using platform::Task;
using runtime::Deadline;
using runtime::Shutdown;
using runtime::Waited;

constexpr std::string_view kUsualTarget = "/v1/traces";
constexpr std::array<http::Field, 1> kFields = {{{"Content-Type", "application/json"}}};
// Of an answer; longer ones are not looked at.
constexpr std::uint64_t kAnswerBytes = 16 * base::kKiB;
static_assert(kSpansChannel.capacity >= 2 * OtelExporter::kBatchSpans,
              "requests go on while a batch is posted");

// OTLP/HTTP: with these the same batch may be accepted later, with others it never will be.
constexpr std::array kTransient = {429, 502, 503, 504};

base::Ulid new_instance(const platform::Host& host) {
  const std::uint64_t high = host.random.next();
  return {static_cast<std::uint64_t>(host.clock.unix_ms()), static_cast<std::uint16_t>(high),
          host.random.next()};
}

// `{"partialSuccess":{"rejectedSpans":"3"}}`: 64-bit numbers are texts, or numbers all the same.
std::uint64_t rejected_spans(std::string_view answer) {
  const base::Result<base::Value> document = base::parse_json(answer);
  if (!document) return 0;
  const base::Value* const partial = document->find("partialSuccess");
  const base::Value* const rejected = partial != nullptr ? partial->find("rejectedSpans") : nullptr;
  if (rejected == nullptr) return 0;
  if (const std::string* text = rejected->text()) return http::parse_decimal(*text).value_or(0);
  return rejected->unsigned_number().value_or(0);
}

base::Duration patience_of(const http::ClientResponse& response) {
  const auto value = response.head().find("Retry-After");
  const auto seconds = value ? http::parse_decimal(*value) : std::nullopt;
  const base::Duration most = OtelExporter::kMostPatience;
  if (!seconds) return {};
  if (*seconds >= static_cast<std::uint64_t>(most / std::chrono::seconds(1))) return most;
  return std::chrono::seconds(*seconds);
}

}  // namespace

base::Result<Collector> Collector::parse(std::string_view endpoint) {
  constexpr std::string_view kSchemeEnd = "://";
  std::string_view target;
  const std::size_t scheme = endpoint.find(kSchemeEnd);
  if (scheme != std::string_view::npos) {
    const std::size_t path = endpoint.find('/', scheme + kSchemeEnd.size());
    if (path != std::string_view::npos) target = endpoint.substr(path);
    endpoint = endpoint.substr(0, path);
  }
  auto address = http::UpstreamAddress::parse(endpoint);
  if (!address) return base::fail(std::move(address.error()));
  if (target.empty() || target == "/") target = kUsualTarget;
  if (!http::is_target(target)) {
    return base::fail(base::Code::Malformed, "the path of the collector has to be encoded");
  }
  return Collector{std::move(*address), std::string(target)};
}

OtelExporter::OtelExporter(OtelParts parts)
    : host_(parts.host),
      trust_(std::move(parts.trust)),
      log_(parts.log),
      meters_(parts.topology->meters()),
      instance_(new_instance(host_)),
      spans_(*parts.topology, kSpansChannel),
      collectors_(*parts.topology, kCollectorChannel, nullptr),
      exported_(meters_.counter(observe::metrics::kSpansExportedTotal)),
      dropped_(meters_.counter(observe::metrics::kSpansDroppedTotal)),
      failures_(meters_.counter(observe::metrics::kExportFailuresTotal)),
      jitter_(host_.random.next()) {
  batch_.reserve(kBatchSpans);
}

OtelExporter::~OtelExporter() = default;

void OtelExporter::apply(bool enabled, std::string_view endpoint) {
  CollectorPtr next;
  if (enabled) {
    auto collector = Collector::parse(endpoint);
    if (collector) next = std::make_shared<const Collector>(std::move(*collector));
    if (!collector) log_.warn("spans are not exported", {{"what", collector.error().message}});
  }
  // Recording stops before the exporter drops what is queued, and begins after it knows where to.
  if (!next) spans_.set_enabled(false);
  const bool wanted = next != nullptr;
  collectors_.set(std::move(next));
  if (wanted) spans_.set_enabled(true);
}

Task<void> OtelExporter::run(Shutdown shutdown) {
  http::Client client(host_.net,
                      {.tls = trust_, .clock = &host_.clock, .resolver = &host_.resolver}, meters_);
  auto collectors = collectors_.subscribe();
  while (!shutdown.requested()) {
    if (collectors.see() == nullptr) {
      discard_queued();
      co_await collectors.changed(Deadline(), shutdown);
      continue;
    }
    const Waited waited = co_await gather(&collectors, shutdown);
    if (waited == Waited::TimedOut) co_await deliver(&client, &collectors, shutdown);
  }
  bool delivered = collectors.see() != nullptr;
  while (delivered && spans_.depth() > 0) {
    delivered = co_await deliver(&client, &collectors, shutdown);
  }
  discard_queued();
}

// Until there is a batch or it is time for what there is: TimedOut. Otherwise what changed.
Task<Waited> OtelExporter::gather(Collectors::Receiver* collectors, Shutdown shutdown) {
  const Deadline latest = Deadline::in(kBatchEvery);
  while (spans_.depth() < kBatchSpans && !latest.passed()) {
    const Deadline look = Deadline::in(kLookEvery).sooner(latest);
    const Waited waited = co_await collectors->changed(look, shutdown);
    if (waited != Waited::TimedOut) co_return waited;
  }
  co_return Waited::TimedOut;
}

void OtelExporter::take_batch() {
  batch_.clear();
  while (batch_.size() < kBatchSpans) {
    const std::optional<observe::Span> span = spans_.try_take();
    if (!span) return;
    batch_.push_back(*span);
  }
}

void OtelExporter::discard_queued() {
  while (spans_.try_take()) dropped_.add();
}

// One batch, to its end: false if it was dropped. After a change of settings it goes where they
// say; after a stop it is posted once more.
Task<bool> OtelExporter::deliver(http::Client* client, Collectors::Receiver* collectors,
                                 Shutdown shutdown) {
  take_batch();
  if (batch_.empty()) co_return true;
  const std::string instance(instance_.text());
  const std::string body = render_otlp({meters_.service(), version(), instance}, batch_);
  for (std::uint32_t tried = 1;; ++tried) {
    const CollectorPtr to = collectors->see();
    if (to == nullptr) break;
    const Outcome outcome = co_await post_until_stop(client, to, body, shutdown);
    if (outcome.accepted) {
      const std::uint64_t rejected = std::min<std::uint64_t>(outcome.rejected, batch_.size());
      exported_.add(batch_.size() - rejected);
      dropped_.add(rejected);
      co_return true;
    }
    failed(to, outcome);
    if (!outcome.try_again || tried == kTries || shutdown.requested()) break;
    const base::Duration pause = std::max(kBackoff.delay(tried - 1, jitter_), outcome.patience);
    co_await collectors->changed(Deadline::in(pause), shutdown);
  }
  dropped_.add(batch_.size());
  co_return false;
}

void OtelExporter::failed(const CollectorPtr& to, const Outcome& outcome) {
  failures_.add();
  const auto silenced = failures_said_.admit(host_.clock.unix_ms());
  if (!silenced) return;
  log_.warn("cannot export spans", {{"endpoint", to->address.url()},
                                    {"what", outcome.what},
                                    {"spans", batch_.size()},
                                    {"silenced", *silenced}});
}

// A stop gives all that is still to be posted a moment, no more.
Task<OtelExporter::Outcome> OtelExporter::post_until_stop(http::Client* client, CollectorPtr to,
                                                          std::string_view body,
                                                          Shutdown shutdown) {
  runtime::Background<Outcome> posting(post(client, std::move(to), body));
  if (!posting.done()) {
    const runtime::First first = co_await runtime::wait_either(
        posting.finished(), runtime::StopOp{std::move(shutdown)}, Deadline());
    if (first == runtime::First::Other) {
      if (last_moment_ == Deadline()) last_moment_ = Deadline::in(kLastPosts);
      co_await runtime::wait_for(posting.finished(), last_moment_);
    }
  }
  if (posting.done()) co_return posting.take();
  co_return Outcome{.what = "the service stops and the collector has not answered"};
}

Task<OtelExporter::Outcome> OtelExporter::post(http::Client* client, CollectorPtr to,
                                               std::string_view body) {
  const base::ByteView bytes = base::as_bytes(body);
  http::ClientRequest request{
      .method = http::Method::Post, .target = to->target, .fields = kFields, .body = {&bytes, 1}};
  to->address.aim(request);
  request.host = to->address.authority();
  base::Result<http::ClientResponse> response =
      co_await client->send(request, Deadline::in(kPostDeadline));
  if (!response) co_return Outcome{.try_again = true, .what = response.error().message};
  // Read to its end, so that the connection can be used again.
  const base::Result<base::Buffer> answer = co_await response->read_all(kAnswerBytes);
  co_return judge(*response, answer ? base::as_text(answer->view()) : std::string_view());
}

OtelExporter::Outcome OtelExporter::judge(const http::ClientResponse& response,
                                          std::string_view answer) {
  const int status = response.status();
  if (status >= 200 && status < 300) return {.accepted = true, .rejected = rejected_spans(answer)};
  return {.try_again = std::ranges::find(kTransient, status) != kTransient.end(),
          .patience = patience_of(response),
          .what = "the collector answered " + std::to_string(status)};
}

}  // namespace ron::kit
