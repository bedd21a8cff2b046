// ObjectClient: the requests of the contract as functions, tried again where that helps.
//
// Errors are what the server said, with its code and its correlation id as detail `corr_id`, or
// those of http::Client. Connection failures, 429 and 5xx that a retry can help are tried again
// with jitter, as late as the server asks for; before the first answer only a few times, so that a
// wrong address is told soon. Where the server limits the rate of requests, all of them keep to it
// (pacer.h). Views must outlive the call. One executor; outlives its calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "b3/tree.h"
#include "base/buffer.h"
#include "base/object_id.h"
#include "base/result.h"
#include "cli/pacer.h"
#include "cli/server.h"
#include "http/client.h"
#include "platform/random.h"
#include "runtime/retry.h"

namespace ron::cli {

// `message (Code, corr 01H…)`, for people.
std::string describe(const base::Error& error);
// The server, or the gateway before it, does not know the path at all: another one was meant.
[[nodiscard]] bool is_no_route(const base::Error& error) noexcept;

struct ObjectFacts {
  std::uint64_t length = 0;
  std::string etag;
};

// Some bytes of an object, and how many it has.
struct Piece {
  base::Buffer bytes;
  std::uint64_t object_bytes = 0;
};

// Parts of an upload from `first` to `last`, both included.
struct PartRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  friend bool operator==(const PartRange&, const PartRange&) = default;
};
struct UploadStatus {
  std::uint64_t length = 0;
  std::vector<PartRange> arrived;  // ascending
  [[nodiscard]] bool has(std::uint64_t part) const noexcept;
};
// The body of `GET /uploads/{id}`. UpstreamFail when it is something else.
base::Result<UploadStatus> parse_upload_status(std::string_view json);

class ObjectClient {
 public:
  ObjectClient(Server& server, std::string token, runtime::Meters& meters,
               platform::Random& random);
  ObjectClient(const ObjectClient&) = delete;
  ObjectClient& operator=(const ObjectClient&) = delete;

  // At most a part's bytes; true if they are new there. Cancel-safe, as everything here: an aborted
  // request may or may not have happened.
  platform::Task<base::Result<bool>> put(base::ObjectId id, base::ByteView bytes);
  // NotFound when there is no such object.
  platform::Task<base::Result<ObjectFacts>> head(base::ObjectId id);
  // Up to `length` bytes from `offset`; fewer only at the object's end. RangeNotSatisfiable past
  // it, except that the empty object has an empty piece. The piece may use the memory of `spare`.
  platform::Task<base::Result<Piece>> get_piece(base::ObjectId id, std::uint64_t offset,
                                                std::uint64_t length, base::Buffer spare = {});
  platform::Task<base::Result<void>> remove(base::ObjectId id);

  // The new upload's id.
  platform::Task<base::Result<std::string>> begin_upload(std::uint64_t length);
  // IntegrityFail when the server has received other bytes than `value` is of.
  platform::Task<base::Result<void>> put_part(std::string upload, std::uint64_t part,
                                              base::ByteView bytes, b3::ChainingValue value);
  platform::Task<base::Result<UploadStatus>> upload_status(std::string upload);
  platform::Task<base::Result<base::ObjectId>> commit_upload(std::string upload);
  platform::Task<base::Result<void>> drop_upload(std::string upload);

  // The JSON text at `target`.
  platform::Task<base::Result<std::string>> get_json(std::string target);
  // Whatever stands at `target`, up to `cap_bytes`.
  platform::Task<base::Result<std::string>> get_bytes(std::string target, std::uint64_t cap_bytes);
  // The answer to a JSON text. It may be sent more than once.
  platform::Task<base::Result<std::string>> post_json(std::string target, std::string body);
  platform::Task<base::Result<std::string>> put_json(std::string target, std::string body);
  // The answer to a removal.
  platform::Task<base::Result<std::string>> delete_json(std::string target);

 private:
  struct Ask {
    http::Method method = http::Method::Get;
    std::string target;
    base::ByteView body{};
    std::string range{};
    std::string_view content_type{};
    std::uint64_t cap_bytes = 0;    // of the answer's body
    base::Buffer* spare = nullptr;  // memory for it
  };
  struct Answer {
    int status = 0;
    base::Buffer body{};
    std::string etag{};
    std::string content_range{};
    std::uint64_t content_length = 0;
    std::optional<base::Error> refusal{};  // an error that no retry will change
  };
  platform::Task<base::Result<Answer>> ask(Ask ask);
  platform::Task<base::Result<std::string>> send_json(http::Method method, std::string target,
                                                      std::string body);
  platform::Task<base::Result<Answer>> try_once(const Ask* ask);
  platform::Task<base::Result<void>> try_part(const Ask* ask, const b3::ChainingValue* value);
  template <class Operation>
  std::invoke_result_t<Operation&> retried(Operation operation);

  Server& server_;
  const std::string authorization_;  // empty without a token
  runtime::RetryBudget budget_;
  runtime::Retrier first_contact_;
  runtime::Retrier patient_;
  Pacer pacer_;
};

}  // namespace ron::cli
