// OtelExporter: sends the spans of a service's requests to a collector, as OTLP over HTTP/JSON.
//
//   OtelExporter otel_{{host(), &topology(), trust(), log()}};    // a member of the service
//   trace_to(otel_.spans());                                      // in its constructor
//   start_task(kOtelTask, core, [this](Shutdown stop) { return otel_.run(stop); });  // first
//   otel_.apply(config.otel.enabled, config.otel.endpoint);       // in apply()
//
// and kOtelTask, kSpansChannel and kCollectorChannel (wires.h) in its tables.
//
// Requests never notice it: they put a span into a bounded queue, or drop the oldest one, and wake
// nobody. The exporter takes batches of at most kBatchSpans, at the latest every kBatchEvery, and
// posts them one after the other. A batch that fails is tried again after a backoff, kTries times
// in all, unless the collector says that this does not help; then it is dropped and counted. So it
// holds one queue, one batch and one document, whatever the collector does.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/ulid.h"
#include "base/units.h"
#include "http/upstream_address.h"
#include "observe/log.h"
#include "observe/span.h"
#include "observe/span_queue.h"
#include "platform/host.h"
#include "platform/random.h"
#include "platform/task.h"
#include "platform/tls.h"
#include "runtime/backoff.h"
#include "runtime/deadline.h"
#include "runtime/meter.h"
#include "runtime/shutdown.h"
#include "runtime/topology.h"
#include "runtime/waiting.h"
#include "runtime/watch.h"

namespace ron::http {
class Client;
class ClientResponse;
}  // namespace ron::http

namespace ron::kit {

// Where a collector takes spans: `http://HOST:PORT/PATH`, `https://HOST:PORT/PATH` or
// `unix:/SOCKET`. Without a path it is the usual one, /v1/traces. For a check of configuration,
// too.
struct Collector {
  http::UpstreamAddress address;
  std::string target;

  // Malformed says what is wrong with it.
  static base::Result<Collector> parse(std::string_view endpoint);
};

// All of it outlives the exporter.
struct OtelParts {
  platform::Host host;
  runtime::Topology* topology;
  std::shared_ptr<const platform::TlsClient> trust;  // null: no https collector can be asked
  observe::Log log;
};

// Made on any core; run() belongs to one. Off until apply() says otherwise.
class OtelExporter {
 public:
  static constexpr std::size_t kBatchSpans = 512;
  static constexpr base::Duration kBatchEvery = std::chrono::seconds(1);
  // How often it looks whether a batch is full before that.
  static constexpr base::Duration kLookEvery = std::chrono::milliseconds(50);
  static constexpr base::Duration kPostDeadline = std::chrono::seconds(5);
  static constexpr std::uint32_t kTries = 4;
  static constexpr runtime::Backoff kBackoff{std::chrono::seconds(1), std::chrono::seconds(8)};
  // A collector may ask for more patience than the backoff has, up to this.
  static constexpr base::Duration kMostPatience = std::chrono::seconds(30);
  // For everything that is left at a stop.
  static constexpr base::Duration kLastPosts = std::chrono::seconds(1);

  explicit OtelExporter(OtelParts parts);
  OtelExporter(const OtelExporter&) = delete;
  OtelExporter& operator=(const OtelExporter&) = delete;
  ~OtelExporter();

  // For the servers whose requests are traced.
  [[nodiscard]] observe::SpanQueue& spans() noexcept { return spans_; }

  // From now on spans go to the collector at `endpoint`, or nowhere. One that cannot be understood
  // is nowhere, and said in the log. What is queued goes to the new collector. Any core.
  void apply(bool enabled, std::string_view endpoint);

  // The supervised task. At a stop it posts once what it has. Cancel-safe: the batch at hand goes
  // with it.
  platform::Task<void> run(runtime::Shutdown shutdown);

 private:
  using CollectorPtr = std::shared_ptr<const Collector>;  // null: nowhere
  using Collectors = runtime::Watch<CollectorPtr>;

  // What came of a post.
  struct Outcome {
    bool accepted = false;
    std::uint64_t rejected = 0;  // spans of an accepted batch that the collector did not want
    bool try_again = false;      // that may help
    base::Duration patience{};   // what the collector asks for before that
    std::string what{};          // went wrong
  };

  platform::Task<runtime::Waited> gather(Collectors::Receiver* collectors,
                                         runtime::Shutdown shutdown);
  platform::Task<bool> deliver(http::Client* client, Collectors::Receiver* collectors,
                               runtime::Shutdown shutdown);
  platform::Task<Outcome> post_until_stop(http::Client* client, CollectorPtr to,
                                          std::string_view body, runtime::Shutdown shutdown);
  platform::Task<Outcome> post(http::Client* client, CollectorPtr to, std::string_view body);
  static Outcome judge(const http::ClientResponse& response, std::string_view answer);
  void take_batch();
  void discard_queued();
  void failed(const CollectorPtr& to, const Outcome& outcome);

  const platform::Host host_;
  const std::shared_ptr<const platform::TlsClient> trust_;
  const observe::Log log_;
  runtime::Meters& meters_;
  const base::Ulid instance_;
  observe::SpanQueue spans_;
  Collectors collectors_;
  runtime::Counter& exported_;
  runtime::Counter& dropped_;
  runtime::Counter& failures_;
  observe::LogLimiter failures_said_{60'000};
  // Of run().
  platform::FastRandom jitter_;
  std::vector<observe::Span> batch_;  // at most kBatchSpans
  runtime::Deadline last_moment_;     // set by a stop
};

}  // namespace ron::kit
