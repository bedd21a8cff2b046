#include "config/reload.h"

#include <array>

#include "config/render.h"

namespace ron::config {
namespace {

constexpr std::array kFails = {ReloadFail::Parse, ReloadFail::Invalid, ReloadFail::RestartRequired,
                               ReloadFail::Io, ReloadFail::Rebind};

std::vector<Change>& bucket(Changes& changes, Reload reload) {
  switch (reload) {
    case Reload::Hot:
      return changes.hot;
    case Reload::Rebind:
      return changes.rebind;
    case Reload::Restart:
      break;
  }
  return changes.restart;
}

}  // namespace

Changes diff(const Config& before, const Config& after) {
  Changes changes;
  for (const Entry& old : before.entries()) {
    const Entry* now = after.find(old.key);
    if (now == nullptr) {
      changes.restart.push_back({old.key, Reload::Restart, shown_value(old), ""});
    } else if (!(old.value == now->value)) {
      const Reload reload = now->decl->reload;
      bucket(changes, reload).push_back({old.key, reload, shown_value(old), shown_value(*now)});
    }
  }
  for (const Entry& now : after.entries()) {
    if (before.find(now.key) == nullptr) {
      changes.restart.push_back({now.key, Reload::Restart, "", shown_value(now)});
    }
  }
  return changes;
}

std::string_view reason(ReloadFail fail) noexcept {
  switch (fail) {
    case ReloadFail::Parse:
      return "parse";
    case ReloadFail::Invalid:
      return "invalid";
    case ReloadFail::RestartRequired:
      return "restart_required";
    case ReloadFail::Io:
      return "io";
    case ReloadFail::Rebind:
      break;
  }
  return "rebind";
}

std::span<const ReloadFail> all_reload_fails() noexcept { return kFails; }

std::expected<Reloaded, ReloadRefused> reload(const Schema& schema, const Config& current,
                                              const Inputs& inputs) {
  Outcome loaded = load(schema, inputs);
  if (!loaded) {
    const bool syntax = loaded.error().has(Problem::Kind::Syntax);
    return std::unexpected(
        ReloadRefused{syntax ? ReloadFail::Parse : ReloadFail::Invalid, loaded.error().text()});
  }
  Changes changes = diff(current, **loaded);
  if (!changes.restart.empty()) {
    std::string message = "needs restart: ";
    for (std::size_t i = 0; i < changes.restart.size(); ++i) {
      message += (i == 0 ? "" : ", ") + changes.restart[i].key;
    }
    return std::unexpected(ReloadRefused{ReloadFail::RestartRequired, std::move(message)});
  }
  return Reloaded{std::move(*loaded), std::move(changes)};
}

}  // namespace ron::config
