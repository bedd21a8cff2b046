#include "sim/storage/judge.h"

#include "b3/tree.h"
#include "base/bytes.h"
#include "base/encoding.h"

namespace ron::sim {

using base::Code;
using Result = History::Result;

bool StorageJudge::memory_may_be_full() const {
  const auto capacity = [](const Era& era) {
    return era.config->get(storage::storage_section())->cache_bytes.bytes;
  };
  const std::uint64_t most =
      most_bytes(facts_.payloads, facts_.history, x_.life_number, x_.begun - facts_.moment);
  return any([&](const Era& era) { return most > capacity(era); });
}

bool StorageJudge::has_own_reason(Code code) const {
  // The volume's queue of writes was full until the deadline.
  const bool changes = !request_.reads() && request_.heavy && request_.kind != Kind::ShowUpload;
  if (code == Code::StorageBusy) {
    return changes && took(&http::ServerSettings::request_deadline);
  }
  if (request_.is_about_upload()) return has_upload_reason(code);
  switch (code) {
    case Code::BadAddress:
      return request_.kind == Kind::BadAddress;
    case Code::NotFound:
      return request_.reads() || request_.kind == Kind::Delete || request_.kind == Kind::Missing;
    case Code::BadRange:
      return request_.range.kind == RangeWanted::Kind::Bad;
    case Code::RangeNotSatisfiable:
      return request_.range.kind == RangeWanted::Kind::Outside;
    case Code::PreconditionFailed:
      return request_.kind == Kind::IfMatch;
    case Code::HashMismatch:
      return request_.kind == Kind::PutWrong;
    case Code::Amnesia:
      return request_.stores() && memory_may_be_full();
    default:
      return false;
  }
}

// An upload that was acknowledged is there until somebody may have ended it; its parts, too.
bool StorageJudge::has_upload_reason(Code code) const {
  const UploadModel& upload = *request_.upload;
  const bool commits = request_.kind == Kind::CommitUpload;
  if (code == Code::PreconditionFailed) return commits && !upload.is_whole();
  return code == Code::NotFound && request_.kind != Kind::BeginUpload && upload.may_be_gone();
}

// What a refusal says about the object.
Result StorageJudge::meaning(Code code) const {
  const bool cut = code == Code::Timeout || code == Code::Canceled;
  if (request_.stores() || request_.kind == Kind::CommitUpload) {
    return cut ? Result::Unknown : Result::Nothing;
  }
  if (request_.kind == Kind::Delete) {
    if (cut) return Result::Unknown;
    return code == Code::NotFound ? Result::NotThere : Result::Nothing;
  }
  if (!request_.reads()) return Result::Nothing;
  if (code == Code::NotFound) return Result::Absent;
  const bool found = code == Code::BadRange || code == Code::RangeNotSatisfiable ||
                     code == Code::PreconditionFailed;
  return found ? Result::Present : Result::Nothing;
}

Wrong StorageJudge::judge_own_refusal(Code code) {
  result_ = meaning(code);
  const std::string whole = "bytes */" + std::to_string(payload_.bytes.size());
  if (code == Code::RangeNotSatisfiable && answer_.field("content-range") != whole) {
    return "wrong Content-Range";
  }
  return std::nullopt;
}

Wrong StorageJudge::judge_success() {
  if (request_.is_about_upload()) return judge_upload();
  if (request_.stores()) return judge_stored();
  if (request_.reads()) return judge_read();
  if (request_.kind == Kind::Delete) {
    result_ = Result::Removed;
    if (!is_allowed()) return "removed without a capability";
    return answer_.status == 204 ? Wrong() : "unexpected status of a delete";
  }
  if (request_.kind == Kind::Health) {
    return answer_.status == 200 ? Wrong() : "unexpected status of a health check";
  }
  return "success where there is nothing to succeed";
}

Wrong StorageJudge::judge_stored() {
  result_ = answer_.status == 201 ? Result::Added : Result::AlreadyThere;
  if (answer_.status != 200 && answer_.status != 201) return "unexpected status of a store";
  if (request_.kind == Kind::PutWrong) return "stored under the address of other bytes";
  if (!is_allowed()) return "stored without a capability";
  if (!any([this](const Era& era) { return fits(request_, era); })) return "stored over the limits";
  if (json_text(answer_.body, "address") != payload_.address) return "wrong address";
  const std::string length = "\"length\":" + std::to_string(payload_.bytes.size()) + "}";
  if (answer_.body.find(length) == std::string::npos) return "wrong length";
  if (answer_.field("location") != "/o/" + payload_.address) return "wrong Location";
  return std::nullopt;
}

Wrong StorageJudge::judge_read() {
  result_ = Result::Present;
  const std::string& bytes = payload_.bytes;
  if (!is_allowed()) return "read without a capability";
  if (answer_.field("etag") != "\"" + payload_.address + "\"") return "wrong ETag";
  if (request_.kind == Kind::IfNoneMatch) {
    return answer_.status == 304 ? Wrong() : "expected 304";
  }
  if (request_.kind == Kind::IfMatch) return "expected 412";
  const RangeWanted& range = request_.range;
  if (range.kind == RangeWanted::Kind::Part) {
    const std::string wanted = "bytes " + std::to_string(range.first) + "-" +
                               std::to_string(range.last) + "/" + std::to_string(bytes.size());
    if (answer_.status != 206) return "expected 206";
    if (answer_.field("content-range") != wanted) return "wrong Content-Range";
    const std::uint64_t length = range.last - range.first + 1;
    return answer_.body == std::string_view(bytes).substr(range.first, length)
               ? Wrong()
               : "a part with wrong bytes";
  }
  if (range.kind != RangeWanted::Kind::Whole) return "expected a refusal of the range";
  if (answer_.status != 200) return "expected 200";
  if (request_.kind == Kind::Head) {
    return answer_.content_length == bytes.size() ? Wrong() : "wrong Content-Length";
  }
  return answer_.body == bytes ? Wrong() : "wrong bytes";
}

Wrong StorageJudge::judge_upload() {
  switch (request_.kind) {
    case Kind::BeginUpload:
      return judge_begun();
    case Kind::PutPart:
      return judge_part();
    case Kind::ShowUpload:
      return judge_shown();
    case Kind::CommitUpload:
      return judge_committed();
    default:
      return answer_.status == 204 ? Wrong() : "unexpected status of an abort";
  }
}

Wrong StorageJudge::judge_begun() const {
  if (answer_.status != 201) return "unexpected status of a new upload";
  const std::string_view id = json_text(answer_.body, "upload_id");
  if (id.empty() || answer_.field("location") != "/uploads/" + std::string(id)) {
    return "an upload without a name";
  }
  return std::nullopt;
}

Wrong StorageJudge::judge_part() const {
  constexpr std::uint64_t kChunks = base::limits::kPartBytes / 1024;
  if (answer_.status != 200) return "unexpected status of a part";
  const UploadModel& upload = *request_.upload;
  const base::ByteView bytes =
      base::as_bytes(payload_.bytes)
          .subspan(request_.part * base::limits::kPartBytes, upload.part_length(request_.part));
  const b3::ChainingValue value = b3::subtree(bytes, request_.part * kChunks);
  return json_text(answer_.body, "b3_subtree") == base::to_hex(value.bytes)
             ? Wrong()
             : "a part with another value";
}

Wrong StorageJudge::judge_shown() const {
  if (answer_.status != 200) return "unexpected status of an upload";
  const std::size_t at = answer_.body.find("\"arrived\":");
  if (at == std::string::npos) return "an upload without its parts";
  return request_.upload->check_arrived(std::string_view(answer_.body).substr(at));
}

// Also if it was committed before: then whoever sent it holds the object still.
Wrong StorageJudge::judge_committed() {
  result_ = Result::Stored;
  if (answer_.status != 201) return "unexpected status of a commit";
  if (request_.upload->tried.size() != request_.upload->parts()) return "committed without parts";
  if (json_text(answer_.body, "address") != payload_.address) return "wrong address";
  return std::nullopt;
}

std::uint64_t most_bytes(const std::vector<Payload>& payloads, const History& history,
                         unsigned life, TimePoint since) {
  constexpr std::uint64_t kKeepingBytes = 1024;  // more than an Object needs besides its bytes
  std::uint64_t bytes = 0;
  for (std::size_t object = 0; object < payloads.size(); ++object) {
    const std::uint64_t each = payloads[object].bytes.size() + kKeepingBytes;
    bytes += history.copies(life, object, since) * each;
  }
  return bytes;
}

}  // namespace ron::sim
