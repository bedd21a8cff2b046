#include "runtime/topology.h"

#include <algorithm>
#include <cassert>

namespace ron::runtime {

std::string_view name(ChannelKind kind) noexcept {
  switch (kind) {
    case ChannelKind::Mpsc:
      return "mpsc";
    case ChannelKind::Broadcast:
      return "broadcast";
    case ChannelKind::Watch:
      return "watch";
  }
  return "";
}

std::string_view name(Importance importance) noexcept {
  switch (importance) {
    case Importance::Critical:
      return "critical";
    case Importance::Important:
      return "important";
    case Importance::Optional:
      return "optional";
  }
  return "";
}

Topology::Registration Topology::add(const Live& live) {
  assert(
      std::ranges::any_of(wires_.channels,
                          [&](const ChannelDecl& decl) { return decl.name == live.decl->name; }) &&
      "a channel is declared in its service's wires.h");
  const std::lock_guard lock(mutex_);
  live_.push_back(&live);
  return {*this, &live};
}

std::vector<Topology::Sample> Topology::sample() const {
  const std::lock_guard lock(mutex_);
  std::vector<Sample> samples;
  for (const Live* live : live_) samples.push_back({live->decl, live->capacity, live->depth()});
  return samples;
}

void Topology::forget(const Live* live) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(live_, live);
}

namespace {

std::string row(std::initializer_list<std::string_view> cells) {
  std::string line = "|";
  for (const std::string_view cell : cells) {
    line += " ";
    line += cell;
    line += " |";
  }
  return line + "\n";
}

// A JSON string. Declarations are our own text, but a sentence may well hold a quotation mark.
std::string json(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

// Names of actors ("listener, repair planner") as Mermaid node ids.
std::vector<std::string> actors(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(", "), text.size());
    names.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 2, text.size()));
  }
  return names;
}

std::vector<std::string> consumers(const ChannelDecl& channel, const Wires& wires) {
  if (channel.consumers != kEveryTask) return actors(channel.consumers);
  std::vector<std::string> names;
  for (const TaskDecl& task : wires.tasks) names.emplace_back(task.kind);
  return names;
}

std::string node_id(std::string_view text) {
  std::string id(text);
  std::ranges::replace_if(id, [](char c) { return c == ' ' || c == '-'; }, '_');
  return id;
}

}  // namespace

std::string to_markdown(const Wires& wires) {
  std::string out = "## " + std::string(wires.service) + "\n\n### Tasks\n\n";
  out += row({"kind", "count", "importance", "purpose"}) + row({"---", "---", "---", "---"});
  for (const TaskDecl& task : wires.tasks) {
    out += row({task.kind, task.count, name(task.importance), task.purpose});
  }
  out += "\n### Channels\n\n";
  out +=
      row({"name", "kind", "capacity", "producers", "consumers", "overflow", "when full", "key"}) +
      row({"---", "---", "---:", "---", "---", "---", "---", "---"});
  for (const ChannelDecl& channel : wires.channels) {
    const std::string key =
        channel.config_key.empty() ? "" : "`" + std::string(channel.config_key) + "`";
    out +=
        row({channel.name, name(channel.kind), std::to_string(channel.capacity), channel.producers,
             channel.consumers, name(channel.overflow), channel.on_overflow, key});
  }
  out +=
      "\n### Locks\n\nIn order of rank; a thread takes them only upwards and never holds one while "
      "it "
      "awaits.\n\n";
  out += row({"rank", "name", "guards"}) + row({"---:", "---", "---"});
  for (const LockDecl& lock : wires.locks) {
    out += row({std::to_string(lock.rank), lock.name, lock.guards});
  }
  return out + "\n### Graph\n\n```mermaid\n" + to_mermaid(wires) + "```\n";
}

std::string to_mermaid(const Wires& wires) {
  std::string out = "flowchart LR\n";
  for (const ChannelDecl& channel : wires.channels) {
    const std::string label = std::string(name(channel.kind)) + " " + std::string(channel.name) +
                              " " + std::to_string(channel.capacity);
    for (const std::string& from : actors(channel.producers)) {
      for (const std::string& to : consumers(channel, wires)) {
        out += "  " + node_id(from) + "[" + quoted(from) + "] -->|" + quoted(label) + "| " +
               node_id(to) + "[" + quoted(to) + "]\n";
      }
    }
  }
  return out;
}

std::string to_json(const Topology& topology) {
  const Wires& wires = topology.wires();
  const std::vector<Topology::Sample> live = topology.sample();
  std::string out = "{\"service\":" + json(wires.service) + ",\"tasks\":[";
  for (std::size_t i = 0; i < wires.tasks.size(); ++i) {
    const TaskDecl& task = wires.tasks[i];
    out += std::string(i == 0 ? "" : ",") + "{\"kind\":" + json(task.kind) +
           ",\"count\":" + json(task.count) + ",\"importance\":" + json(name(task.importance)) +
           ",\"purpose\":" + json(task.purpose) + "}";
  }
  out += "],\"channels\":[";
  for (std::size_t i = 0; i < wires.channels.size(); ++i) {
    const ChannelDecl& channel = wires.channels[i];
    out += std::string(i == 0 ? "" : ",") + "{\"name\":" + json(channel.name) +
           ",\"kind\":" + json(name(channel.kind)) + ",\"producers\":" + json(channel.producers) +
           ",\"consumers\":" + json(channel.consumers) +
           ",\"overflow\":" + json(name(channel.overflow)) + ",\"live\":[";
    bool first = true;
    for (const Topology::Sample& entry : live) {
      if (entry.decl->name != channel.name) continue;
      out += std::string(first ? "" : ",") + "{\"capacity\":" + std::to_string(entry.capacity) +
             ",\"depth\":" + std::to_string(entry.depth) + "}";
      first = false;
    }
    out += "]}";
  }
  out += "],\"locks\":[";
  for (std::size_t i = 0; i < wires.locks.size(); ++i) {
    out += std::string(i == 0 ? "" : ",") + "{\"name\":" + json(wires.locks[i].name) +
           ",\"rank\":" + std::to_string(wires.locks[i].rank) + "}";
  }
  return out + "]}";
}

}  // namespace ron::runtime
