// For the tests of this folder: names and objects in memory, and a core that shows them to clients
// in a simulated world.
#pragma once

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "b3/hash.h"
#include "catalog/manifest.h"
#include "catalog/media_type.h"
#include "config/load.h"
#include "http/test_support.h"
#include "platform/test_support.h"
#include "services/edge/core.h"
#include "services/edge/routes.h"
#include "services/edge/wires.h"

namespace ron::edge::testing {

using namespace std::chrono_literals;
using platform::Task;
using platform::test::Root;

// What there is: names with versions, objects by address.
class TestIndex final : public index_api::IndexApi {
 public:
  Task<base::Result<std::size_t>> announce(std::vector<catalog::ProviderRecord>,
                                           runtime::Deadline) override {
    co_return base::fail(base::Code::NotImplemented, "nobody announces here");
  }
  Task<base::Result<index_api::NamedTarget>> look_up(catalog::NameRef name,
                                                     runtime::Deadline) override {
    ++asked;
    if (takes > 0ms) co_await runtime::sleep_for(takes);
    if (failure) co_return base::fail(*failure);
    const auto found = names.find(name.name.text());
    if (found == names.end()) co_return base::fail(base::Code::NotFound, "there is no such name");
    const std::uint64_t version = name.version.value_or(found->second.size());
    if (version == 0 || version > found->second.size()) {
      co_return base::fail(base::Code::NotFound, "there is no such name");
    }
    co_return index_api::NamedTarget{found->second[version - 1], version, ""};
  }

  std::map<std::string, std::vector<base::ObjectId>> names;
  std::optional<base::Error> failure;
  base::Duration takes = 0ms;
  std::uint64_t asked = 0;
};

class TestStorage final : public storage_api::StorageApi {
 public:
  using Call = storage_api::Call;
  template <class T>
  static Task<base::Result<T>> nothing() {
    co_return base::fail(base::Code::NotImplemented, "nobody asks for this");
  }

  base::ObjectId keep(std::string_view bytes) {
    const base::ObjectId id = b3::hash(base::as_bytes(bytes));
    objects[id.text()] = std::string(bytes);
    return id;
  }

  Task<base::Result<storage_api::ObjectInfo>> stat(base::ObjectId id, runtime::Deadline) override {
    ++asked;
    if (stat_failure) co_return base::fail(*stat_failure);
    const auto found = objects.find(id.text());
    if (found == objects.end()) co_return base::fail(base::Code::NotFound, "no such object");
    co_return storage_api::ObjectInfo{id, found->second.size()};
  }
  Task<base::Result<storage_api::ObjectStream>> open(base::ObjectId id,
                                                     std::optional<storage_api::Range> range,
                                                     runtime::Deadline) override {
    ++opened[id.text()];
    if (takes > 0ms) co_await runtime::sleep_for(takes);
    if (slow.contains(id.text())) co_await runtime::sleep_for(slow.at(id.text()));
    const auto found = objects.find(id.text());
    if (found == objects.end()) co_return base::fail(base::Code::NotFound, "no such object");
    storage_api::ObjectStream stream;
    stream.object_length = found->second.size();
    stream.range = range.value_or(storage_api::Range{0, stream.object_length});
    stream.body =
        std::make_unique<Source>(found->second.substr(stream.range.offset, stream.range.length));
    co_return stream;
  }
  Task<base::Result<storage_api::Stored>> put(storage_api::NewObject, Call) override {
    return nothing<storage_api::Stored>();
  }
  Task<base::Result<void>> remove(base::ObjectId, Call) override { return nothing<void>(); }
  Task<base::Result<storage_api::UploadInfo>> begin_upload(storage_api::NewUpload, Call) override {
    return nothing<storage_api::UploadInfo>();
  }
  Task<base::Result<storage_api::UploadInfo>> stat_upload(storage_api::UploadId, Call) override {
    return nothing<storage_api::UploadInfo>();
  }
  Task<base::Result<b3::ChainingValue>> put_part(storage_api::UploadId, std::uint64_t, base::Buffer,
                                                 Call) override {
    return nothing<b3::ChainingValue>();
  }
  Task<base::Result<storage_api::Stored>> commit_upload(storage_api::UploadId, Call) override {
    return nothing<storage_api::Stored>();
  }
  Task<base::Result<void>> abort_upload(storage_api::UploadId, Call) override {
    return nothing<void>();
  }
  Task<base::Result<std::vector<storage_api::ObjectInfo>>> list(std::optional<base::ObjectId>,
                                                                std::size_t,
                                                                runtime::Deadline) override {
    return nothing<std::vector<storage_api::ObjectInfo>>();
  }
  std::unique_ptr<storage_api::Changes> listen() override { return nullptr; }

