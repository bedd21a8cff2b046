#include "services/edge/site_keeper.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/limits.h"
#include "runtime/backoff.h"
#include "runtime/wait_either.h"
#include "runtime/waiting.h"

namespace ron::edge {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;
using runtime::Deadline;

constexpr base::Duration kLookUpTime = std::chrono::seconds(5);
constexpr base::Duration kReadTime = std::chrono::seconds(30);
constexpr base::Duration kLongestPause = std::chrono::seconds(30);
constexpr platform::BlockingKind kReadSiteTree{"read_site_tree", kReadTime};

platform::TimePoint now() { return platform::Executor::current()->now(); }

base::Error no_origin() {
  return {Code::Degraded,
          "this process has no index and no storage: set edge.origin to a ron that has"};
}

// Not what the target is, nor that there is no room for it here.
bool is_of_origin(Code code) noexcept {
  return code != Code::NotFound && code != Code::Malformed && code != Code::Quota;
}

}  // namespace

SiteKeeper::SiteKeeper(SiteKeeperParts parts)
    : parts_(std::move(parts)), jitter_(parts_.edge.host.random.next()) {}

void SiteKeeper::take_wanted() {
  const SettingsPtr config = parts_.edge.settings->get();
  std::set<std::string> wanted;
  for (const SiteConfig& site : config->sites) {
    wanted.insert(site.name);
    follow(site.name, site.target, false);
  }
  for (const auto& [name, target] : parts_.book->all()) {
    if (wanted.insert(name).second) follow(name, target, true);
  }
  std::erase_if(followed_, [&](const auto& one) {
    if (wanted.contains(one.first)) return false;
    parts_.sites->hide(one.first);
    tell(EventKind::SiteRemoved, one.first, one.second.target, 0);
    return true;
  });
  // Names may have to be looked up more often than before, and files checked.
  for (auto& [name, site] : followed_) {
    site.check_due = std::min(site.check_due, now() + config->sites_check);
    if (site.due != platform::kNever) site.due = std::min(site.due, now() + config->sites_refresh);
  }
}

// One that is shown already is shown until its new target has been read.
void SiteKeeper::follow(const std::string& name, std::string target, bool is_added) {
  Followed& site = followed_[name];
  if (site.serial != 0 && site.target == target && site.is_added == is_added) return;
  site.target = std::move(target);
  site.is_added = is_added;
  site.serial = ++last_serial_;
  site.failures = 0;
  site.due = {};
  Site next = site.shown ? *site.shown : Site{.name = name};
  if (!site.shown) {
    next.target = site.target;
    next.error = base::Error(Code::Degraded, "the site is being read");
  }
  next.is_added = is_added;
  show(site, std::move(next));
}

Task<void> SiteKeeper::look_first(Deadline deadline) {
  take_wanted();
  Lanes lanes;
  for (;;) {
    wake_.clear();
    start_due(lanes);
    if (are_all_looked_at()) co_return;
    const runtime::Waited waited = co_await runtime::wait_for(runtime::EventOp(wake_), deadline);
    if (waited != runtime::Waited::Ready) co_return;
  }
}

void SiteKeeper::show(Followed& site, Site next) {
  parts_.sites->show(next);
  site.shown = parts_.sites->find(next.name);
  check_wake_.set();
}

Task<void> SiteKeeper::run(runtime::Shutdown shutdown) {
  is_heard_ = true;
  for (EdgeEvent& event : std::exchange(untold_, {})) parts_.edge.events->send(std::move(event));
  runtime::Background<void> changes(take_jobs(shutdown));
  std::optional<runtime::Background<void>> checks(std::in_place, check_sites(shutdown));
  Lanes lanes;
  while (!shutdown.requested()) {
    wake_.clear();
    if (std::exchange(has_news_, false)) {
      take_wanted();
      check_wake_.set();  // the next check may be due sooner
    }
    start_due(lanes);
    if (are_all_looked_at()) parts_.sites->has_looked();
    co_await runtime::wait_either(runtime::EventOp(wake_), runtime::StopOp{shutdown},
                                  next_due(lanes));
  }
  for (auto& lane : lanes) lane.reset();
  checks.reset();
  if (!changes.done()) co_await runtime::wait_for(changes.finished(), Deadline());
  parts_.jobs->close();
}

