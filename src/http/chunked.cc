#include "http/chunked.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/encoding.h"
#include "http/field_list.h"
#include "http/fields.h"

namespace ron::http {
namespace {

using base::Code;

// RFC 9110 §6.5.1: fields that frame, route, condition, authenticate or control. The known fields
// (fields.h) are forbidden as well.
constexpr std::string_view kForbiddenTrailers[] = {
    "age",
    "cache-control",
    "content-range",
    "cookie",
    "date",
    "expires",
    "if-modified-since",
    "if-unmodified-since",
    "keep-alive",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "retry-after",
    "set-cookie",
    "te",
    "trailer",
    "upgrade",
    "vary",
    "via",
    "warning",
    "www-authenticate",
};

bool forbidden_trailer(std::string_view name) noexcept {
  if (known_field(name) != KnownField::Unknown) return true;
  return std::ranges::any_of(kForbiddenTrailers,
                             [&](std::string_view each) { return iequals(each, name); });
}

}  // namespace

ChunkSize::ChunkSize(std::size_t bytes) noexcept {
  char* end = std::to_chars(text_.data(), text_.data() + text_.size() - 2, bytes, 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  length_ = static_cast<std::size_t>(end - text_.data());
}

Checked<> ChunkedDecoder::expect(char c, char wanted, State next) noexcept {
  if (c != wanted) return malformed("a chunk does not end in CRLF");
  state_ = next;
  return {};
}

Checked<> ChunkedDecoder::step_size(char c) noexcept {
  if (const int digit = base::hex_digit(c); digit >= 0) {
    if (++size_digits_ > kSizeDigits) return malformed("a chunk size has too many digits");
    left_ = left_ << 4 | static_cast<unsigned>(digit);
    return {};
  }
  if (size_digits_ == 0) return malformed("a chunk does not begin with its size");
  if (left_ > std::numeric_limits<std::uint64_t>::max() - total_) {
    return malformed("the chunk sizes add up to more than 64 bits");
  }
  size_digits_ = 0;
  if (c == '\r') {
    state_ = State::SizeLf;
  } else if (c == ';') {
    extension_bytes_ = 1;
    state_ = State::Extension;
  } else {
    return malformed("a chunk size is followed by neither CRLF nor an extension");
  }
  return {};
}

Checked<> ChunkedDecoder::step_extension(char c) noexcept {
  if (c == '\r') {
    all_extension_bytes_ += extension_bytes_;
    if (all_extension_bytes_ > kAllExtensionBytes) return malformed("too many chunk extensions");
    state_ = State::SizeLf;
    return {};
  }
  if (!is(c, kValueChar)) return malformed("control byte in a chunk extension");
  if (++extension_bytes_ > kExtensionBytes) return malformed("a chunk extension is too long");
  return {};
}

Checked<> ChunkedDecoder::step_trailer(char c) noexcept {
  if (++trailer_bytes_ > kTrailerBytes) {
    return refuse(Code::HeadTooLarge, "the trailer section is too long");
  }
  switch (state_) {
    case State::TrailerStart:
      if (c == '\r') {
        state_ = State::EndLf;
        return {};
      }
      if (++trailer_fields_ > kTrailerFields) {
        return refuse(Code::HeadTooLarge, "too many trailer fields");
      }
      if (!is(c, kTchar)) return malformed("a trailer field does not begin with a name");
      name_[0] = c;
      name_length_ = 1;
      state_ = State::TrailerName;
      return {};
    case State::TrailerName:
      if (c == ':') {
        if (name_length_ <= kNameBytes && forbidden_trailer({name_.data(), name_length_})) {
          return malformed("this field must not be a trailer");
        }
        state_ = State::TrailerValue;
        return {};
      }
      if (!is(c, kTchar)) return malformed("a trailer field's name is not a token");
      if (name_length_ < kNameBytes) name_[name_length_] = c;
      if (name_length_ <= kNameBytes) ++name_length_;  // one above: too long to be forbidden
      return {};
    case State::TrailerValue:
      if (c == '\r') {
        state_ = State::TrailerLf;
        return {};
      }
      if (!is(c, kValueChar)) return malformed("control byte in a trailer field");
      return {};
    default:
      return expect(c, '\n', State::TrailerStart);
  }
}

Checked<> ChunkedDecoder::step(char c) noexcept {
  switch (state_) {
    case State::Size:
      return step_size(c);
    case State::Extension:
      return step_extension(c);
    case State::SizeLf:
      return expect(c, '\n', left_ == 0 ? State::TrailerStart : State::Data);
    case State::DataCr:
      return expect(c, '\r', State::DataLf);
    case State::DataLf:
      return expect(c, '\n', State::Size);
    case State::TrailerStart:
    case State::TrailerName:
    case State::TrailerValue:
    case State::TrailerLf:
      return step_trailer(c);
    case State::EndLf:
      return expect(c, '\n', State::Done);
    case State::Data:
    case State::Done:
    case State::Failed:
      break;
  }
  return malformed("the chunked body has failed already");
}

ChunkStep ChunkedDecoder::feed(std::string_view input) noexcept {
  using Kind = ChunkStep::Kind;
  std::size_t at = 0;
  while (state_ != State::Done && at < input.size()) {
    if (state_ == State::Data) {
      const auto count =
          static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size() - at));
      left_ -= count;
      total_ += count;
      if (left_ == 0) state_ = State::DataCr;
      return {Kind::Data, at + count, input.substr(at, count), {}};
    }
    if (const auto stepped = step(input[at]); !stepped) {
      state_ = State::Failed;
      return {Kind::Bad, 0, {}, stepped.error()};
    }
    ++at;
  }
  return {state_ == State::Done ? Kind::End : Kind::NeedMore, at, {}, {}};
}

}  // namespace ron::http