  std::map<std::string, std::string> objects;
  std::map<std::string, int> opened;           // how often, by address
  std::map<std::string, base::Duration> slow;  // how slow, by address
  base::Duration takes = 0ms;
  std::optional<base::Error> stat_failure;
  std::uint64_t asked = 0;  // by stat

 private:
  // In pieces, as from a disk.
  class Source final : public http::BodySource {
   public:
    explicit Source(std::string bytes) : bytes_(std::move(bytes)) {}
    Task<base::Result<base::ByteView>> next() override {
      constexpr std::size_t kPiece = 4096;
      const std::size_t at = std::exchange(at_, std::min(at_ + kPiece, bytes_.size()));
      co_return base::as_bytes(bytes_).subspan(at, at_ - at);
    }

   private:
    const std::string bytes_;
    std::size_t at_ = 0;
  };
};

// A core and its tasks behind a server.
class EdgeSites : public ::testing::Test {
 protected:
  using Flags = std::vector<std::string>;
  using Files = std::map<std::string, std::string>;

  ~EdgeSites() override { stop(); }

  void start(const Flags& flags = {}, const std::string& file = "") {
    stop();
    settings_ = load(flags, file);
    meters_ = std::make_unique<runtime::Meters>("svc-edge");
    topology_ = std::make_unique<runtime::Topology>(kWires, *meters_);
    core_ = std::make_unique<Core>(CoreParts{.host = node_.host(),
                                             .topology = topology_.get(),
                                             .directory = "/edge",
                                             .tls = nullptr,
                                             .log = observe::Log(logs_, *meters_)},
                                   settings_);
    if (has_origin) {
      core_->sites().use(index_);
      core_->sites().use(storage_);
    }
    const Root opening(node_.core(), expect_done(core_->sites().open()));
    ASSERT_EQ(world_.run_until([&] { return opening.done(); }, 1min), kDone);
    server_ = std::make_unique<http::test::TestServer>(world_, node_);
    add_site_routes(server_->router, *core_);
    add_site_admin_routes(server_->router, *core_);
    endpoint_ = server_->start();
    for (int i = 0; i < 4; ++i) add_task(core_->loader().do_loads(shutdown_));
    add_task(core_->sites().keep(shutdown_));
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

  // The address of a tree of these files, which are stored.
  base::ObjectId tree(const Files& files) {
    catalog::Manifest manifest;
    for (const auto& [path, text] : files) {
      const std::string type(catalog::media_type_of(path));
      manifest.entries.push_back({.path = path,
                                  .what = catalog::TreeFile{.address = storage_.keep(text),
                                                            .length = text.size(),
                                                            .type = type},
                                  .mtime_s = {}});
    }
    return storage_.keep(catalog::print(manifest));
  }
  void set_name(const std::string& name, const Files& files) {
    index_.names[name].push_back(tree(files));
  }

  http::test::Answer ask(const std::string& method, const std::string& target,
                         const std::string& lines = "", const std::string& body = "") {
    const std::string length =
        body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return client_->ask(method + " " + target + " HTTP/1.1\r\nHost: web.example\r\n" + lines +
                            length + "\r\n" + body,
                        http::parse_method(method));
  }
  http::test::Answer get(const std::string& path, const std::string& lines = "") {
    return ask("GET", "/edge/sites/" + path, lines);
  }
  http::test::Answer add_site(const std::string& site, const std::string& target) {
    return ask("POST", "/admin/sites", "",
               R"({"site":")" + site + R"(","target":")" + target + "\"}");
  }

  static constexpr auto kDone = platform::sim::Outcome::Done;
  bool has_origin = true;

  platform::sim::World world_{1, http::test::exact_world()};
  platform::sim::Node& node_ = world_.add_node({.cores = 1});
  platform::sim::Node& peer_ = world_.add_node();
  observe::LogHub logs_{{.unix_ms = [] { return std::int64_t{0}; }}};
  TestIndex index_;
  TestStorage storage_;
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
  static Task<void> expect_done(Task<base::Result<>> task) {
    const base::Result<> done = co_await task;
    EXPECT_TRUE(done) << done.error().message;
  }

  SettingsPtr settings_;
  std::vector<std::unique_ptr<Root>> tasks_;  // they use everything above
};

}  // namespace ron::edge::testing
