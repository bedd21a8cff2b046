#include "app/doctor_registry.h"

#include <algorithm>

#include "platform/posix/files.h"
#include "services/kit/capability_gate.h"
#include "services/registry/budget.h"
#include "services/registry/config.h"
#include "services/registry/genesis.h"

namespace ron::app {
namespace {

namespace files = platform::posix;
using Level = Finding::Level;

std::string signers_directory(const config::Config& config, const std::string& directory) {
  std::string keys = config.get(kit::auth_section())->keys_dir;
  if (keys.empty()) keys = directory.substr(0, directory.rfind('/') + 1) + "keys";
  return keys + "/" + std::string(registry::kSignersName);
}

}  // namespace

void examine_registry_files(const config::Config& config, const std::string& directory,
                            Findings& out) {
  if (config.get(registry::registry_section())->amnesia) return;
  const std::string signers = signers_directory(config, directory);
  const auto names = files::list_directory(signers);
  const auto secrets =
      names ? std::ranges::count_if(*names,
                                    [](const std::string& name) { return name.ends_with(".pem"); })
            : 0;
  if (secrets == 0) {
    out.push_back({Level::Ok, "signers", "no signer's secret key is on this machine"});
    return;
  }
  out.push_back({Level::Warn, "signers",
                 std::to_string(secrets) + " secret keys of signers lie together in '" + signers +
                     "': whoever reads them decides alone",
                 "move each .pem file to the machine of another person and remove it here"});
}

void judge_registry(const config::Config& config, const platform::posix::Machine& machine,
                    std::size_t cores, Findings& out) {
  const auto settings = config.get(registry::registry_section());
  judge_open_files(machine, registry::descriptors_needed(*settings, cores), "the registry",
                   "lower registry.max_conns", out);
}

std::vector<kit::Addend> budget_registry(const config::Config& config,
                                         const kit::ServiceConfig* front, std::size_t cores) {
  auto settings = *config.get(registry::registry_section());
  if (front != nullptr) settings.server.max_conns = front->server.max_conns;
  return registry::memory_budget(settings, cores);
}

}  // namespace ron::app
