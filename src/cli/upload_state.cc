#include "cli/upload_state.h"

#include <nlohmann/json.hpp>

#include "b3/hash.h"
#include "base/json.h"
#include "platform/posix/files.h"

namespace ron::cli {
namespace {

constexpr std::size_t kMostBytes = 16 * 1024;  // a path and some numbers

std::string text_of(const UploadKey& key, const std::string& upload) {
  std::string text;
  base::JsonWriter json(text);
  json.begin_object().key("url").value(key.url).key("path").value(key.path);
  json.key("bytes").value(key.bytes).key("modified_ns").value(key.modified_ns);
  json.key("upload").value(upload).end_object();
  return text + "\n";
}

}  // namespace

std::optional<UploadStates> UploadStates::of_user(const Environment& environment) {
  std::string home;
  std::string state;
  for (const auto& [name, value] : environment) {
    if (name == "HOME") home = value;
    if (name == "XDG_STATE_HOME") state = value;
  }
  // The base directory specification: a relative one is to be ignored.
  if (!state.starts_with('/')) state = home.starts_with('/') ? home + "/.local/state" : "";
  if (state.empty()) return std::nullopt;
  return UploadStates(state + "/ron/uploads");
}

std::string UploadStates::file_of(const UploadKey& key) const {
  b3::Hasher hasher;
  const std::string numbers = std::to_string(key.bytes) + "/" + std::to_string(key.modified_ns);
  for (const std::string& part : {key.url, key.path, numbers}) {
    hasher.update(base::as_bytes(part));
    hasher.update(base::as_bytes(std::string_view("\0", 1)));
  }
  return directory_ + "/" + hasher.finish().text().substr(3, 32) + ".json";
}

std::optional<std::string> UploadStates::find(const UploadKey& key) const {
  const auto text = platform::posix::read_small_file(file_of(key), kMostBytes);
  if (!text) return std::nullopt;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto upload = json.find("upload");
  if (upload == json.end() || !upload->is_string()) return std::nullopt;
  return upload->get<std::string>();
}

base::Result<void> UploadStates::remember(const UploadKey& key, const std::string& upload) const {
  const auto made = platform::posix::make_private_directory(directory_);
  if (!made) return made;
  return platform::posix::write_private_file(file_of(key), text_of(key, upload));
}

void UploadStates::forget(const UploadKey& key) const {
  platform::posix::remove_file(file_of(key));
}

}  // namespace ron::cli
