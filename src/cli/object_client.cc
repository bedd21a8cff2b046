#include "cli/object_client.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/encoding.h"
#include "base/json.h"
#include "base/limits.h"
#include "config/value.h"

namespace ron::cli {
namespace {

using base::Code;
using base::fail;
using base::Result;
using http::Method;
using platform::Task;
using Json = nlohmann::json;

constexpr std::uint64_t kAnswerBytes = 16 * base::kMiB;  // of JSON; lists are cut into pages
// No request takes longer in all its tries; each is given up sooner when nothing moves.
constexpr base::Duration kRequestTime = std::chrono::minutes(10);
constexpr runtime::RetryPolicy kFirstContact{
    .max_tries = 4, .backoff = {std::chrono::milliseconds(100), std::chrono::seconds(1)}};
constexpr runtime::RetryPolicy kPatient{
    .max_tries = 10, .backoff = {std::chrono::milliseconds(100), std::chrono::seconds(5)}};
// A client has one server and few requests in flight: each may use up its tries.
constexpr double kBudgetRatio = 1;
constexpr std::uint32_t kBudgetReserve = 1000;

constexpr const char* kMaxRps = "max_rps";  // detail of RateLimited

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Code code_named(std::string_view name, int status) {
  const auto codes = base::all_codes();
  const auto named = std::ranges::find(codes, name, &base::CodeInfo::name);
  if (named != codes.end()) return named->code;
  const auto same = std::ranges::find(codes, status, &base::CodeInfo::status);
  return same != codes.end() ? same->code : Code::UpstreamFail;
}

std::string text_at(const Json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}
std::optional<std::uint64_t> number_at(const Json& object, const char* name) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}

// What an answer of 4xx or 5xx says.
base::Error error_of(int status, std::string_view body, std::string_view retry_after) {
  const Json json = Json::parse(body, nullptr, false);
  const Json none;
  const Json& envelope = json.is_object() && json.contains("error") ? json["error"] : none;
  const std::string said = text_at(envelope, "message");
  base::Error error(code_named(text_at(envelope, "code"), status),
                    said.empty() ? "the server answered " + std::to_string(status)
                                 : config::printable(said, 200));
  error.retry_after_s = number_of<std::uint32_t>(retry_after).value_or(0);
  if (envelope.is_object() && envelope.contains("details")) {
    const std::string most = text_at(envelope["details"], kMaxRps);
    if (!most.empty()) error.details.emplace_back(kMaxRps, config::printable(most));
  }
  const std::string corr_id = text_at(envelope, "corr_id");
  if (!corr_id.empty()) return std::move(error).with("corr_id", config::printable(corr_id));
  return error;
}

// A retry may help the server's other clients, but not one that waits for the answer; what is not
// so any more stays so, and the same request with it.
bool is_final(Code code) noexcept {
  return code == Code::IntegrityFail || code == Code::StorageFull || code == Code::Quota ||
         code == Code::VersionSkew;
}

// The rate the server allows; 0 where it does not say.
std::uint64_t most_per_second(const base::Error& error) {
  const auto detail =
      std::ranges::find(error.details, kMaxRps, &std::pair<std::string, std::string>::first);
  return detail == error.details.end() ? 0 : number_of<std::uint64_t>(detail->second).value_or(0);
}

std::unexpected<base::Error> strange(std::string_view what) {
  return fail(Code::UpstreamFail,
              "the server's answer is not what was asked for: " + std::string(what));
}

Json parsed(const base::Buffer& body) {
  return Json::parse(base::as_text(body.view()), nullptr, false);
}

std::string object_target(const base::ObjectId& id) { return "/o/" + id.text(); }

// Where a `Content-Range: bytes 0-99/1000` begins, and the whole length.
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t whole = 0;
};
std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto whole = number_of<std::uint64_t>(text.substr(slash + 1));
  if (!whole) return std::nullopt;
  const std::string_view span = text.substr(0, slash);
  if (span == "*") return ContentRange{0, *whole};
  const auto first = number_of<std::uint64_t>(span.substr(0, span.find('-')));
  if (!first) return std::nullopt;
  return ContentRange{*first, *whole};
}

}  // namespace

