#include "services/edge/fetch.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "http/client.h"
#include "http/uri.h"
#include "runtime/metric_names.h"
#include "runtime/permit.h"
#include "services/edge/fetch_attempt.h"
#include "services/edge/metric_names.h"

namespace ron::edge {
namespace {

using base::Code;
using base::Error;
using base::fail;
using base::Result;
using platform::Task;
using runtime::Deadline;

// For connections to be closed in peace.
constexpr base::Duration kLastWords = std::chrono::milliseconds(100);
// Bodies that a core decodes at once; others wait. A decoder may take http::decoder_bytes.
constexpr std::size_t kDecoders = 4;
// A fill may be tried again at once a hundred times, and one in five in the long run.
constexpr double kRetryShare = 0.2;
constexpr std::uint32_t kRetryReserve = 100;
// A try has a deadline of its own (fill.timeout), sooner than this.
constexpr base::Duration kNoTimeout = std::chrono::hours(1);

// In the order of metrics::kFillOutcomes.
enum class Outcome : std::uint8_t {
  Filled,
  NotModified,
  NotFound,
  Refused,
  TooLarge,
  EtagInvalid,
  Timeout,
  Failed
};

Outcome outcome_of(const Fetched& fetched) noexcept {
  if (fetched.status == 200) return Outcome::Filled;
  return fetched.status == 304 ? Outcome::NotModified : Outcome::NotFound;
}

Outcome outcome_of(const Error& error) noexcept {
  switch (error.code) {
    case Code::NotAllowed:
      return Outcome::Refused;
    case Code::BodyCap:
    case Code::DecodedCap:
    case Code::DecodedRatio:
      return Outcome::TooLarge;
    case Code::Timeout:
      return Outcome::Timeout;
    default:
      return reason_of(error) == reason::kEtagInvalid ? Outcome::EtagInvalid : Outcome::Failed;
  }
}

void count_reject(Rejects& rejects, const Error& error) noexcept {
  switch (outcome_of(error)) {
    case Outcome::Refused:
      return rejects.count(Reject::NotAllowed);
    case Outcome::TooLarge:
      return rejects.count(error.code == Code::BodyCap ? Reject::BodyCap : Reject::DecompressCap);
    case Outcome::EtagInvalid:
      return rejects.count(Reject::EtagInvalid);
    default:
      return;  // every 504 is counted where it is answered
  }
}

runtime::RetryPolicy retry_policy(const FillConfig& fill) {
  return {.max_tries = static_cast<std::uint32_t>(fill.max_tries),
          .backoff = {.base = fill.base,
                      .cap = fill.max,
                      .jitter = fill.jitter ? runtime::Jitter::Base : runtime::Jitter::None}};
}

http::ClientSettings client_settings(const EdgeParts& parts, const EdgeConfig& config,
                                     const AddressRule& rule) {
  http::ClientSettings settings;
  settings.tls = parts.tls;
  settings.clock = &parts.host.clock;
  settings.resolver = &parts.host.resolver;
  settings.allow_address = rule;
  settings.max_connections = config.workers;
  settings.max_waiting = config.workers;
  settings.max_idle_total = config.workers;
  settings.connect_timeout = config.fill.timeout;
  settings.write_timeout = kNoTimeout;
  settings.read_timeout = kNoTimeout;
  return settings;
}

AddressRule configured_rule(const EdgeConfig& config) {
  return config.allow_private ? AddressRule() : AddressRule(is_public);
}

std::string plural(std::uint32_t tries) {
  return std::to_string(tries) + (tries == 1 ? " try" : " tries");
}

}  // namespace

bool came_before_asking(const Error& error) noexcept {
  return std::ranges::any_of(error.details, [](const auto& each) {
    return each.first == kOriginNotAsked.first && each.second == kOriginNotAsked.second;
  });
}

// What a core has of its own.
struct Fetcher::Loop {
  Loop(platform::Executor& executor, platform::Net& net, http::ClientSettings settings,
       runtime::Meters& meters)
      : home(executor), client(net, std::move(settings), meters) {}

  // The allow list of these settings; parsed once.
  const AllowList& allow_of(const SettingsPtr& config) {
    if (parsed != config) {
      parsed = config;
      allow = std::make_shared<const AllowList>(config->allow);
    }
    return *allow;
  }

