#include "services/index/core.h"

#include <algorithm>
#include <utility>

#include "catalog/media_type.h"
#include "services/index/manifest_reader.h"
#include "services/index/metric_names.h"
#include "services/index/registry_follower.h"
#include "services/index/wires.h"

namespace ron::index {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;
using runtime::Deadline;
using runtime::Limit;

namespace {

Source source_of(TargetKind kind) noexcept {
  switch (kind) {
    case TargetKind::Dht:
      return Source::Dht;
    case TargetKind::Peer:
      return Source::Peer;
    case TargetKind::Static:
      return Source::Static;
  }
  return Source::Store;
}

constexpr platform::BlockingKind kVerifyRecords{"verify_records", std::chrono::seconds(10)};
// Between the end of a search and that of the resolve it was for.
constexpr base::Duration kToTell = std::chrono::milliseconds(25);

Task<void> wait_for_stop(runtime::Shutdown shutdown) { co_await runtime::wait_stop(shutdown); }

}  // namespace

Core::Core(CoreParts parts, SettingsPtr config)
    : parts_(std::move(parts)),
      settings_(*parts_.topology, kSettings, config),
      events_(*parts_.topology, kEvents, config->events_capacity),
      feed_(*parts_.topology, config->cache_updates_capacity),
      store_(parts_.host, parts_.disk, parts_.store),
      cache_(epochs_, config->cache.entries),
      writer_({parts_.host, parts_.topology, &store_, &epochs_, &events_, parts_.log},
              config->writes_capacity),
      searches_({parts_.host, parts_.topology, parts_.tls}, *config),
      resolver_({parts_.host, parts_.topology, &store_, &epochs_, &feed_, &settings_}),
      janitor_({parts_.host, parts_.topology, &cache_, &feed_, &writer_, &settings_}),
      work_(*parts_.topology, kWork, config->work_capacity),
      flights_(kFlightsLock),
      routes_{Limit(config->route_concurrency), Limit(config->route_concurrency),
              Limit(config->route_concurrency)},
      republisher_({.topology = parts_.topology,
                    .clock = &parts_.host.clock,
                    .targets = &searches_.targets(),
                    .breakers = &searches_.breakers(),
                    .read = [this](std::string after,
                                   std::size_t limit) { return own_records(after, limit); },
                    .settings =
                        [this] {
                          const SettingsPtr now = settings_.get();
                          return RepublishPolicy{now->dht.republish,
                                                 static_cast<std::uint32_t>(now->dht.publish_rps)};
                        },
                    .is_amnesiac = config->amnesia}),
      hits_(parts_.topology->meters().counter(metrics::kCacheHits)),
      misses_(parts_.topology->meters().counter(metrics::kCacheMisses)),
      joined_(parts_.topology->meters().counter(metrics::kFlightsJoined)) {
  writer_.set_rules({config->names_per_tenant});
  resolver_.set_rank(
      [this](std::vector<Provider>& providers) { rank(providers, settings_.get()->region); });
  if (!searches_.any()) return;
  resolver_.set_trust(
      [this](const auth::PublicKey& node) { return searches_.trust().believes(node); });
  resolver_.set_learn([this](const std::vector<Provider>& providers) { learn(providers); });
  resolver_.set_discover(
      [this](base::ObjectId address, Deadline deadline) { return discover(address, deadline); });
}

Task<Result<void>> Core::open() { return store_.open(); }

void Core::apply(SettingsPtr config) {
  for (Limit& route : routes_) route.set_most(config->route_concurrency);
  writer_.set_rules({config->names_per_tenant});
  per_ip_rps_.store(config->per_ip_rps, std::memory_order_relaxed);
  searches_.apply(*config);
  // Whoever is not believed any more is in no answer.
  epochs_.advance_all();
  settings_.set(std::move(config));
}

Result<Limit::Permit> Core::admit(RouteClass route, const http::Request& request) {
  const std::uint64_t rps = per_ip_rps_.load(std::memory_order_relaxed);
  if (rps != 0 && request.peer != nullptr) {
    const Result<void> taken =
        rates_.take(*request.peer, rps, platform::Executor::current()->now());
    if (!taken) return fail(taken.error());
  }
  Limit& limit = routes_[static_cast<std::size_t>(route)];
  Limit::Permit permit = limit.try_acquire();
  if (permit) return permit;
  return fail(base::Error(Code::Busy, "too many requests of this kind are at work")
                  .with("route_concurrency", std::to_string(limit.most())));
}

AnswerPtr Core::cached(std::string_view key) {
  AnswerPtr answer = cache_.find(key, platform::Executor::current()->now());
  (answer ? hits_ : misses_).add();
  return answer;
}

// A flight that began before a change may bring what was there before it: whoever joined it later
// asks again.
Task<Result<AnswerPtr>> Core::resolve(catalog::Key key, bool is_fresh, Deadline deadline) {
  const Deadline until =
      deadline.sooner(Deadline::in(std::chrono::milliseconds(settings_.get()->dht.deadline_ms)));
  // What is known is told in time, also when others say nothing.
  const Deadline ask_until(until.at() - kToTell);
  const FlightKey flight{catalog::print(key), is_fresh};
  // The second one began after this call: whatever it brings is new enough.
  for (bool is_second = false;; is_second = true) {
    auto joined = flights_.join(flight);
    const bool is_first = joined.reply.has_value();
    if (is_first) {
      work_.post(
          ResolveJob{{.deadline = ask_until, .reply = std::move(joined.reply)}, key, is_fresh});
    } else {
      joined_.add();
    }
    auto reply = co_await joined.waiting.wait(until);
    auto answer = kit::WorkQueue<ResolverJob>::answer_of(std::move(reply));
    if (is_first) co_return answer;
    // The one who began it had less time.
    const bool is_over =
        !answer && (answer.error().code == Code::Timeout || answer.error().code == Code::Canceled);
    if (is_over && !until.passed()) continue;
    if (is_second || !answer || (*answer)->basis.holds(epochs_)) co_return answer;
  }
}

Task<void> Core::run_job(ResolveJob job) {
  auto answer = co_await resolver_.resolve(std::move(job.key), job.is_fresh, job.deadline);
  std::move(*job.reply).send(std::move(answer));
}

Task<void> Core::run_resolver(runtime::Shutdown shutdown) {
  return work_.work(std::move(shutdown), 0,
                    [this](ResolveJob job) { return run_job(std::move(job)); });
}

Task<Result<Discovered>> Core::discover(base::ObjectId address, Deadline deadline) {
  auto found = co_await searches_.find(address, deadline);
  if (!found) co_return fail(std::move(found.error()));
  Discovered out{.winner = std::move(found->winner), .is_hedged = found->hedged};
  out.source = source_of(found->source);
  const std::int64_t now = now_ms();
  for (catalog::ProviderRecord& record : found->records) {
    out.providers.push_back({.record = std::move(record),
                             .seen_ms = now,
                             .source = out.source,
                             .latency_ms = found->latency_ms});
  }
  co_return out;
}

// If the writer is busy it is heard of again.
void Core::learn(const std::vector<Provider>& providers) {
  LearnJob job;
  for (const Provider& provider : providers) {
    if (provider.source == Source::Static) continue;
    job.providers.push_back({.record = provider.record, .seen_ms = provider.seen_ms});
  }
  if (job.providers.empty()) return;
  auto [reply, nobody] = runtime::oneshot<Result<Announced>>();
  job.reply.emplace(std::move(reply));
  writer_.queue().post(std::move(job));
}

void Core::rank(std::vector<Provider>& providers, std::string_view region) const {
  const RankPolicy policy{.region = region};
  const std::int64_t now = now_ms();
  for (Provider& provider : providers) {
    provider.score = score({.region = provider.record.region,
                            .seen_ms = provider.seen_ms,
                            .latency_ms = provider.latency_ms},
                           policy, now);
  }
  std::ranges::sort(providers, [](const Provider& a, const Provider& b) {
    return a.score != b.score ? a.score > b.score : a.record.node < b.record.node;
  });
}

Task<void> Core::run_registry_follower(runtime::Shutdown shutdown) {
  const bool is_wanted = settings_.get()->discovery.source == NodeSource::Registry;
  if (!is_wanted || registry_ == nullptr) return wait_for_stop(std::move(shutdown));
  return follow_registry(registry_, &searches_, parts_.log, std::move(shutdown));
}

Task<void> Core::run_republisher(runtime::Shutdown shutdown) {
  return republisher_.run(&searches_.here().targets(), std::move(shutdown));
}

Task<void> Core::run_breaker_janitor(runtime::Shutdown shutdown) {
  return searches_.run_breaker_janitor(std::move(shutdown));
}

// What is no manifest, and what is not in this process's storage, is named all the same: whoever
// resolves the name is told nothing of its entries then. One that says it is and is not is refused.
Task<Result<std::optional<ManifestFacts>>> Core::manifest_of(const NameVersion* wanted,
                                                             Deadline deadline) {
  const bool is_tree = wanted->target && wanted->type == catalog::kManifestType;
  if (!is_tree || storage_ == nullptr) co_return std::nullopt;
  co_return co_await manifest_at(*wanted->target, deadline);
}

Task<Result<std::optional<ManifestFacts>>> Core::manifest_at(base::ObjectId address,
                                                             Deadline deadline) {
  const auto place = co_await manifests_.acquire(deadline);
  if (!place) co_return fail(Code::Timeout, "others' manifests were being read all the time");
  co_return co_await read_manifest(storage_, &parts_.host.blocking, address, deadline);
}

Result<void> Core::may_announce(http::Request& request, const catalog::ProviderRecord& record) {
  const auto ttl =
      std::chrono::duration_cast<std::chrono::milliseconds>(settings_.get()->discovery.max_ttl);
  if (record.expires_ms > static_cast<std::uint64_t>(now_ms() + ttl.count())) {
    return fail(Code::Malformed, "the record holds for longer than discovery.max_ttl");
  }
  const Result<void> allowed =
      parts_.gate->check(request, auth::Access::needs(auth::Scope::kIndexWrite));
  if (allowed || searches_.trust().knows(record.node)) return {};
  return allowed;
}

Task<Result<NameSet>> Core::set_name(NameVersion wanted, std::optional<std::uint64_t> expected,
                                     Origin origin, Deadline deadline) {
  const Result<void> room = writer_.queue().check_room();
  if (!room) co_return fail(room.error());
  const auto manifest = co_await manifest_of(&wanted, deadline);
  if (!manifest) co_return fail(manifest.error());
  SetNameJob job;
  job.wanted = std::move(wanted);
  job.expected = expected;
  job.manifest = *manifest;
  job.origin = std::move(origin);
  job.deadline = deadline;
  co_return co_await writer_.queue().ask(std::move(job), kit::WhenFull::Refuse);
}

Task<Result<Announced>> Core::announce(std::vector<catalog::ProviderRecord> records, Origin origin,
                                       Deadline deadline) {
  const Result<void> room = writer_.queue().check_room();
  if (!room) co_return fail(room.error());
  auto genuine = co_await parts_.host.blocking.run(
      kVerifyRecords, [records](const base::StopToken& stop) -> Result<bool> {
        for (const catalog::ProviderRecord& record : records) {
          if (stop.requested()) return fail(stop.error());
          if (!catalog::has_valid_signature(record)) return false;
        }
        return true;
      });
  if (!genuine) co_return fail(std::move(genuine.error()));
  if (!*genuine) co_return fail(std::move(genuine->error()));
  if (!**genuine) co_return fail(Code::InvalidSig, "the record is not signed by its node");
  AnnounceJob job;
  const std::int64_t now = now_ms();
  for (catalog::ProviderRecord& record : records) {
    job.providers.push_back({.record = std::move(record), .seen_ms = now, .is_own = true});
  }
  job.origin = std::move(origin);
  job.deadline = deadline;
  const std::vector<ProviderEntry> announced = job.providers;
  auto done = co_await writer_.queue().ask(std::move(job), kit::WhenFull::Refuse);
  if (done && done->accepted > 0) {
    for (const ProviderEntry& entry : announced) {
      // Not before it is durable: what was refused is no reason not to believe an older one.
      searches_.trust().note(entry.record);
      republisher_.announce(entry.record);
    }
  }
  co_return done;
}

Task<Result<Core::Reindexed>> Core::reindex(catalog::Key key, Origin origin, Deadline deadline) {
  Reindexed out;
  if (const auto* const ref = std::get_if<catalog::NameRef>(&key)) {
    const auto version = co_await find_name(&store_.map(), *ref);
    if (!version) co_return fail(version.error());
    if (!*version || !(*version)->target) co_return fail(Code::NotFound, "there is no such name");
    out.address = *(*version)->target;
    epochs_.advance(Epochs::slot_of(ref->name.text()));
  } else {
    out.address = std::get<base::ObjectId>(key);
  }
  epochs_.advance(Epochs::slot_of(out.address));
  if (storage_ != nullptr) {
    auto facts = co_await manifest_at(out.address, deadline);
    // What was named as a tree and is none is no error here: it is the answer.
    if (!facts && facts.error().code != Code::Malformed) co_return fail(std::move(facts.error()));
    if (facts) out.manifest = *facts;
  }
  if (out.manifest) {
    ManifestJob job;
    job.address = out.address;
    job.facts = *out.manifest;
    job.deadline = deadline;
    const auto changed = co_await writer_.queue().ask(std::move(job), kit::WhenFull::Refuse);
    if (!changed) co_return fail(changed.error());
    out.has_changed = *changed;
  }
  events_.send({.kind = EventKind::Reindexed,
                .key = catalog::print(key),
                .token = origin.token,
                .corr_id = origin.corr_id});
  co_return out;
}

Task<Result<RecordPage>> Core::own_records(std::string after, std::size_t limit) {
  const std::string all(1, kProvidersTable);
  const auto pairs = co_await store_.map().scan(after.empty() ? all : after, behind(all), limit);
  if (!pairs) co_return fail(pairs.error());
  RecordPage page;
  const auto now = static_cast<std::uint64_t>(now_ms());
  for (const auto& [key, bytes] : *pairs) {
    auto entry = decode_provider_entry(bytes);
    if (!entry) co_return fail(std::move(entry.error()));
    if (!entry->is_own || entry->record.expires_ms <= now) continue;
    page.records.push_back(std::move(entry->record));
  }
  if (pairs->size() == limit) page.after = pairs->back().first + '\0';
  co_return page;
}

Task<Result<bool>> Core::pin(std::string key, bool is_pinned, Origin origin, Deadline deadline) {
  PinJob job;
  job.key = std::move(key);
  job.is_pinned = is_pinned;
  job.origin = std::move(origin);
  job.deadline = deadline;
  co_return co_await writer_.queue().ask(std::move(job), kit::WhenFull::Refuse);
}

Task<void> Core::run_writer(runtime::Shutdown shutdown) { return writer_.run(std::move(shutdown)); }

Task<void> Core::run_cache_janitor(runtime::Shutdown shutdown) {
  return janitor_.run(std::move(shutdown));
}

// What is wanted most is asked for shortly before it is forgotten; the rest of the keys at the
// start alone.
Task<void> Core::run_warmup(runtime::Shutdown shutdown) {
  constexpr std::size_t kMostPins = 4096;
  auto settings = settings_.subscribe();
  std::vector<std::string> keys = settings.see()->cache.warmup_keys;
  while (!shutdown.requested()) {
    const auto pinned = co_await pinned_keys(&store_.map(), kMostPins);
    if (pinned) keys.insert(keys.end(), pinned->begin(), pinned->end());
    for (const std::string& text : keys) {
      if (shutdown.requested()) co_return;
      auto key = catalog::parse_key(text);
      if (key) co_await resolve(std::move(*key), false, Deadline());
    }
    keys.clear();
    const base::Duration pause =
        std::max<base::Duration>(settings.see()->cache.positive_ttl / 2, std::chrono::seconds(1));
    co_await settings.changed(Deadline::in(pause), shutdown);
  }
}

std::vector<std::string> Core::missing_for_writes() const {
  if (writer_.is_broken()) return {"the disk takes no writes"};
  return {};
}

}  // namespace ron::index
