// `ron doctor`: would a start with this configuration go well on this machine?
#pragma once

#include <cstdint>
#include <string>

#include "app/finding.h"
#include "app/process.h"
#include "app/services.h"
#include "config/load.h"
#include "platform/posix/probe.h"

namespace ron::app {

// Judges the configuration of these services against what the machine offers. Pure.
Findings judge(const Selection& services, const config::Config& config,
               const platform::posix::Machine& machine, std::size_t cores);

// What a start would find on disk: the data directory and its volumes, root keys, the deny list,
// the file of --token-out, certificates. Changes nothing.
Findings examine_files(const ServeOptions& options, const config::Config& config,
                       std::int64_t now_unix_s);

// Everything: configuration, files, ports, machine. Opens and closes listeners for a moment.
Findings examine(const ServeOptions& options);

// One line per finding: `warn  memory  …; advice`.
enum class Details : bool { Hide, Show };
std::string print(const Findings& findings, Details details = Details::Hide);
bool has_failure(const Findings& findings) noexcept;

}  // namespace ron::app