std::string describe(const base::Error& error) {
  std::string text = error.message + " (" + std::string(error.name());
  for (const auto& [key, value] : error.details) {
    if (key == "corr_id") text += ", corr " + value;
  }
  return text + ")";
}

bool is_no_route(const base::Error& error) noexcept {
  return error.code == base::Code::NotFound &&
         (error.message == "there is no such route" || error.message == "no route has this path");
}

bool UploadStatus::has(std::uint64_t part) const noexcept {
  const auto after = std::ranges::upper_bound(arrived, part, {}, &PartRange::first);
  return after != arrived.begin() && part <= std::prev(after)->last;
}

Result<UploadStatus> parse_upload_status(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const auto length = number_at(json, "length");
  if (!length || !json.contains("arrived") || !json["arrived"].is_array()) {
    return strange("no upload");
  }
  UploadStatus status{*length, {}};
  for (const Json& range : json["arrived"]) {
    const bool pair = range.is_array() && range.size() == 2 && range[0].is_number_unsigned() &&
                      range[1].is_number_unsigned();
    if (!pair) return strange("no ranges of parts");
    const PartRange next{range[0].get<std::uint64_t>(), range[1].get<std::uint64_t>()};
    const bool ascending = status.arrived.empty() || status.arrived.back().last < next.first;
    if (next.first > next.last || !ascending) return strange("no ranges of parts");
    status.arrived.push_back(next);
  }
  return status;
}

ObjectClient::ObjectClient(Server& server, std::string token, runtime::Meters& meters,
                           platform::Random& random)
    : server_(server),
      authorization_(token.empty() ? "" : "Bearer " + token),
      budget_(kBudgetRatio, kBudgetReserve),
      first_contact_(meters, "first_contact", kFirstContact, budget_, random),
      patient_(meters, "request", kPatient, budget_, random) {}

template <class Operation>
std::invoke_result_t<Operation&> ObjectClient::retried(Operation operation) {
  runtime::Retrier& retrier = server_.answered() ? patient_ : first_contact_;
  return retrier.run(std::move(operation), runtime::Deadline::in(kRequestTime));
}

Task<Result<ObjectClient::Answer>> ObjectClient::try_once(const Ask* ask) {
  std::vector<http::Field> fields;
  if (!authorization_.empty()) fields.push_back({"Authorization", authorization_});
  if (!ask->range.empty()) fields.push_back({"Range", ask->range});
  if (!ask->content_type.empty()) fields.push_back({"Content-Type", ask->content_type});
  const std::array<base::ByteView, 1> body = {ask->body};
  http::ClientRequest request;
  request.method = ask->method;
  request.target = ask->target;
  request.fields = fields;
  request.body = body;
  const platform::TimePoint now = platform::Executor::current()->now();
  const platform::TimePoint sent = pacer_.next(now);
  struct InFlight {
    Pacer& pacer;
    ~InFlight() { pacer.answered(); }
  } const in_flight{pacer_};
  if (sent > now) co_await runtime::sleep_until(runtime::Deadline(sent));
  auto response = co_await server_.send(request, runtime::Deadline::in(kRequestTime));
  if (!response) co_return fail(std::move(response.error()));
  const bool refused = response->status() >= 400;
  const std::uint64_t length = response->head().content_length.value_or(0);
  if (!refused && ask->method != Method::Head && length > ask->cap_bytes) {
    co_return Answer{.refusal = strange("it is too long").error()};
  }
  Answer answer;
  answer.status = response->status();
  answer.etag = response->head().find("ETag").value_or("");
  answer.content_range = response->head().find("Content-Range").value_or("");
  answer.content_length = length;
  const std::string retry_after(response->head().find("Retry-After").value_or(""));
  base::Buffer memory;
  if (ask->spare != nullptr) memory = std::exchange(*ask->spare, {});
  auto read =
      co_await response->read_all(refused ? kAnswerBytes : ask->cap_bytes, std::move(memory));
  if (!read) co_return fail(std::move(read.error()));
  answer.body = std::move(*read);
  if (!refused) co_return std::move(answer);
  if (answer.status == 416 && !answer.content_range.empty()) co_return std::move(answer);
  base::Error error = error_of(answer.status, base::as_text(answer.body.view()), retry_after);
  if (error.code == Code::RateLimited) {
    pacer_.refused(platform::Executor::current()->now(), sent, most_per_second(error),
                   std::chrono::seconds(error.retry_after_s));
  }
  if (!is_final(error.code)) co_return fail(std::move(error));
  answer.refusal = std::move(error);
  co_return std::move(answer);
}

