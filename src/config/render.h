// Everything people read about the configuration, derived from declarations and loaded values.
// Secrets never appear: their values are shown as eight stars.
#pragma once

#include <string>
#include <string_view>

#include "config/load.h"
#include "config/section.h"

namespace ron::config {

inline constexpr std::string_view kRedacted = "********";

// The effective value for people; kRedacted for a secret, set or not.
std::string shown_value(const Entry& entry);

// `ron config show`: one aligned line per key: key, value, source.
std::string show(const Config& config);

// `GET /debug/config`: {"storage.max_conns":{"value":1024,"source":"default","reload":"hot"},...}.
std::string show_json(const Config& config);

// docs/generated/config.md: a table per section. Keys under `debug.` are seams for tests; neither
// this nor the sample has them.
std::string reference_markdown(const Schema& schema);

enum class SampleKeys { Commented, Active };
// An annotated ron.toml: help, type, bounds and default of every key. Commented keys leave later
// defaults in force; active ones read back as exactly the defaults.
std::string sample_toml(const Schema& schema, SampleKeys keys);

// The annotated ron.toml with the effective values: keys someone set are active and say who did,
// the others are commented. Reads back as the same configuration, secrets excepted: they stay
// commented.
std::string effective_toml(const Schema& schema, const Config& config);

}  // namespace ron::config
