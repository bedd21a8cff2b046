#include "services/edge/sites.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "catalog/name.h"
#include "services/edge/http_origin.h"
#include "services/edge/site_keeper.h"
#include "services/edge/wires.h"
#include "services/kit/key_file.h"

namespace ron::edge {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

// How long a start waits for sites that are slow to come.
constexpr base::Duration kFirstLook = std::chrono::seconds(2);

// Sites with files missing that readiness names.
constexpr std::size_t kMostNamed = 8;

// `sites: docs misses 2 files`
std::vector<std::string> missing_of_sites(const SiteTable& table) {
  std::vector<std::string> missing;
  std::size_t unnamed = 0;
  for (const auto& [name, site] : table) {
    const std::uint64_t count = site->missing.count;
    if (count == 0) continue;
    if (missing.size() == kMostNamed) {
      ++unnamed;
    } else {
      missing.push_back("sites: " + name + " misses " + std::to_string(count) +
                        (count == 1 ? " file" : " files"));
    }
  }
  if (unnamed > 0) {
    missing.push_back("sites: " + std::to_string(unnamed) + " more miss files");
  }
  return missing;
}

std::string book_path(const std::string& directory) {
  return directory.empty() ? std::string() : directory + "/sites.json";
}

}  // namespace

Sites::Sites(EdgeParts parts)
    : parts_(std::move(parts)),
      book_(parts_.host.disk, book_path(parts_.directory)),
      jobs_(*parts_.topology, kSiteChanges, kSiteChanges.capacity),
      lock_(kSitesLock),
      table_(std::make_shared<const SiteTable>()) {}

Sites::~Sites() = default;

Task<Result<>> Sites::open() {
  const Result<> kept = co_await book_.open();
  if (!kept) co_return fail(kept.error());
  const Result<> made = co_await make_origin();
  if (!made) co_return fail(made.error());
  keeper_ =
      std::make_unique<SiteKeeper>(SiteKeeperParts{parts_, this, &book_, &jobs_, origin_.get()});
  co_await keeper_->look_first(runtime::Deadline::in(kFirstLook));
  co_return Result<>();
}

Task<Result<>> Sites::make_origin() {
  const SettingsPtr config = parts_.settings->get();
  if (config->origin.empty()) {
    if (index_ != nullptr && storage_ != nullptr) {
      origin_ = std::make_unique<LocalOrigin>(*index_, *storage_);
    }
    co_return Result<>();
  }
  std::string token;
  if (!config->origin_token_path.empty()) {
    const auto read = co_await kit::read_small_text(&parts_.host.disk, config->origin_token_path);
    if (!read) {
      co_return fail(read.error().code, "edge.origin_token_path: " + read.error().message);
    }
    token = *read;
    std::erase_if(token, [](char c) { return c <= ' '; });  // a line feed at the end
  }
  auto address = http::UpstreamAddress::parse(config->origin);
  if (!address) co_return fail(address.error().code, "edge.origin: " + address.error().message);
  origin_ = std::make_unique<HttpOrigin>(HttpOriginParts{.host = parts_.host,
                                                         .address = std::move(*address),
                                                         .token = std::move(token),
                                                         .trust = parts_.tls,
                                                         .meters = &parts_.topology->meters(),
                                                         .settings = parts_.settings});
  co_return Result<>();
}

void Sites::apply(const EdgeConfig&) {
  if (keeper_) keeper_->wake();
}

SitePtr Sites::find(std::string_view name) const {
  const std::shared_ptr<const SiteTable> table = all();
  const auto found = table->find(name);
  return found != table->end() ? found->second : nullptr;
}

std::shared_ptr<const SiteTable> Sites::all() const {
  const std::lock_guard guard(lock_);
  return table_;
}

void Sites::set_table(std::shared_ptr<const SiteTable> next) {
  // The old one is freed outside of the lock.
  const std::lock_guard guard(lock_);
  table_.swap(next);
}

void Sites::show(Site site) {
  SiteTable next = *all();
  std::string name = site.name;
  next.insert_or_assign(std::move(name), std::make_shared<const Site>(std::move(site)));
  set_table(std::make_shared<const SiteTable>(std::move(next)));
}

void Sites::hide(const std::string& name) {
  SiteTable next = *all();
  next.erase(name);
  set_table(std::make_shared<const SiteTable>(std::move(next)));
}

Task<Result<SiteChange>> Sites::add(std::string name, std::string target, Operator by,
                                    runtime::Deadline deadline) {
  if (!catalog::is_site_name(name)) {
    co_return fail(Code::Malformed,
                   "a site is called [A-Za-z0-9][A-Za-z0-9._-]*, with at most 64 characters");
  }
  const auto key = catalog::parse_key(target);
  if (!key) co_return fail(key.error());
  SiteJob job;
  job.name = std::move(name);
  job.target = std::move(target);
  job.by = std::move(by);
  job.deadline = deadline;
  co_return co_await jobs_.ask(std::move(job), kit::WhenFull::Refuse);
}

Task<Result<SiteChange>> Sites::remove(std::string name, Operator by, runtime::Deadline deadline) {
  SiteJob job;
  job.name = std::move(name);
  job.by = std::move(by);
  job.deadline = deadline;
  return jobs_.ask(std::move(job), kit::WhenFull::Refuse);
}

std::vector<std::string> Sites::missing() const {
  const std::shared_ptr<const SiteTable> table = all();
  if (table->empty()) return {};
  if (!origin_) return {"edge.origin"};
  if (!has_looked_.load(std::memory_order_relaxed)) return {"sites"};
  std::vector<std::string> missing = missing_of_sites(*table);
  const auto unanswered =
      std::ranges::find_if(*table, [](const auto& one) { return one.second->is_unanswered; });
  if (unanswered == table->end()) return missing;
  const base::Error& error = *unanswered->second->error;
  missing.push_back(error.code == Code::UpstreamFail || error.code == Code::Timeout
                        ? "sites: the origin does not answer"
                        : "sites: the origin does not give them: " + std::string(error.name()));
  return missing;
}

runtime::Meters::Levels Sites::missing_files() const {
  runtime::Meters::Levels levels;
  for (const auto& [name, site] : *all()) {
    if (site->missing.count > 0) {
      levels.emplace_back(name, static_cast<std::int64_t>(site->missing.count));
    }
  }
  return levels;
}

Task<void> Sites::keep(runtime::Shutdown shutdown) { return keeper_->run(std::move(shutdown)); }

Task<void> Sites::dial(std::size_t core, runtime::Shutdown shutdown) {
  if (origin_) co_await origin_->dial(core, std::move(shutdown));
}

}  // namespace ron::edge