  platform::Executor& home;
  http::Client client;
  runtime::Semaphore decoders{kDecoders};
  SettingsPtr parsed;
  std::shared_ptr<const AllowList> allow;
};

struct Fetcher::Meters {
  explicit Meters(runtime::Meters& all)
      : timeouts(all.counter(runtime::metrics::kIoTimeoutsTotal, {"fill"})),
        bytes(all.counter(metrics::kFillBytes)),
        seconds(all.histogram(metrics::kFillSeconds)) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      outcomes[i] = &all.counter(metrics::kFills, {metrics::kFillOutcomes[i]});
    }
  }
  void count(Outcome outcome) noexcept { outcomes[static_cast<std::size_t>(outcome)]->add(); }

  runtime::Counter& timeouts;
  runtime::Counter& bytes;
  runtime::Histogram& seconds;
  std::array<runtime::Counter*, metrics::kFillOutcomes.size()> outcomes{};
};

// What a fetch came to.
struct Fetcher::Ending {
  const Result<Fetched>* result;
  const FetchAttempt* attempt;
  const OriginUrl* url;
  base::Duration took;
};

// A fetch from its first try on. It ends once: with what came of it, or where it is dropped.
class Fetcher::UnderWay {
 public:
  UnderWay(Fetcher& fetcher, const FetchRequest& request, const FetchAttempt& attempt,
           const OriginUrl& url, platform::TimePoint since)
      : fetcher_(fetcher), request_(request), attempt_(attempt), url_(url), since_(since) {}
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  // Without an executor the process is ending, and nobody counts any more.
  ~UnderWay() {
    if (is_over_ || platform::Executor::current() == nullptr) return;
    const bool is_late = request_.waits_until.passed();
    if (is_late) fetcher_.meters_->timeouts.add();
    end(is_late ? fail(Code::Timeout, "nobody could wait for it any longer")
                : fail(Code::Canceled, "nobody waits for it any more"));
  }

  void end(const Result<Fetched>& result) {
    is_over_ = true;
    fetcher_.settle(request_, {.result = &result,
                               .attempt = &attempt_,
                               .url = &url_,
                               .took = platform::Executor::current()->now() - since_});
  }

 private:
  Fetcher& fetcher_;
  const FetchRequest& request_;
  const FetchAttempt& attempt_;
  const OriginUrl& url_;
  const platform::TimePoint since_;
  bool is_over_ = false;
};

Fetcher::Fetcher(const EdgeParts& parts)
    : Fetcher(parts, configured_rule(*parts.settings->get())) {}

Fetcher::Fetcher(const EdgeParts& parts, const AddressRule& rule)
    : parts_(parts),
      meters_(std::make_unique<Meters>(parts.topology->meters())),
      retries_(kRetryShare, kRetryReserve) {
  // There from the start, at zero.
  parts_.topology->meters().counter(runtime::metrics::kBackoffRetriesTotal, {"live_fill"});
  const SettingsPtr config = parts_.settings->get();
  for (platform::Executor* const core : parts_.host.cores) {
    loops_.push_back(std::make_unique<Loop>(
        *core, parts_.host.net, client_settings(parts_, *config, rule), parts_.topology->meters()));
  }
}

Fetcher::~Fetcher() = default;

Fetcher::Loop& Fetcher::here() {
  const platform::Executor* const core = platform::Executor::current();
  const auto found = std::ranges::find_if(
      loops_, [core](const std::unique_ptr<Loop>& loop) { return &loop->home == core; });
  return **found;
}

Result<OriginUrl> Fetcher::admit(const FetchRequest& request, const SettingsPtr& config,
                                 Loop& loop) {
  Result<OriginUrl> url = parse_origin(request.host_port, request.target);
  if (!url) return url;
  const AllowList& allow = loop.allow_of(config);
  if (!allow.covers(*url)) {
    std::string why = "edge.allow does not have " + url->without_query();
    if (allow.has(*url)) {
      why = "servers read " + url->without_query() +
            " in different ways, so a path prefix of edge.allow does not cover it";
    }
    if (config->mode == Mode::Offline) why += ", and edge.mode is offline";
    return fail(
        Error(Code::NotAllowed, std::move(why)).with("reason", std::string(reason::kNotAllowed)));
  }
  return url;
}

Result<> Fetcher::check(const FetchRequest& request) {
  const Result<OriginUrl> url = admit(request, parts_.settings->get(), here());
  if (url) return {};
  refused(request, url.error());
  return fail(url.error());
}