Task<Result<ObjectClient::Answer>> ObjectClient::ask(Ask ask) {
  const Ask* const what = &ask;
  auto answer = co_await retried([this, what] { return try_once(what); });
  if (answer && answer->refusal) co_return fail(std::move(*answer->refusal));
  co_return std::move(answer);
}

Task<Result<bool>> ObjectClient::put(base::ObjectId id, base::ByteView bytes) {
  const auto answer = co_await ask({.method = Method::Put,
                                    .target = object_target(id),
                                    .body = bytes,
                                    .content_type = "application/octet-stream",
                                    .cap_bytes = kAnswerBytes});
  if (!answer) co_return fail(answer.error());
  co_return answer->status == 201;
}

Task<Result<ObjectFacts>> ObjectClient::head(base::ObjectId id) {
  auto answer = co_await ask({.method = Method::Head, .target = object_target(id)});
  if (!answer) co_return fail(answer.error());
  co_return ObjectFacts{answer->content_length, std::move(answer->etag)};
}

Task<Result<Piece>> ObjectClient::get_piece(base::ObjectId id, std::uint64_t offset,
                                            std::uint64_t length, base::Buffer spare) {
  const std::string range =
      "bytes=" + std::to_string(offset) + "-" + std::to_string(offset + length - 1);
  auto answer = co_await ask({.method = Method::Get,
                              .target = object_target(id),
                              .range = range,
                              .cap_bytes = length,
                              .spare = &spare});
  if (!answer) co_return fail(answer.error());
  const auto found = parse_content_range(answer->content_range);
  if (answer->status == 416) {
    if (found && found->whole == 0 && offset == 0) co_return Piece{};
    co_return fail(Code::RangeNotSatisfiable, "the range lies outside the object");
  }
  const std::uint64_t bytes = answer->body.size();
  if (answer->status == 200) {  // a server that ignores ranges
    if (offset != 0) co_return strange("it serves no ranges");
    co_return Piece{std::move(answer->body), bytes};
  }
  const bool right = answer->status == 206 && found && found->first == offset &&
                     found->whole > offset && bytes == std::min(length, found->whole - offset);
  if (!right) co_return strange("another range of the object");
  co_return Piece{std::move(answer->body), found->whole};
}

Task<Result<void>> ObjectClient::remove(base::ObjectId id) {
  const auto answer = co_await ask(
      {.method = Method::Delete, .target = object_target(id), .cap_bytes = kAnswerBytes});
  if (!answer) co_return fail(answer.error());
  co_return Result<void>();
}

