#include "services/index/decide.h"

#include <algorithm>
#include <utility>

#include "services/index/names.h"

namespace ron::index {
namespace {

using base::Code;
using base::fail;
using base::Result;
using platform::Task;

Task<Result<std::uint64_t>> count_of(Draft* draft, std::string tenant) {
  const auto found = co_await draft->get(tenant_key(tenant));
  if (!found) co_return fail(found.error());
  if (!*found) co_return std::uint64_t{0};
  co_return decode_count(**found);
}

base::Error version_skew(const NameVersion* current) {
  const bool is_there = current != nullptr && current->target;
  base::Error error =
      base::Error(Code::VersionSkew,
                  is_there ? "the name is at another version" : "the name is not there")
          .with("version", std::to_string(current != nullptr ? current->version : 0));
  return is_there ? std::move(error).with("target", current->target->text()) : error;
}

// A name that was removed is at its last version and is not there: both can be expected.
bool is_expected(const NameVersion* current, std::uint64_t expected) {
  if (current == nullptr) return expected == 0;
  return current->version == expected || (!current->target && expected == 0);
}

// Of the names that a tenant has; a name is counted while it stands for something.
Task<Result<void>> count_name(Draft* draft, std::string tenant, std::int64_t change,
                              std::uint64_t most) {
  const auto count = co_await count_of(draft, tenant);
  if (!count) co_return fail(count.error());
  if (change > 0 && most != 0 && *count >= most) {
    co_return fail(base::Error(Code::Quota, "the tenant's quota of names is used up")
                       .with("names", std::to_string(*count))
                       .with("limit", std::to_string(most)));
  }
  const std::uint64_t next = change > 0 ? *count + 1 : *count - std::min<std::uint64_t>(*count, 1);
  draft->put(tenant_key(tenant), encode_count(next));
  co_return Result<void>();
}

Task<Result<std::optional<ProviderEntry>>> provider_of(Draft* draft, std::string key) {
  const auto found = co_await draft->get(std::move(key));
  if (!found) co_return fail(found.error());
  if (!*found) co_return std::nullopt;
  auto entry = decode_provider_entry(**found);
  if (!entry) co_return fail(std::move(entry.error()));
  co_return std::move(*entry);
}

}  // namespace

Task<Result<NameSet>> decide(Draft* draft, const SetNameJob* job, WriteRules rules,
                             std::int64_t now_ms) {
  const NameVersion& wanted = job->wanted;
  const auto found = co_await draft->get(name_key(wanted.name));
  if (!found) co_return fail(found.error());
  std::optional<NameVersion> current;
  if (*found) {
    auto decoded = decode_name_version(**found);
    if (!decoded) co_return fail(std::move(decoded.error()));
    current = std::move(*decoded);
  }
  if (current && current->tenant != wanted.tenant && !job->origin.is_admin) {
    co_return fail(Code::Forbidden, "the name is another tenant's");
  }
  const NameVersion* const before = current ? &*current : nullptr;
  if (job->expected && !is_expected(before, *job->expected)) {
    co_return fail(version_skew(before));
  }
  const bool was_there = current && current->target;
  if (!wanted.target && !was_there) co_return fail(Code::NotFound, "there is no such name");
  if (!job->expected && was_there && current->says_same(wanted)) {
    co_return NameSet{.version = *current, .is_new = false, .has_changed = false};
  }

  NameSet set{.version = wanted, .is_new = !was_there};
  set.version.version = current ? current->version + 1 : 1;
  set.version.at_ms = now_ms;
  if (current) set.version.tenant = current->tenant;
  if (was_there != wanted.target.has_value()) {
    const Result<void> counted =
        co_await count_name(draft, set.version.tenant, was_there ? -1 : 1, rules.names_per_tenant);
    if (!counted) co_return fail(counted.error());
  }
  const std::string bytes = encode(set.version);
  draft->put(version_key(wanted.name, set.version.version), bytes);
  draft->put(name_key(wanted.name), bytes);
  if (wanted.target && job->manifest) {
    draft->put(manifest_key(*wanted.target), encode(*job->manifest));
  }
  co_return set;
}

Task<Result<Announced>> decide(Draft* draft, const AnnounceJob* job, std::int64_t now_ms) {
  Announced out;
  for (const ProviderEntry& entry : job->providers) {
    const catalog::ProviderRecord& record = entry.record;
    const std::string key = provider_key(record.addr, record.node);
    const auto known = co_await provider_of(draft, key);
    if (!known) co_return fail(known.error());
    if (!*known && record.expires_ms <= static_cast<std::uint64_t>(now_ms)) {
      ++out.expired;
      continue;
    }
    if (!*known) {
      const std::string others = providers_prefix(record.addr);
      const auto count = co_await draft->count(others, behind(others), kMostPerAddress);
      if (!count) co_return fail(count.error());
      if (*count >= kMostPerAddress) {
        ++out.crowded;
        continue;
      }
    }
    ProviderEntry next = entry;
    next.guard_until_ms = record.expires_ms;
    if (*known) {
      if ((*known)->record.seq > record.seq) {
        ++out.stale;
        continue;
      }
      if ((*known)->record == record && (*known)->is_own >= entry.is_own) {
        ++out.accepted;
        continue;
      }
      next.guard_until_ms = std::max(next.guard_until_ms, (*known)->guard_until_ms);
      next.is_own = next.is_own || (*known)->is_own;
      draft->erase(expiry_key((*known)->guard_until_ms, record.addr, record.node));
    }
    draft->put(key, encode(next));
    draft->put(expiry_key(next.guard_until_ms, record.addr, record.node), "");
    ++out.accepted;
  }
  co_return out;
}

Task<Result<bool>> decide(Draft* draft, const PinJob* job) {
  const auto found = co_await draft->get(pin_key(job->key));
  if (!found) co_return fail(found.error());
  if (found->has_value() == job->is_pinned) co_return false;
  if (job->is_pinned) {
    draft->put(pin_key(job->key), "");
  } else {
    draft->erase(pin_key(job->key));
  }
  co_return true;
}

Task<Result<bool>> decide(Draft* draft, const ManifestJob* job) {
  const std::string key = manifest_key(job->address);
  const std::string bytes = encode(job->facts);
  const auto found = co_await draft->get(key);
  if (!found) co_return fail(found.error());
  if (*found == bytes) co_return false;
  draft->put(key, bytes);
  co_return true;
}

Task<Result<std::size_t>> decide(Draft* draft, const PruneJob* job, platform::KeyValue* map) {
  const std::string from(1, kExpiryTable);
  const std::string until = expiry_key(job->now_ms, {}, {});
  const auto expired = co_await map->scan(from, until, kPruned);
  if (!expired) co_return fail(expired.error());
  std::size_t gone = 0;
  constexpr std::size_t kPlace = 1 + 8;  // of address and node in the key
  for (const auto& [key, nothing] : *expired) {
    // An announcement of this batch may have moved it.
    const auto still = co_await draft->get(key);
    if (!still) co_return fail(still.error());
    if (!*still) continue;
    draft->erase(key);
    draft->erase(std::string(1, kProvidersTable) + key.substr(kPlace));
    ++gone;
  }
  co_return gone;
}

}  // namespace ron::index