void SiteKeeper::start_due(Lanes& lanes) {
  for (auto& lane : lanes) {
    if (!lane || !lane->look.done()) continue;
    lane->look.take();  // a defect ends the task, too
    lane.reset();
  }
  std::multimap<platform::TimePoint, Due> due;
  for (const auto& [name, site] : followed_) {
    if (site.due > now() || is_under_way(lanes, site.serial)) continue;
    due.emplace(site.due, Due{name, site.serial});
  }
  auto lane = lanes.begin();
  for (auto& [since, one] : due) {
    lane = std::ranges::find(lane, lanes.end(), false, &std::optional<Lane>::has_value);
    if (lane == lanes.end()) return;
    const std::uint64_t serial = one.serial;
    lane->emplace(serial, run_lane(std::move(one)));
  }
}

bool SiteKeeper::is_under_way(const Lanes& lanes, std::uint64_t serial) noexcept {
  return std::ranges::any_of(lanes, [serial](const std::optional<Lane>& lane) {
    return lane && lane->serial == serial && !lane->look.done();
  });
}

Deadline SiteKeeper::next_due(const Lanes& lanes) const {
  Deadline soonest;
  if (std::ranges::all_of(lanes, &std::optional<Lane>::has_value)) return soonest;
  for (const auto& [name, site] : followed_) {
    if (!is_under_way(lanes, site.serial)) soonest = soonest.sooner(Deadline(site.due));
  }
  return soonest;
}

bool SiteKeeper::are_all_looked_at() const {
  return std::ranges::all_of(followed_, [](const auto& one) { return one.second.is_looked_at; });
}

Task<void> SiteKeeper::run_lane(Due due) {
  co_await look_at(std::move(due));
  wake_.set();
}

Task<void> SiteKeeper::look_at(Due due) {
  auto found = followed_.find(due.name);
  if (found == followed_.end() || found->second.serial != due.serial) co_return;
  auto draft = co_await read(found->second.target, found->second.shown);
  // It may have been given another target meanwhile, or be gone.
  found = followed_.find(due.name);
  if (found == followed_.end() || found->second.serial != due.serial) co_return;
  found->second.is_looked_at = true;
  if (draft && draft->tree != found->second.shown->tree) {
    const Result<void> fits = check_room(due.name, *draft->tree);
    if (!fits) draft = fail(fits.error());
  }
  if (draft) {
    succeeded(due.name, found->second, std::move(*draft), {});
  } else {
    failed(due.name, found->second, std::move(draft.error()));
  }
}

Task<Result<SiteKeeper::Draft>> SiteKeeper::read(std::string target, SitePtr known) {
  if (parts_.origin == nullptr) co_return fail(no_origin());
  auto key = catalog::parse_key(target);
  if (!key) co_return fail(std::move(key.error()));
  Draft draft;
  if (const auto* address = std::get_if<base::ObjectId>(&*key)) {
    draft.address = *address;
  } else {
    auto named = co_await parts_.origin->look_up(std::get<catalog::NameRef>(std::move(*key)),
                                                 Deadline::in(kLookUpTime));
    if (!named) co_return fail(std::move(named.error()));
    draft.address = named->target;
    draft.version = named->version;
  }
  if (known && known->tree && known->address == draft.address) {
    draft.tree = known->tree;
    draft.generation = known->generation;
    co_return draft;
  }
  auto tree = co_await read_tree(draft.address);
  if (!tree) co_return fail(std::move(tree.error()));
  draft.tree = std::move(*tree);
  draft.generation = parts_.edge.loader->new_generation();
  co_return draft;
}

