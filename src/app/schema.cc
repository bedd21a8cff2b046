#include "app/schema.h"

#include <string>

#include "services/kit/capability_gate.h"

namespace ron::app {

using config::Reload;

const config::Section<LogConfig>& log_section() {
  using observe::Level;
  using observe::LogFormat;
  static const config::Section<LogConfig> section(
      "log", "what is logged, to standard error",
      {config::choice_key("level", &LogConfig::level, "info",
                          {{"trace", Level::kTrace},
                           {"debug", Level::kDebug},
                           {"info", Level::kInfo},
                           {"warn", Level::kWarn},
                           {"error", Level::kError}},
                          {}, Reload::Hot, "lines below this level are not written"),
       config::choice_key("format", &LogConfig::format, "json",
                          {{"json", LogFormat::kJson}, {"text", LogFormat::kText}}, {},
                          Reload::Restart, "json for machines, text for people"),
       config::choice_key(
           "access", &LogConfig::access, "off",
           {{"off", AccessLog::Off}, {"json", AccessLog::Json}, {"text", AccessLog::Text}}, {},
           Reload::Hot,
           "a line for each request, whatever the level; refusals are also lines of "
           "the level debug")});
  return section;
}

const config::Section<RuntimeConfig>& runtime_section() {
  static const config::Section<RuntimeConfig> section(
      "runtime", "threads",
      {config::count_key("cores", &RuntimeConfig::cores, "0", {.max = "64"}, Reload::Restart,
                         "event loops, one thread each; 0 means one per CPU"),
       config::bool_key("pin", &RuntimeConfig::pin, "false", {}, Reload::Restart,
                        "keep each event loop on a CPU of its own")});
  return section;
}

config::Schema schema_of(const Selection& selection) {
  config::Schema made;
  made.add(log_section());
  made.add(runtime_section());
  made.add(kit::auth_section());
  for (const ServiceEntry* entry : selection) made.add(entry->kind->section());
  // The contract writes these keys both ways: relative to the file's section and in full.
  if (made.has_section("storage")) made.alias("storage.storage", "storage");
  // What the specification of svc-registry calls them.
  if (made.has_section("registry")) {
    made.alias("registry.limits.rps", "registry.server.max_rps");
    made.alias("registry.limits.inflight", "registry.server.max_inflight");
    made.alias("registry.limits.decompress_ratio_cap", "registry.limits.decode_ratio_max");
    made.alias("registry.bus.channel_bound", "registry.channels.committed");
  }
  for (const ServiceEntry& entry : services()) {
    if (!made.has_section(entry.kind->name)) made.know(std::string(entry.kind->name));
  }
  // And what that of svc-index does.
  if (made.has_section("index")) {
    made.alias("index.server.connection_limit_per_ip", "index.max_conns_per_ip");
    made.alias("index.amnesia.enabled", "index.amnesia");
    made.alias("index.amnesia.purge_interval_ms", "index.amnesia_purge_interval_ms");
  }
  // And that of svc-edge, in the units that its names say.
  if (made.has_section("edge")) {
    using config::Meant;
    made.alias("edge.ingress.timeout_secs", "edge.read_timeout", Meant::Seconds);
    made.alias("edge.ingress.max_inflight", "edge.server.max_inflight");
    made.alias("edge.ingress.rps_limit", "edge.server.max_rps");
    made.alias("edge.ingress.body_bytes", "edge.limits.max_body_bytes");
    made.alias("edge.ingress.decompress_max_ratio", "edge.limits.decode_ratio_max");
    made.alias("edge.ingress.decompress_abs_bytes", "edge.limits.decode_abs_cap_bytes");
    made.alias("edge.retry.live_fill.base_ms", "edge.fill.base", Meant::Milliseconds);
    made.alias("edge.retry.live_fill.max_ms", "edge.fill.max", Meant::Milliseconds);
    made.alias("edge.retry.live_fill.max_retries", "edge.fill.max_tries", Meant::OneLess);
    made.alias("edge.retry.live_fill.jitter", "edge.fill.jitter");
  }
  return made;
}

const config::Schema& schema() {
  static const config::Schema all = schema_of(select_services({}).value());
  return all;
}

}  // namespace ron::app
