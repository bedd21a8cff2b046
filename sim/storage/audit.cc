#include "sim/storage/audit.h"

#include <memory>
#include <utility>

#include "runtime/deadline.h"
#include "services/storage/config.h"
#include "sim/harness/server_node.h"

namespace ron::sim {

using namespace std::chrono_literals;

Auditor::Auditor(Talk* talk, const RequestMaker* maker, const StoragePlan* plan)
    : talk_(*talk),
      scene_(talk->scene()),
      maker_(*maker),
      plan_(*plan),
      dice_(plan->seed ^ 0xA0D17ULL) {}

// Below the rate limit, however low that is.
Duration Auditor::pause() const {
  const http::ServerSettings& server = scene_.timeline.now_living().eras.back().settings->server;
  return 1100ms / static_cast<Duration::rep>(server.max_rps);
}

void Auditor::expect(std::string outcome, std::string wanted, std::string what) {
  if (outcome == wanted) return;
  scene_.journal.violation("audit", "in a quiet world, " + what + " -> " +
                                        (outcome.empty() ? "no answer" : outcome) + ", not " +
                                        wanted);
}

Task<std::string> Auditor::ask(RequestPtr request) {
  co_await runtime::sleep_for(pause());
  co_return co_await talk_.ask(std::move(request));
}

Task<std::string> Auditor::ask(Kind kind, std::size_t object) {
  return ask(maker_.plain(dice_, kind, object));
}

Task<bool> Auditor::read_everything() {
  for (std::size_t object = 0; object < plan_.payloads.size(); ++object) {
    const std::string outcome = co_await ask(Kind::Get, object);
    if (outcome == "200") {
      ++present_;
      present_bytes_ += plan_.payloads[object].bytes.size();
    } else {
      expect(outcome, "404 NotFound", "get #" + std::to_string(object));
    }
    if (scene_.journal.failed()) co_return false;
  }
  co_return true;
}

Task<void> Auditor::store_and_remove() {
  const std::size_t object = plan_.payloads.size() - 1;
  const auto config =
      scene_.timeline.now_living().eras.back().config->get(storage::storage_section());
  const bool too_slow = config->debug_work_delay + 1ms >= config->server.request_deadline;
  std::string outcome = co_await ask(Kind::Put, object);
  if (too_slow && outcome == "504 Timeout") {
    co_return co_await runtime::sleep_for(config->debug_work_delay);
  }
  // Memory may be full: then the refusal was judged.
  if (outcome == "503 Amnesia") co_return;
  expect(std::move(outcome), "201", "put");
  outcome = co_await ask(Kind::Get, object);
  expect(std::move(outcome), "200", "get after put");
  outcome = co_await ask(Kind::Delete, object);
  expect(std::move(outcome), "204", "delete");
  outcome = co_await ask(Kind::Get, object);
  expect(std::move(outcome), "404 NotFound", "get after delete");
}

Task<void> Auditor::store_in_parts() {
  const std::size_t object = plan_.payloads.size() - 1;
  const auto upload = std::make_shared<UploadModel>();
  upload->object = object;
  upload->length = plan_.payloads[object].bytes.size();
  upload->names_address = true;
  std::string outcome = co_await ask(maker_.step(dice_, Kind::BeginUpload, upload));
  expect(std::move(outcome), "201", "a new upload");
  if (scene_.journal.failed()) co_return;
  outcome = co_await ask(maker_.step(dice_, Kind::PutPart, upload, 0));
  expect(std::move(outcome), "200", "a part");
  outcome = co_await ask(maker_.step(dice_, Kind::ShowUpload, upload));
  expect(std::move(outcome), "200", "the upload");
  outcome = co_await ask(maker_.step(dice_, Kind::CommitUpload, upload));
  expect(std::move(outcome), "201", "a commit");
  outcome = co_await ask(Kind::Get, object);
  expect(std::move(outcome), "200", "get after commit");
}

// What the service says it holds is what can be read.
void Auditor::check_books() {
  ServerNode& server = *scene_.server;
  const auto counted = static_cast<std::size_t>(server.gauge("storage_objects"));
  if (counted != present_) {
    scene_.journal.violation("audit", std::to_string(counted) + " objects are stored, but " +
                                          std::to_string(present_) + " can be read");
  }
  // In memory every object has a little more than its bytes.
  const std::uint64_t overhead = plan_.on_disk ? 0 : present_ * 1024;
  const auto bytes = static_cast<std::uint64_t>(
      server.gauge(plan_.on_disk ? "storage_object_bytes" : "storage_memory_bytes"));
  if (bytes < present_bytes_ || bytes > present_bytes_ + overhead) {
    scene_.journal.violation("audit", std::to_string(bytes) + " bytes are counted for " +
                                          std::to_string(present_bytes_) + " stored");
  }
}

Task<void> Auditor::run() {
  const bool read = co_await read_everything();
  if (!read) co_return;
  check_books();
  co_await store_and_remove();
  if (plan_.on_disk && !scene_.journal.failed()) co_await store_in_parts();
}

}  // namespace ron::sim
