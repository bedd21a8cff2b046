#include "services/registry/config.h"

#include "services/kit/otel.h"
#include "services/registry/wires.h"

namespace ron::registry {
namespace {

using config::Reload;

config::Group<LogConfig> log_keys() {
  using C = LogConfig;
  return {
      config::duration_key("checkpoint_interval", &C::checkpoint_interval, "5m",
                           {.min = "10ms", .max = "30d"}, Reload::Hot,
                           "a checkpoint is signed this often, if something was committed"),
      config::count_key("checkpoint_versions", &C::checkpoint_versions, "10000",
                        {.min = "1", .max = "1000000"}, Reload::Hot,
                        "and after so many versions, so that a start has little to read"),
      config::size_key("segment_bytes", &C::segment_bytes, "16MiB", {.min = "64KiB", .max = "1GiB"},
                       Reload::Restart,
                       "a file of the log is closed once it is that large; pruning removes whole "
                       "files"),
      config::duration_key("slow_after", &C::slow_after, "1s", {.min = "10ms", .max = "1m"},
                           Reload::Hot,
                           "writes are unready while one of them takes longer than this"),
  };
}

config::Group<OtelConfig> otel_keys() {
  using C = OtelConfig;
  config::Group<C> group{
      config::bool_key("enabled", &C::enabled, "false", {}, Reload::Hot,
                       "export a span for each request to otel.endpoint"),
      config::text_key("endpoint", &C::endpoint, "", {.max = "256"}, Reload::Hot,
                       "OTLP over HTTP with JSON, such as http://127.0.0.1:4318/v1/traces"),
  };
  group.check([](const C& otel, config::Problems& problems) {
    if (otel.enabled && otel.endpoint.empty()) {
      problems.add("endpoint", "is missing: spans have to go somewhere");
    }
    if (otel.endpoint.empty()) return;
    const auto collector = kit::Collector::parse(otel.endpoint);
    if (!collector) problems.add("endpoint", collector.error().message);
  });
  return group;
}

base::Result<std::optional<chain::SignerSet>> parse_signers(const RegistryConfig& config) {
  if (config.genesis_signers.empty()) return std::nullopt;
  std::vector<chain::Signer> signers;
  for (const std::string& text : config.genesis_signers) {
    const std::size_t equals = text.find('=');
    const auto key = auth::parse_public_key(
        equals == std::string::npos ? "" : std::string_view(text).substr(equals + 1));
    if (!key) return base::fail(key.error());
    signers.push_back(chain::make_signer(text.substr(0, equals), *key));
  }
  const std::uint64_t threshold =
      config.genesis_threshold != 0 ? config.genesis_threshold : signers.size() - 1;
  auto set = chain::make_signer_set(threshold, std::move(signers));
  if (!set) return base::fail(std::move(set.error()));
  return std::move(*set);
}

void add_own_keys(config::Group<RegistryConfig>& group) {
  using C = RegistryConfig;
  group.include(&C::storage, log_keys(), "storage.");
  group.add(config::text_list_key(
      "genesis.signers", &C::genesis_signers, "[]", {.max = "64"}, Reload::Restart,
      "NAME=KEY, the base64 of each first signer's public key, for a log that begins; empty: three "
      "keys are made"));
  group.add(config::count_key("genesis.threshold", &C::genesis_threshold, "0", {.max = "63"},
                              Reload::Restart, "how many of them have to approve; 0: all but one"));
  group.add(config::duration_key("proposals.ttl", &C::proposals_ttl, "24h",
                                 {.min = "1s", .max = "365d"}, Reload::Hot,
                                 "a proposal that is not committed by then has expired"));
  group.add(config::count_key("proposals.max_pending", &C::proposals_max, "512",
                              {.min = "1", .max = "65536"}, Reload::Hot,
                              "proposals that may be pending at once before 429 Busy; changes of "
                              "signers find room for 16 more"));
  group.add(config::count_key("proposals.max_pending_per_tenant", &C::proposals_max_per_tenant, "0",
                              {.max = "65536"}, Reload::Hot,
                              "of them, those of one tenant before 429 Quota; 0: a quarter"));
  group.add(config::count_key("retention.keep_versions", &C::keep_versions, "0",
                              {.max = "1000000000000"}, Reload::Hot,
                              "latest versions that are kept at least; 0: all"));
  group.add(config::duration_key("verify.slice", &C::verify_slice, "50ms",
                                 {.min = "1ms", .max = "10s"}, Reload::Hot,
                                 "how long the log is verified at a time"));
  group.add(config::duration_key("verify.pause", &C::verify_pause, "50ms",
                                 {.min = "0s", .max = "1h"}, Reload::Hot,
                                 "and how long it rests in between"));
  group.include(&C::streams, http::stream_keys(), "sse.");
  group.include(&C::otel, otel_keys(), "otel.");
  group.add(kit::capacity_key(kProposals, &C::proposals_capacity,
                              "proposals and commits waiting for the committer before 429 Busy"));
  group.add(kit::capacity_key(kApprovals, &C::approvals_capacity,
                              "approvals waiting for the committer before 429 Busy"));
  group.add(kit::capacity_key(kCommitted, &C::committed_capacity,
                              "versions kept for slow listeners before they see a gap"));
  group.add(kit::capacity_key(kCfgReload, &C::cfg_reload_capacity,
                              "settings waiting to be handed on before the oldest is dropped"));
  group.add(kit::capacity_key(kRetentionCmd, &C::retention_capacity,
                              "prunes waiting before one is skipped until the next checkpoint"));
  group.add(kit::capacity_key(kEvents, &C::events_capacity,
                              "events kept for slow listeners before they miss some"));
}

config::Group<RegistryConfig> keys() {
  config::Group<RegistryConfig> group;
  group.include(kit::service_keys({.bind = "127.0.0.1:8083", .admin = "127.0.0.1:9083"}));
  add_own_keys(group);
  group.check([](const RegistryConfig& config, config::Problems& problems) {
    const auto signers = parse_signers(config);
    if (!signers) problems.add("genesis.signers", signers.error().message);
  });
  return group;
}

}  // namespace

std::optional<chain::SignerSet> genesis_signers(const RegistryConfig& config) {
  return parse_signers(config).value_or(std::nullopt);
}

const config::Section<RegistryConfig>& registry_section() {
  static const config::Section<RegistryConfig> section(
      "registry", "svc-registry: signed, approved by several, chained", keys());
  return section;
}

}  // namespace ron::registry
