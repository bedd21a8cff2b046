#include "app/doctor_storage.h"

#include "app/doctor_files.h"
#include "base/about.h"
#include "platform/posix/files.h"
#include "services/storage/budget.h"
#include "services/storage/config.h"
#include "volume/segment.h"

namespace ron::app {
namespace {

namespace files = platform::posix;
using base::about;
using files::PathKind;
using Level = Finding::Level;

constexpr std::size_t kIdentityBytes = 4096;

// False when a start would refuse the volume.
bool look_at_volume(const std::string& path, Findings& out) {
  const std::string identity = path + "/" + std::string(volume::kIdentityName);
  if (files::path_kind(identity) == PathKind::Nothing) return true;
  const auto claimed = files::is_claimed(identity);
  if (claimed && *claimed) {
    out.push_back({Level::Fail, "data", "another process uses '" + path + "'",
                   "stop it first, or start with another --data"});
    return false;
  }
  const auto text = files::read_small_file(identity, kIdentityBytes);
  if (claimed && text && volume::parse_identity(*text)) return true;
  const std::string why = !claimed ? claimed.error().message
                          : !text  ? text.error().message
                                   : "'" + identity + "' is not the file of a volume";
  out.push_back({Level::Fail, "data", why, "restore it from a copy"});
  return false;
}

void look_at_room(const std::string& path, const storage::StorageConfig& config, Findings& out) {
  const auto free = files::free_bytes(existing_part(path));
  if (!free) {
    out.push_back({Level::Fail, "data", free.error().message});
    return;
  }
  const std::uint64_t least = config.min_free_bytes.bytes;
  const std::string text = "'" + path + "': " + about(*free) +
                           " free, of which storage.min_free_bytes keeps " + about(least);
  if (*free <= least) {
    out.push_back({Level::Fail, "data", text + ": every write would be refused",
                   "make room, or lower storage.min_free_bytes"});
  } else if (*free - least < config.segment_bytes.bytes) {
    out.push_back({Level::Warn, "data", text, "little is left for objects"});
  } else {
    out.push_back({Level::Ok, "data", text});
  }
}

void judge_descriptors(const storage::StorageConfig& config,
                       const platform::posix::Machine& machine, std::size_t cores, Findings& out) {
  const std::uint64_t needed = storage::descriptors_needed(config, cores);
  const std::string text = std::to_string(machine.open_files) + " allowed, " +
                           std::to_string(needed) + " needed when all connections are open";
  if (machine.open_files >= needed) {
    out.push_back({Level::Ok, "open files", text});
  } else {
    out.push_back({Level::Warn, "open files", text,
                   "lower storage.max_conns or raise the hard limit of open files"});
  }
}

}  // namespace

void examine_storage_files(const config::Config& config, const std::string& directory,
                           Findings& out) {
  const auto settings = config.get(storage::storage_section());
  if (settings->amnesia) return;
  const std::string key = settings->data_dirs.empty() ? "--data" : "storage.data_dirs";
  for (const std::string& path : storage::object_directories(*settings, directory)) {
    if (!look_at_directory(key, path, out)) continue;
    if (look_at_volume(path, out)) look_at_room(path, *settings, out);
  }
}

void judge_storage(const config::Config& config, const platform::posix::Machine& machine,
                   std::size_t cores, Findings& out) {
  const auto settings = config.get(storage::storage_section());
  judge_descriptors(*settings, machine, cores, out);
  if (settings->cache_bytes.bytes >= machine.memory_bytes) {
    out.push_back({Level::Fail, "memory", "storage.cache_bytes is all the memory there is",
                   "lower storage.cache_bytes"});
  }
}

std::vector<kit::Addend> budget_storage(const config::Config& config,
                                        const kit::ServiceConfig* front, std::size_t cores) {
  auto settings = *config.get(storage::storage_section());
  if (front != nullptr) settings.server.max_conns = front->server.max_conns;
  return storage::memory_budget(settings, cores);
}

}  // namespace ron::app
