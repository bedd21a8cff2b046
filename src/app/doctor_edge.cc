#include "app/doctor_edge.h"

#include <string>
#include <vector>

#include "base/about.h"
#include "base/units.h"
#include "platform/posix/files.h"
#include "services/edge/budget.h"

namespace ron::app {
namespace {

namespace files = platform::posix;
using files::PathKind;
using Level = Finding::Level;

constexpr std::size_t kTokenBytes = 64 * base::kKiB;

void look_at_pack(const edge::PackConfig& pack, Findings& out) {
  const std::string what = "edge.packs: " + pack.name + ", '" + pack.path + "'";
  if (files::path_kind(pack.path) != PathKind::Regular) {
    out.push_back({Level::Warn, "packs", what + " is no file", "it is mounted once it is there"});
  } else if (!files::can_read_file(pack.path)) {
    out.push_back({Level::Warn, "packs", what + " may not be read", "it is mounted once it may"});
  } else {
    out.push_back({Level::Ok, "packs", what + " can be read"});
  }
}

// How much of the disk others leave to it is not known here.
void tell_disk(const std::vector<kit::Addend>& budget, Findings& out) {
  for (const kit::Addend& addend : budget) {
    out.push_back({.level = Level::Ok,
                   .topic = "disk",
                   .text = base::about(addend.bytes()) + " = " + std::to_string(addend.count) +
                           " x " + base::about(addend.each_bytes) + "  " + addend.what,
                   .is_detail = true});
  }
  if (budget.empty()) return;
  out.push_back(
      {Level::Ok, "disk",
       base::about(kit::total_bytes(budget)) + " at most for the bytes of the edge's cache"});
}

}  // namespace

void examine_edge_files(const config::Config& config, const std::string&, Findings& out) {
  const auto settings = config.get(edge::edge_section());
  for (const edge::PackConfig& pack : settings->packs) look_at_pack(pack, out);
  const std::string& directory = settings->packs_dir;
  if (!directory.empty() && files::path_kind(directory) != PathKind::Directory) {
    out.push_back({Level::Warn, "packs", "edge.packs_dir: '" + directory + "' is no directory",
                   "its packs are mounted once it is there"});
  }
  const std::string& token = settings->origin_token_path;
  if (token.empty()) return;
  const auto read = files::read_small_file(token, kTokenBytes);
  if (!read) {
    out.push_back({Level::Fail, "origin", "edge.origin_token_path: " + read.error().message});
  }
}

void judge_edge(const config::Config& config, const platform::posix::Machine& machine,
                std::size_t cores, Findings& out) {
  const auto settings = config.get(edge::edge_section());
  judge_open_files(machine, edge::descriptors_needed(*settings, cores), "the edge",
                   "lower edge.max_conns or edge.workers", out);
  tell_disk(edge::disk_budget(*settings), out);
}

std::vector<kit::Addend> budget_edge(const config::Config& config, const kit::ServiceConfig* front,
                                     std::size_t cores) {
  auto settings = *config.get(edge::edge_section());
  if (front != nullptr) settings.server.max_conns = front->server.max_conns;
  return edge::memory_budget(settings, cores);
}

}  // namespace ron::app
