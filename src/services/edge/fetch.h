// Fetcher: asks an origin for something, by the rules of [edge].
//
// HTTPS with verification only, to hosts of edge.allow and to addresses that may be connected to
// (egress.h), and so is every redirect; nothing in mode offline. A try, redirects included, has
// fill.timeout; one that is late, finds nobody or is told 503 or 504 is repeated up to
// fill.max_tries in all, as long as the caller's deadline allows; a certificate that does not
// verify is no better a moment later. Nothing of the client's goes to an origin but Accept and
// Accept-Language; Set-Cookie does not come back.
//
// Errors carry what the client is told: NotAllowed 403, BodyCap, DecodedCap and DecodedRatio 413,
// UpstreamFail 502, Timeout 504, Busy 429, Canceled 503; the detail `reason` says more
// (fetch_attempt.h). Each fetch is counted and audited here, also one that is dropped because
// nobody waits for it any more: a timeout if that is why.
//
// Made on cores[0]; asked on any core of the host, which has connections of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/ulid.h"
#include "observe/log.h"
#include "platform/task.h"
#include "runtime/deadline.h"
#include "runtime/retry.h"
#include "runtime/shutdown.h"
#include "services/edge/egress.h"
#include "services/edge/events.h"
#include "services/edge/kept_fields.h"
#include "services/edge/parts.h"

namespace ron::edge {

class FetchAttempt;

// What is known of the copy that is to be checked; both empty: there is none.
struct Validators {
  std::string etag{};  // with its quotes, as the origin wrote it
  std::string last_modified{};
  // Where redirects led to it; empty: there were none. Validators are those of one URL only
  // (RFC 9110, 8.8.3), so nobody else is asked about them.
  std::string url{};

  [[nodiscard]] bool any() const noexcept { return !etag.empty() || !last_modified.empty(); }
};

struct FetchRequest {
  std::string host_port;  // `example.org`, `example.org:8443`
  std::string target;     // path and query, as they are sent
  Validators validators{};
  std::string accept{};
  std::string accept_language{};
  std::string token{};  // whose request it is, for the audit
  base::Ulid corr_id{};
  runtime::Deadline waits_until{};  // that request
};

struct Fetched {
  int status = 0;  // 200, 304, 404 or 410
  // Content-Type, Content-Language, Content-Disposition, Cache-Control, Expires, Age, Date, ETag,
  // Last-Modified, Vary, Link, Content-Security-Policy. A field with several lines has several
  // elements. What redirects and cookies say to caches is in them, unless it is a 304.
  KeptFields fields{};
  Restraints restraints{};                // of a 304: for the fields that it freshens
  std::optional<std::uint64_t> length{};  // of the body as it is written; none until that is known
  std::int64_t requested_ms = 0;          // of the last try
  std::int64_t received_ms = 0;
  std::uint32_t tries = 0;
  std::string final_url{};  // after redirects
};

// Whether the error of a fetch came before any request had left, so that no other request would
// have done better: nobody listens, or the certificate is not to be trusted. Said in its details.
inline constexpr std::pair<std::string_view, std::string_view> kOriginNotAsked = {"origin_asked",
                                                                                  "no"};
bool came_before_asking(const base::Error& error) noexcept;

// Where the body of a 200 goes, without any coding.
class BodySink {
 public:
  BodySink() = default;
  BodySink(const BodySink&) = delete;
  BodySink& operator=(const BodySink&) = delete;
  virtual ~BodySink() = default;

  // A body begins; called again, what came before was worth nothing. `head` is valid during the
  // call. An error ends the fetch and is what it fails with.
  virtual platform::Task<base::Result<>> begin(const Fetched* head) = 0;
  // The next bytes, in order; valid until it returns.
  virtual platform::Task<base::Result<>> write(base::ByteView piece) = 0;
};

// Who can be asked. Any core.
class Origins {
 public:
  Origins() = default;
  Origins(const Origins&) = delete;
  Origins& operator=(const Origins&) = delete;
  virtual ~Origins() = default;

  // Whether edge.allow has it, so that a request can be refused before a worker is asked.
  // NotAllowed or Malformed; counted and audited like get's.
  virtual base::Result<> check(const FetchRequest& request) = 0;

  // The answer of the origin. What went to the sink is a whole body only once this has succeeded
  // with status 200; for other statuses nothing is written. `sink` outlives the task.
  // Cancel-safe: aborting closes the connection.
  virtual platform::Task<base::Result<Fetched>> get(FetchRequest request, BodySink* sink,
                                                    runtime::Deadline deadline) = 0;
};

// Whether an address may be connected to.
using AddressRule = std::function<bool(const platform::Endpoint&)>;

class Fetcher final : public Origins {
 public:
  // By egress.allow_private.
  explicit Fetcher(const EdgeParts& parts);
  // For tests whose origins have private addresses.
  Fetcher(const EdgeParts& parts, const AddressRule& rule);
  ~Fetcher() override;

  base::Result<> check(const FetchRequest& request) override;
  platform::Task<base::Result<Fetched>> get(FetchRequest request, BodySink* sink,
                                            runtime::Deadline deadline) override;

  // The body of a task: keeps a core's connections, and closes them in the end.
  platform::Task<void> dial(std::size_t core, runtime::Shutdown shutdown);

 private:
  struct Loop;
  struct Meters;
  struct Ending;
  class UnderWay;

  Loop& here();
  base::Result<OriginUrl> admit(const FetchRequest& request, const SettingsPtr& config, Loop& loop);
  platform::Task<base::Result<base::Result<Fetched>>> try_once(FetchAttempt* attempt,
                                                               runtime::Deadline deadline);
  void refused(const FetchRequest& request, const base::Error& error);
  void settle(const FetchRequest& request, const Ending& ending);
  void tell(EventKind kind, const FetchRequest& request, std::string url, std::string detail,
            std::uint64_t bytes);

  EdgeParts parts_;
  std::unique_ptr<Meters> meters_;
  runtime::RetryBudget retries_;
  observe::LogLimiter refusals_;
  std::vector<std::unique_ptr<Loop>> loops_;  // of each core
};

}  // namespace ron::edge
