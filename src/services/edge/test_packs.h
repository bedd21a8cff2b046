// For the tests of this folder: packs that say in every tile which file they are, and a core that
// serves them to clients in a simulated world.
#pragma once

#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "b3/hash.h"
#include "config/load.h"
#include "http/test_support.h"
#include "platform/test_support.h"
#include "services/edge/core.h"
#include "services/edge/routes.h"
#include "services/edge/wires.h"
#include "services/kit/capability_gate.h"
#include "volume/files.h"

namespace ron::edge::testing {

using namespace std::chrono_literals;
using platform::Task;
using platform::test::Root;

inline base::Buffer buffer(std::string_view text) {
  base::Buffer bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

inline std::string gzip(std::string_view plain) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string tag_of(std::string_view bytes) { return b3::hash(base::as_bytes(bytes)).text(); }

// What a file says: `zoom`s 1 to 3, tiles in gzip, each `TEXT 2/1/0`, or as `tiles` says.
class TestPack final : public pack::Pack {
 public:
  explicit TestPack(std::string text) : file_(std::move(text)) {
    info_.type = pack::TileType::Mvt;
    info_.compression = pack::Compression::Gzip;
    info_.min_zoom = 1;
    info_.max_zoom = 3;
    info_.tiles = 84;
    info_.bytes = file_.size();
    info_.hash = b3::hash(base::as_bytes(file_));
    info_.metadata = R"({"name":"Test","vector_layers":[{"id":"land","fields":{"a":"String"}}]})";
  }

  [[nodiscard]] const pack::Info& info() const noexcept override { return info_; }
  Task<base::Result<std::optional<pack::Tile>>> tile(pack::Zxy at,
                                                     runtime::Deadline deadline) override {
    ++asked;
    if (takes > 0ms) co_await runtime::sleep_for(takes);
    if (deadline.passed()) co_return base::fail(base::Code::Timeout, "late");
    if (failure) co_return base::fail(*failure);
    const auto own = tiles.find(place(at));
    if (own != tiles.end()) co_return pack::Tile{buffer(own->second), compression};
    if (at.z == 3 && at.x == 7) co_return std::nullopt;
    co_return pack::Tile{buffer(gzip(text_of(at))), pack::Compression::Gzip};
  }
  Task<base::Result<base::Buffer>> read(std::uint64_t offset, std::uint64_t length,
                                        runtime::Deadline) override {
    largest_read = std::max(largest_read, length);
    if (failure) co_return base::fail(*failure);
    co_return buffer(std::string_view(file_).substr(offset, length));
  }

  static std::string place(pack::Zxy at) {
    return std::to_string(at.z) + "/" + std::to_string(at.x) + "/" + std::to_string(at.y);
  }
  [[nodiscard]] std::string text_of(pack::Zxy at) const {
    return file_.substr(0, 64) + " " + place(at);
  }

  pack::Info info_;
  std::map<std::string, std::string> tiles;
  pack::Compression compression = pack::Compression::Gzip;  // of those
  std::optional<base::Error> failure;
  base::Duration takes = 0ms;
  std::uint64_t asked = 0;
  std::uint64_t largest_read = 0;

 private:
  std::string file_;
};

// A core and its tasks behind a real server.
class EdgePacks : public ::testing::Test {
 protected:
  using Flags = std::vector<std::string>;

  ~EdgePacks() override { stop(); }

  void start(const Flags& flags = {}, const std::string& file = "") {
    run_core(flags, file);
    ASSERT_EQ(world_.run_until([&] { return core_->packs().is_settled(); }, 1min), kDone);
  }
  // The same, and packs are verified later.
  void run_core(const Flags& flags, const std::string& file) {
    stop();
    shutdown_ = runtime::Shutdown();
    settings_ = load(flags, file);
    meters_ = std::make_unique<runtime::Meters>("svc-edge");
    topology_ = std::make_unique<runtime::Topology>(kWires, *meters_);
    core_ = std::make_unique<Core>(CoreParts{.host = node_.host(),
                                             .topology = topology_.get(),
                                             .directory = "/edge",
                                             .tls = nullptr,
                                             .log = observe::Log(logs_, *meters_),
                                             .open_pack = are_real ? PackOpener() : opener()},
                                   settings_);
    run(core_->open());
    core_->apply(settings_);
    server_ = std::make_unique<http::test::TestServer>(world_, node_);
    server_->server.tell_errors([this](std::string_view code) { core_->note_error(code); });
    add_routes(server_->router, *core_);
    add_pack_admin_routes(server_->router, *core_);
    endpoint_ = server_->start();
    for (int i = 0; i < 4; ++i) {
      add_task(core_->do_fills(shutdown_));
      add_task(core_->do_loads(shutdown_));
    }
    add_task(core_->pack_keeper().keep(shutdown_));
    add_task(core_->pack_orders().work(shutdown_));
    client_ = std::make_unique<http::test::RawClient>(world_, peer_, endpoint_);
  }
  // As a process that stops: what is on disk stays.
  void stop() {
    tasks_.clear();
    client_.reset();
    server_.reset();
    core_.reset();
    topology_.reset();
  }
  void reload(const Flags& flags, const std::string& file = "") {
    settings_ = load(flags, file);
    core_->apply(settings_);
    world_.run_for(100ms);
  }

  http::test::Answer ask(const std::string& method, const std::string& target,
                         const std::string& lines = "", const std::string& body = "") {
    const std::string length =
        body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return client_->ask(method + " " + target + " HTTP/1.1\r\nHost: maps.example\r\n" + lines +
                            length + "\r\n" + body,
                        http::parse_method(method));
  }
  http::test::Answer get(const std::string& target, const std::string& lines = "") {
    return ask("GET", target, lines);
  }
  http::test::Answer add_pack(const std::string& name, const std::string& path) {
    return ask("POST", "/admin/packs", "", R"({"name":")" + name + R"(","path":")" + path + "\"}");
  }

  // A file appears whole, as by a rename.
  void write(const std::string& directory, const std::string& name, const std::string& text) {
    run(node_.host().disk.make_directory(directory));
    run(volume::replace_file(&node_.host().disk, directory, name, text));
  }
  void remove(const std::string& path) { run(node_.host().disk.remove(path)); }
  // The pack of the newest file with that text.
  TestPack& opened(const std::string& text) { return *opened_.at(text); }
  std::int64_t counted(std::string_view name, std::string_view label = {}) {
    return http::test::reading(*meters_, name, label);
  }

  static constexpr auto kDone = platform::sim::Outcome::Done;
  // Called with each pack before it is handed out.
  std::function<void(TestPack&)> prepare;
  base::Duration opening_takes = 1ms;
  std::optional<base::Error> opening_fails;
  bool are_real = false;  // files are opened as a server does

  platform::sim::World world_{1, http::test::exact_world()};
  platform::sim::Node& node_ = world_.add_node({.cores = 1});
  platform::sim::Node& peer_ = world_.add_node();
  observe::LogHub logs_{{.unix_ms = [] { return std::int64_t{0}; }}};
  runtime::Shutdown shutdown_;
  std::unique_ptr<runtime::Meters> meters_;
  std::unique_ptr<runtime::Topology> topology_;
  std::unique_ptr<Core> core_;
  std::unique_ptr<http::test::TestServer> server_;
  platform::Endpoint endpoint_;
  std::unique_ptr<http::test::RawClient> client_;

 private:
  static SettingsPtr load(const Flags& flags, const std::string& file) {
    config::Schema schema;
    schema.add(edge_section());
    config::Inputs inputs;
    inputs.flags = flags;
    inputs.file_name = "ron.toml";
    inputs.file_text = file;
    const auto config = config::load(schema, inputs);
    EXPECT_TRUE(config) << config.error().text();
    return (*config)->get(edge_section());
  }
  void add_task(Task<void> task) {
    tasks_.push_back(std::make_unique<Root>(node_.core(), std::move(task)));
  }
  void run(Task<base::Result<void>> task) {
    const Root root(node_.core(), expect_done(std::move(task)));
    ASSERT_EQ(world_.run_until([&] { return root.done(); }, 1min), kDone);
  }
  static Task<void> expect_done(Task<base::Result<void>> task) {
    const base::Result<void> done = co_await task;
    EXPECT_TRUE(done) << done.error().message;
  }
  PackOpener opener() {
    return [this](std::string path) { return open_file(this, std::move(path)); };
  }
  // A file that begins with "bad" is refused with what it says.
  static Task<base::Result<pack::PackPtr>> open_file(EdgePacks* self, std::string path) {
    auto file = co_await self->node_.host().disk.open(path, {});
    if (!file) co_return base::fail(file.error());
    const auto size = co_await (*file)->size();
    const auto bytes = co_await (*file)->read_at(0, base::Buffer(*size));
    co_await runtime::sleep_for(self->opening_takes);
    if (self->opening_fails) co_return base::fail(*self->opening_fails);
    std::string text(base::as_text(bytes->view()));
    if (text.starts_with("bad")) co_return base::fail(base::Code::Malformed, path + ": " + text);
    auto pack = std::make_shared<TestPack>(text);
    if (self->prepare) self->prepare(*pack);
    self->opened_[text] = pack;
    co_return pack;
  }

  SettingsPtr settings_;
  std::map<std::string, std::shared_ptr<TestPack>> opened_;
  std::vector<std::unique_ptr<Root>> tasks_;  // they use everything above
};

}  // namespace ron::edge::testing