Task<Result<std::string>> ObjectClient::begin_upload(std::uint64_t length) {
  std::string body;
  base::JsonWriter(body).begin_object().key("length").value(length).end_object();
  const auto answer = co_await ask({.method = Method::Post,
                                    .target = "/uploads",
                                    .body = base::as_bytes(body),
                                    .content_type = "application/json",
                                    .cap_bytes = kAnswerBytes});
  if (!answer) co_return fail(answer.error());
  const Json json = parsed(answer->body);
  std::string upload = text_at(json, "upload_id");
  const bool plain = !upload.empty() && std::ranges::all_of(upload, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
  if (!plain) co_return strange("no upload id");
  if (number_at(json, "part_size") != base::limits::kPartBytes) co_return strange("the part size");
  co_return std::move(upload);
}

// The server names the value of what it has received; another one than ours is a failed try.
Task<Result<void>> ObjectClient::try_part(const Ask* ask, const b3::ChainingValue* value) {
  const auto answer = co_await try_once(ask);
  if (!answer) co_return fail(answer.error());
  if (answer->refusal) co_return fail(*answer->refusal);
  if (text_at(parsed(answer->body), "b3_subtree") != base::to_hex(value->bytes)) {
    co_return fail(Code::IntegrityFail, "the server received other bytes than were sent");
  }
  co_return Result<void>();
}

Task<Result<void>> ObjectClient::put_part(std::string upload, std::uint64_t part,
                                          base::ByteView bytes, b3::ChainingValue value) {
  const Ask ask{.method = Method::Put,
                .target = "/uploads/" + upload + "/" + std::to_string(part),
                .body = bytes,
                .content_type = "application/octet-stream",
                .cap_bytes = kAnswerBytes};
  const Ask* const what = &ask;
  const b3::ChainingValue* const expected = &value;
  const auto sent = co_await retried([this, what, expected] { return try_part(what, expected); });
  co_return sent;
}

Task<Result<UploadStatus>> ObjectClient::upload_status(std::string upload) {
  const auto text = co_await get_json("/uploads/" + upload);
  if (!text) co_return fail(text.error());
  co_return parse_upload_status(*text);
}

Task<Result<base::ObjectId>> ObjectClient::commit_upload(std::string upload) {
  const auto answer = co_await ask({.method = Method::Post,
                                    .target = "/uploads/" + upload + "/commit",
                                    .cap_bytes = kAnswerBytes});
  if (!answer) co_return fail(answer.error());
  const auto id = base::ObjectId::parse(text_at(parsed(answer->body), "address"));
  if (!id) co_return strange("no address");
  co_return *id;
}

Task<Result<void>> ObjectClient::drop_upload(std::string upload) {
  const auto answer = co_await ask(
      {.method = Method::Delete, .target = "/uploads/" + upload, .cap_bytes = kAnswerBytes});
  if (!answer) co_return fail(answer.error());
  co_return Result<void>();
}

Task<Result<std::string>> ObjectClient::get_json(std::string target) {
  return get_bytes(std::move(target), kAnswerBytes);
}

Task<Result<std::string>> ObjectClient::get_bytes(std::string target, std::uint64_t cap_bytes) {
  const auto answer =
      co_await ask({.method = Method::Get, .target = target, .cap_bytes = cap_bytes});
  if (!answer) co_return fail(answer.error());
  co_return std::string(base::as_text(answer->body.view()));
}

Task<Result<std::string>> ObjectClient::send_json(Method method, std::string target,
                                                  std::string body) {
  const auto answer =
      co_await ask({.method = method,
                    .target = target,
                    .body = base::as_bytes(body),
                    .content_type = body.empty() ? std::string_view() : "application/json",
                    .cap_bytes = kAnswerBytes});
  if (!answer) co_return fail(answer.error());
  co_return std::string(base::as_text(answer->body.view()));
}

Task<Result<std::string>> ObjectClient::post_json(std::string target, std::string body) {
  return send_json(Method::Post, std::move(target), std::move(body));
}

Task<Result<std::string>> ObjectClient::put_json(std::string target, std::string body) {
  return send_json(Method::Put, std::move(target), std::move(body));
}

Task<Result<std::string>> ObjectClient::delete_json(std::string target) {
  return send_json(Method::Delete, std::move(target), "");
}

}  // namespace ron::cli