Task<Result<SiteTreePtr>> SiteKeeper::read_tree(base::ObjectId address) {
  const Deadline deadline = Deadline::in(kReadTime);
  runtime::Semaphore::Permit place;  // of a large one, until its tree is made
  auto bytes = co_await read_at_most(parts_.origin, address, base::limits::kDecodedBytes, deadline);
  if (!bytes && bytes.error().code == Code::BodyCap) {
    place = co_await large_manifests_.acquire(deadline);
    if (!place) co_return fail(Code::Busy, "too many large manifests are being read");
    bytes = co_await read_at_most(parts_.origin, address, SiteTree::kMostManifestBytes, deadline);
  }
  if (!bytes && bytes.error().code == Code::BodyCap) {
    co_return fail(Code::Malformed, "the target is no manifest of at most 64 MiB");
  }
  if (!bytes && bytes.error().code == Code::NotFound) {
    co_return fail(Code::NotFound, "the target's manifest is not stored: " + address.text());
  }
  if (!bytes) co_return fail(std::move(bytes.error()));
  auto made = co_await parts_.edge.host.blocking.run(
      kReadSiteTree, [text = std::move(*bytes)](const base::StopToken& stop) {
        return SiteTree::read(base::as_text(text.view()), stop);
      });
  if (!made) co_return fail(std::move(made.error()));
  co_return std::move(*made);
}

Result<void> SiteKeeper::check_room(const std::string& name, const SiteTree& tree) const {
  std::uint64_t bytes = tree.footprint();
  for (const auto& [other, site] : *parts_.sites->all()) {
    if (other != name && site->tree) bytes += site->tree->footprint();
  }
  if (bytes <= Sites::kMostTreeBytes) return {};
  return fail(base::Error(Code::Quota, "the trees of all sites take too much memory")
                  .with("bytes", std::to_string(bytes))
                  .with("limit", std::to_string(Sites::kMostTreeBytes)));
}

void SiteKeeper::succeeded(const std::string& name, Followed& site, Draft draft,
                           const Operator& by) {
  const catalog::Key key = catalog::parse_key(site.target).value();
  // A version of a name says what it says for good (svc-index): as good as an address.
  const bool is_fixed = std::holds_alternative<base::ObjectId>(key) ||
                        std::get<catalog::NameRef>(key).version.has_value();
  site.failures = 0;
  site.is_looked_at = true;
  site.due = is_fixed ? platform::kNever : now() + parts_.edge.settings->get()->sites_refresh;
  const SitePtr before = site.shown;
  const bool has_tree = before->tree != nullptr;
  if (has_tree && before->address == draft.address) {
    // What is in memory says for how long it holds: that of another kind of target is no use.
    draft.tree = before->tree;
    draft.generation =
        before->is_fixed == is_fixed ? before->generation : parts_.edge.loader->new_generation();
  }
  const bool has_moved = before->tree != draft.tree || before->target != site.target;
  if (!has_moved && before->version == draft.version && !before->error) return;
  show(site, {.name = name,
              .target = site.target,
              .is_added = site.is_added,
              .is_fixed = is_fixed,
              .tree = draft.tree,
              .address = draft.address,
              .version = draft.version,
              .generation = draft.generation,
              .missing = draft.tree == before->tree ? before->missing : MissingFiles{}});
  if (!has_moved) return;
  tell(has_tree ? EventKind::SiteSwitched : EventKind::SiteMounted, name,
       site.target + " " + draft.address.text(), draft.tree->bytes(), by);
}

// What was shown stays. The same trouble again is not told again.
void SiteKeeper::failed(const std::string& name, Followed& site, base::Error error) {
  const runtime::Backoff backoff{.base = parts_.edge.settings->get()->sites_refresh,
                                 .cap = kLongestPause};
  // A name that is not there yet is looked for as often as one that is.
  const bool is_missing = error.code == Code::NotFound;
  site.due = now() + (is_missing ? backoff.base : backoff.delay(site.failures, jitter_));
  ++site.failures;
  const bool is_known = site.shown->error && site.shown->error->message == error.message;
  if (is_known) return;
  tell(EventKind::SiteFailed, name, site.target + ": " + error.message, 0);
  Site next = *site.shown;
  next.is_unanswered = is_of_origin(error.code);
  next.error = std::move(error);
  show(site, std::move(next));
}

std::pair<std::string, platform::TimePoint> SiteKeeper::next_check() const {
  std::pair<std::string, platform::TimePoint> next{"", platform::kNever};
  for (const auto& [name, site] : followed_) {
    if (!site.shown || !site.shown->tree) continue;
    const bool is_new = site.checked != site.shown->tree;
    const platform::TimePoint due = is_new ? platform::TimePoint() : site.check_due;
    if (due < next.second) next = {name, due};
  }
  return next;
}

