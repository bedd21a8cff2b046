#include "services/storage/config.h"

#include <set>
#include <utility>

#include "base/limits.h"
#include "catalog/provider_record.h"
#include "http/upstream_address.h"
#include "services/storage/wires.h"

namespace ron::storage {
namespace {

using config::Reload;

config::Group<TenantQuota> tenant_keys() {
  using C = TenantQuota;
  return {config::text_key("name", &C::name, "", {.min = "1", .max = "64", .required = true},
                           Reload::Hot, "the capability's tenant"),
          config::size_key("bytes", &C::bytes, "0", {}, Reload::Hot, "0 means no limit"),
          config::count_key("objects", &C::objects, "0", {}, Reload::Hot, "0 means no limit")};
}

config::Group<QuotaConfig> quota_keys() {
  using C = QuotaConfig;
  config::Group<C> group{
      config::size_key("bytes", &C::bytes, "0", {}, Reload::Hot,
                       "bytes each tenant may store; 0 means no limit"),
      config::count_key("objects", &C::objects, "0", {}, Reload::Hot,
                        "objects each tenant may store; 0 means no limit"),
      config::records_key("tenants", &C::tenants, tenant_keys(), "[]", {.max = "1024"}, Reload::Hot,
                          "tenants with limits of their own"),
  };
  group.check([](const C& quota, config::Problems& problems) {
    std::set<std::string> seen;
    for (const TenantQuota& row : quota.tenants) {
      if (!seen.insert(row.name).second) {
        problems.add("tenants", "the tenant " + row.name + " is there twice");
      }
    }
  });
  return group;
}

config::Group<UploadsConfig> upload_keys() {
  using C = UploadsConfig;
  return {
      config::duration_key("expire_after", &C::expire_after, "24h", {.min = "1s", .max = "365d"},
                           Reload::Hot, "an upload that is not committed by then is dropped"),
      config::count_key("max_open", &C::max_open, "1000", {.min = "1", .max = "1000000"},
                        Reload::Hot, "uploads that may be open at once before 429 Quota")};
}

config::Group<ScrubConfig> scrub_keys() {
  using C = ScrubConfig;
  return {config::rate_key("rate", &C::rate, "50MiB/s", {.min = "64KiB/s"}, Reload::Hot,
                           "how fast the medium is read to check what is stored"),
          config::duration_key("every", &C::every, "7d", {.min = "1m", .max = "365d"}, Reload::Hot,
                               "a check of everything begins this long after the last one")};
}

config::Group<AnnounceConfig> announce_keys() {
  using C = AnnounceConfig;
  config::Group<C> group{
      config::bool_key("enabled", &C::enabled, "true", {}, Reload::Restart,
                       "tell an index what is stored here, if there is one; never in amnesia mode"),
      config::text_key("index", &C::index, "", {}, Reload::Restart,
                       "an index elsewhere, http(s)://host:port; empty: the one of this process"),
      config::text_key("token_path", &C::token_path, "", {}, Reload::Restart,
                       "file with a token for it; an index that knows this node needs none"),
      config::text_key("public_url", &C::url, "", {}, Reload::Hot,
                       "where others get the objects of this node; empty: where the process "
                       "listens, unless that is every address"),
      config::text_key("region", &C::region, "", {}, Reload::Hot, "where this node is: a-z 0-9 -"),
      config::count_key("rps", &C::rps, "2000", {.min = "1", .max = "100000"}, Reload::Hot,
                        "records per second at most"),
      config::duration_key("ttl", &C::ttl, "24h", {.min = "1m", .max = "30d"}, Reload::Hot,
                           "how long a record holds; renewed at half of it")};
  group.check([](const C& announce, config::Problems& problems) {
    const auto add = [&problems](const char* key, const base::Result<void>& sound) {
      if (!sound) problems.add(key, sound.error().message);
    };
    if (!announce.url.empty()) add("public_url", catalog::check_provider_url(announce.url));
    add("region", catalog::check_region(announce.region));
    if (announce.index.empty()) return;
    const auto index = http::UpstreamAddress::parse(announce.index);
    if (!index) problems.add("index", index.error().message);
  });
  return group;
}

void add_store_keys(config::Group<StorageConfig>& group) {
  using C = StorageConfig;
  group.add(config::text_list_key("data_dirs", &C::data_dirs, "[]", {.max = "64"}, Reload::Restart,
                                  "directories for objects; empty: storage/ in the directory of "
                                  "--data"));
  group.add(config::size_key("cache_bytes", &C::cache_bytes, "256MiB", {}, Reload::Hot,
                             "memory for objects; in amnesia mode all there is, else 0 turns the "
                             "memory tier off"));
  group.add(config::size_key("chunk_size", &C::chunk_size, "64KiB", {.min = "64KiB", .max = "1MiB"},
                             Reload::Hot,
                             "what is read at once for a streamed answer; a multiple of 64KiB"));
  group.add(config::size_key("segment_bytes", &C::segment_bytes, "256MiB",
                             {.min = "16MiB", .max = "16GiB"}, Reload::Restart,
                             "a file of objects is closed once it is that large"));
  group.add(config::size_key("index_cache_bytes", &C::index_cache_bytes, "128MiB", {.min = "1MiB"},
                             Reload::Restart, "memory for the index of each data directory"));
  group.add(config::size_key(
      "fingerprint_bytes", &C::fingerprint_bytes, "64MiB", {.max = "16GiB"}, Reload::Restart,
      "memory of each data directory for fingerprints of what was hashed, 16 "
      "bytes for each 16KiB, so that reading it again costs less; 0: hash "
      "on every read"));
  group.add(config::duration_key("commit_window", &C::commit_window, "1ms", {.max = "1s"},
                                 Reload::Hot,
                                 "how long a write may wait for others to share its sync"));
  group.add(config::size_key("min_free_bytes", &C::min_free_bytes, "1GiB", {}, Reload::Hot,
                             "writes are refused when less than this is free on the disk"));
  group.add(config::count_key("get_workers", &C::get_workers, "8", {.min = "1", .max = "256"},
                              Reload::Restart, "tasks that read and verify stored objects"));
  group.add(config::count_key("put_workers", &C::put_workers, "4", {.min = "1", .max = "256"},
                              Reload::Restart, "tasks that verify and store new objects"));
  group.include(&C::uploads, upload_keys(), "uploads.");
  group.include(&C::quota, quota_keys(), "quota.");
  group.include(&C::scrub, scrub_keys(), "scrub.");
  group.include(&C::announce, announce_keys(), "announce.");
}

// Less holds not even one object of the largest body.
constexpr std::uint64_t kAmnesiaMinBytes = base::limits::kPartBytes;

void check_store(const StorageConfig& config, config::Problems& problems) {
  if (config.chunk_size.bytes % base::limits::kGroupBytes != 0) {
    problems.add("chunk_size", "is not a multiple of 64KiB");
  }
  if (config.amnesia && config.cache_bytes.bytes < kAmnesiaMinBytes) {
    problems.add("cache_bytes", "is all the memory there is in amnesia mode: at least 1MiB");
  }
}

// Set by the build: only one with tests has keys that make the service misbehave for them.
constexpr bool kTestSeams = RON_TEST_SEAMS != 0;

config::Group<StorageConfig> keys() {
  using C = StorageConfig;
  config::Group<C> group;
  group.include(kit::service_keys({.bind = "127.0.0.1:8081", .admin = "127.0.0.1:9081"}));
  add_store_keys(group);
  group.add(
      kit::capacity_key(kWork, &C::work_capacity, "requests waiting for a worker before 429 Busy"));
  group.add(kit::capacity_key(kCommit, &C::commit_capacity,
                              "writes waiting for the disk before workers wait too"));
  group.add(kit::capacity_key(kEvents, &C::events_capacity,
                              "events kept for slow listeners before they miss some"));
  if (kTestSeams) {
    group.add(config::duration_key("debug.work_delay", &C::debug_work_delay, "0s",
                                   {.max = "10m", .safe_max = "0s"}, Reload::Hot,
                                   "for tests: every worker waits this long before each job"));
  }
  group.check(check_store);
  return group;
}

}  // namespace

std::vector<std::string> object_directories(const StorageConfig& config, std::string directory) {
  if (config.data_dirs.empty()) return {std::move(directory)};
  return {config.data_dirs.begin(), config.data_dirs.end()};
}

const config::Section<StorageConfig>& storage_section() {
  static const config::Section<StorageConfig> section(
      "storage", "svc-storage: content-addressed objects", keys());
  return section;
}

}  // namespace ron::storage
