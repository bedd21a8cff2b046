// ObjectRequest: one thing a client asks of svc-storage, as bytes and as what it means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "auth/keyring.h"
#include "sim/harness/request.h"
#include "sim/storage/plan.h"
#include "sim/storage/upload.h"

namespace ron::sim {

// Capabilities a client may show.
enum class TokenKind : std::uint8_t { None, Admin, Write, Delete, Small, Expired, Garbage, Tenant };
inline constexpr std::size_t kTokenKinds = 8;
inline constexpr std::uint64_t kSmallTokenBytes = 300;  // what a Small token lets through

// The tokens of one seed, by kind, and the keyring that knows them.
struct Tokens {
  std::vector<std::string> texts;
  std::shared_ptr<const auth::Keyring> keyring;

  [[nodiscard]] const std::string& of(TokenKind kind) const {
    return texts[static_cast<std::size_t>(kind)];
  }
};
// `now_unix_s` must not be in the world's future.
Tokens make_tokens(Dice dice, std::int64_t now_unix_s);

enum class Kind : std::uint8_t {
  Put,
  PutWrong,  // under the address of other bytes
  Post,
  Get,
  Head,
  Range,
  IfNoneMatch,
  IfMatch,  // naming another object
  Delete,
  BeginUpload,
  PutPart,
  ShowUpload,
  CommitUpload,
  AbortUpload,
  Health,   // /healthz
  Ready,    // /readyz
  Missing,  // a route nobody has
  BadAddress,
  Garbage,  // not HTTP at all
};
std::string_view name(Kind kind) noexcept;

// What a range must be answered with.
struct RangeWanted {
  enum class Kind : std::uint8_t { Whole, Part, Outside, Bad };
  Kind kind = Kind::Whole;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

struct ObjectRequest : Request {
  Kind kind = Kind::Get;
  std::size_t object = 0;  // index of a payload
  TokenKind token = TokenKind::None;
  RangeWanted range{};
  std::shared_ptr<UploadModel> upload;  // of a request about one
  std::uint64_t part = 0;

  [[nodiscard]] bool stores() const {
    return kind == Kind::Put || kind == Kind::PutWrong || kind == Kind::Post;
  }
  [[nodiscard]] bool reads() const {
    return kind == Kind::Get || kind == Kind::Head || kind == Kind::Range ||
           kind == Kind::IfNoneMatch || kind == Kind::IfMatch;
  }
  [[nodiscard]] bool is_about_upload() const { return upload != nullptr; }
};

// Makes requests about the payloads of a plan.
class RequestMaker {
 public:
  RequestMaker(const std::vector<Payload>& payloads, const Tokens& tokens)
      : payloads_(payloads), tokens_(tokens) {}

  // Anything a client of this world may ask. One that expects 100 Continue must be alone.
  [[nodiscard]] RequestPtr any(Dice& dice, bool alone) const;
  // A plain, well-behaved request.
  [[nodiscard]] RequestPtr plain(Dice& dice, Kind kind, std::size_t object) const;
  // A step of an upload, by whoever began it. `part` is for PutPart.
  [[nodiscard]] RequestPtr step(Dice& dice, Kind kind, std::shared_ptr<UploadModel> upload,
                                std::uint64_t part = 0) const;

 private:
  void compose(Dice& dice, ObjectRequest& request) const;
  void add_body(Dice& dice, ObjectRequest& request, const std::string& bytes) const;
  void add_object(Dice& dice, ObjectRequest& request) const;
  [[nodiscard]] std::string path_of(const ObjectRequest& request) const;
  [[nodiscard]] std::string upload_body(const ObjectRequest& request) const;
  [[nodiscard]] std::string range_line(Dice& dice, ObjectRequest& request) const;

  const std::vector<Payload>& payloads_;
  const Tokens& tokens_;
};

}  // namespace ron::sim