Task<void> SiteKeeper::check_sites(runtime::Shutdown shutdown) {
  while (!shutdown.requested()) {
    check_wake_.clear();
    auto [name, due] = next_check();
    if (due <= now()) {
      co_await check_site(std::move(name));
    } else {
      co_await runtime::wait_either(runtime::EventOp(check_wake_), runtime::StopOp{shutdown},
                                    Deadline(due));
    }
  }
}

Task<void> SiteKeeper::check_site(std::string name) {
  const SiteTreePtr tree = followed_.at(name).shown->tree;
  auto missing = co_await check_files(parts_.origin, tree);
  const auto found = followed_.find(name);
  if (found == followed_.end() || found->second.shown->tree != tree) co_return;
  Followed& site = found->second;
  const base::Duration interval = parts_.edge.settings->get()->sites_check;
  site.checked = tree;
  site.check_due = now() + (missing ? interval : std::min(interval, kLongestPause));
  if (!missing || *missing == site.shown->missing) co_return;
  if (missing->count > 0) {
    parts_.edge.log.warn("files of a site are not stored",
                         {{"site", name}, {"files", missing->count}, {"first", missing->first}});
  } else {
    parts_.edge.log.info("all files of a site are stored again", {{"site", name}});
  }
  Site next = *site.shown;
  next.missing = std::move(*missing);
  show(site, std::move(next));
}

Task<void> SiteKeeper::take_jobs(runtime::Shutdown shutdown) {
  for (;;) {
    auto job = co_await parts_.jobs->take(shutdown);
    if (!job) co_return;
    SiteJob& one = std::get<SiteJob>(*job);
    Result<SiteChange> changed = co_await change(&one);
    std::move(*one.reply).send(std::move(changed));
  }
}

bool SiteKeeper::is_configured(const std::string& name) const {
  const SettingsPtr config = parts_.edge.settings->get();
  return std::ranges::find(config->sites, name, &SiteConfig::name) != config->sites.end();
}

Task<Result<SiteChange>> SiteKeeper::change(SiteJob* job) {
  if (is_configured(job->name)) {
    co_return fail(Code::NotAllowed,
                   "the site is one of [[edge.sites]] in ron.toml: change it there");
  }
  if (job->target) co_return co_await add(job);
  co_return co_await remove(job);
}

Task<Result<SiteChange>> SiteKeeper::add(SiteJob* job) {
  auto draft = co_await read(*job->target, parts_.sites->find(job->name));
  if (!draft) co_return fail(std::move(draft.error()));
  const Result<void> fits = check_room(job->name, *draft->tree);
  if (!fits) co_return fail(fits.error());
  const bool is_new = !followed_.contains(job->name);
  const Result<> kept = co_await parts_.book->set(job->name, *job->target);
  if (!kept) co_return fail(kept.error());
  follow(job->name, *job->target, true);
  Followed& site = followed_.at(job->name);
  succeeded(job->name, site, std::move(*draft), job->by);
  wake_.set();
  co_return SiteChange{site.shown, is_new};
}

Task<Result<SiteChange>> SiteKeeper::remove(SiteJob* job) {
  const SitePtr before = parts_.sites->find(job->name);
  const auto removed = co_await parts_.book->remove(job->name);
  if (!removed) co_return fail(removed.error());
  if (!*removed || !before) co_return fail(Code::NotFound, "there is no such site");
  followed_.erase(job->name);
  parts_.sites->hide(job->name);
  tell(EventKind::SiteRemoved, job->name, before->target, 0, job->by);
  co_return SiteChange{before, false};
}

void SiteKeeper::tell(EventKind kind, const std::string& site, std::string detail,
                      std::uint64_t bytes, const Operator& by) {
  EdgeEvent event{.kind = kind,
                  .subject = site,
                  .detail = std::move(detail),
                  .bytes = bytes,
                  .token = by.token,
                  .corr_id = by.corr_id};
  if (is_heard_) {
    parts_.edge.events->send(std::move(event));
  } else {
    untold_.push_back(std::move(event));
  }
}

}  // namespace ron::edge