Task<Result<Fetched>> Fetcher::get(FetchRequest request, BodySink* sink, Deadline deadline) {
  const platform::TimePoint started = platform::Executor::current()->now();
  const SettingsPtr config = parts_.settings->get();
  Loop& loop = here();
  Result<OriginUrl> url = admit(request, config, loop);
  if (url && config->mode == Mode::Offline) {
    url = fail(Error(Code::NotAllowed, "nothing is filled: edge.mode is offline")
                   .with("reason", std::string(reason::kNotAllowed)));
  }
  if (!url) {
    refused(request, url.error());
    co_return fail(url.error());
  }
  // Kept, since a reload may give the loop another one meanwhile.
  const std::shared_ptr<const AllowList> allow = loop.allow;
  FetchAttempt attempt({.client = &loop.client,
                        .clock = &parts_.host.clock,
                        .decoders = &loop.decoders,
                        .received_bytes = &meters_->bytes},
                       {.config = config.get(), .allow = allow.get()}, request, *url, *sink);
  UnderWay under_way(*this, request, attempt, *url, started);
  runtime::Retrier retrier(parts_.topology->meters(), "live_fill", retry_policy(config->fill),
                           retries_, parts_.host.random);
  const auto next_try = [this, &attempt, &config, deadline] {
    return try_once(&attempt, deadline.sooner(Deadline::in(config->fill.timeout)));
  };
  Result<Result<Fetched>> tried = co_await retrier.run(next_try, deadline);
  Result<Fetched> result = tried ? std::move(*tried) : fail(std::move(tried.error()));
  if (!result) {
    result.error().details.emplace_back("tries", std::to_string(attempt.tries()));
  }
  under_way.end(result);
  co_return result;
}

Task<Result<Result<Fetched>>> Fetcher::try_once(FetchAttempt* attempt, Deadline deadline) {
  Result<Result<Fetched>> tried = co_await attempt->run(deadline);
  if (!tried && tried.error().code == Code::Timeout) meters_->timeouts.add();
  if (tried || attempt->may_try_again()) co_return tried;
  co_return Result<Fetched>(fail(std::move(tried.error())));
}

void Fetcher::refused(const FetchRequest& request, const Error& error) {
  meters_->count(Outcome::Refused);
  count_reject(*parts_.rejects, error);
  // Anybody can cause these at will, without any origin: they must not bury what others cause.
  const auto silenced = refusals_.admit(parts_.host.clock.unix_ms());
  if (!silenced) return;
  const http::Target cut = http::split_target(request.target);
  const std::string more =
      *silenced == 0 ? "" : "; " + std::to_string(*silenced) + " more since the last";
  tell(EventKind::FillRefused, request,
       "https://" + config::printable(request.host_port) + config::printable(cut.path),
       error.message + more, 0);
}

void Fetcher::settle(const FetchRequest& request, const Ending& ending) {
  const Result<Fetched>& result = *ending.result;
  const std::string how =
      plural(ending.attempt->tries()) + ", at " + ending.attempt->at().authority();
  meters_->seconds.observe(ending.took);
  if (result) {
    meters_->count(outcome_of(*result));
    tell(EventKind::Filled, request, ending.url->without_query(),
         std::to_string(result->status) + ", " + how, result->length.value_or(0));
    return;
  }
  const Error& error = result.error();
  // Whoever did not take the body says itself what that counts for.
  const bool ours = ending.attempt->sink_failed();
  meters_->count(ours ? Outcome::Failed : outcome_of(error));
  if (!ours) count_reject(*parts_.rejects, error);
  const bool by_rule = !ours && outcome_of(error) == Outcome::Refused;
  tell(by_rule ? EventKind::FillRefused : EventKind::FillFailed, request,
       ending.url->without_query(), std::string(error.name()) + ": " + error.message + "; " + how,
       0);
}

void Fetcher::tell(EventKind kind, const FetchRequest& request, std::string url, std::string detail,
                   std::uint64_t bytes) {
  parts_.events->send({.kind = kind,
                       .subject = std::move(url),
                       .detail = std::move(detail),
                       .bytes = bytes,
                       .token = request.token,
                       .corr_id = request.corr_id});
}

Task<void> Fetcher::dial(std::size_t core, runtime::Shutdown shutdown) {
  co_await runtime::wait_stop(shutdown);
  co_await loops_[core]->client.close(Deadline::in(kLastWords));
}

}  // namespace ron::edge
