#include "http/hop_by_hop.h"

#include <algorithm>
#include <cassert>

#include "http/field_list.h"

namespace ron::http {
namespace {

constexpr std::string_view kProxyPrefix = "proxy-";

// What the writer of the next hop makes itself.
bool is_structural(MessageKind kind, std::string_view name) noexcept {
  const KnownField known = known_field(name);
  if (known == KnownField::ContentLength) return true;
  return kind == MessageKind::Request && (known == KnownField::Host || known == KnownField::Expect);
}

// Calls `visit(option)` for each option that a Connection line of the message has.
template <class Visit>
void for_each_option(std::span<const Field> fields, Visit visit) noexcept {
  for (const Field& field : fields) {
    if (known_field(field.name) != KnownField::Connection) continue;
    ListReader options(field.value);
    while (const auto option = options.next()) visit(*option);
  }
}

// Says more than whether the connection stays open.
bool names_fields(std::span<const Field> fields) noexcept {
  bool names = false;
  for_each_option(fields, [&](std::string_view option) {
    names |= !option.empty() && !iequals(option, "close") && !iequals(option, "keep-alive");
  });
  return names;
}

bool is_named(std::span<const Field> fields, std::string_view name) noexcept {
  bool named = false;
  for_each_option(fields, [&](std::string_view option) { named |= iequals(option, name); });
  return named;
}

}  // namespace

bool is_hop_by_hop(std::string_view name) noexcept {
  switch (name.size()) {
    case 2:
      return iequals(name, "te");
    case 7:
      if (iequals(name, "trailer") || iequals(name, "upgrade")) return true;
      break;
    case 10:
      if (iequals(name, "connection") || iequals(name, "keep-alive")) return true;
      break;
    case 17:
      if (iequals(name, "transfer-encoding")) return true;
      break;
    default:
      break;
  }
  return iequals(name.substr(0, kProxyPrefix.size()), kProxyPrefix);
}

ForwardedFields::ForwardedFields(MessageKind kind, std::span<const Field> received) noexcept {
  received = received.first(std::min(received.size(), base::limits::kHeadFields));
  const bool look_up = names_fields(received);
  for (const Field& field : received) {
    if (is_hop_by_hop(field.name) || is_structural(kind, field.name)) continue;
    if (look_up && is_named(received, field.name)) continue;
    fields_[count_++] = field;
  }
}

void ForwardedFields::add(std::string_view name, std::string_view value) noexcept {
  assert(own_ < kOwnFields);
  ++own_;
  fields_[count_++] = {name, value};
}

void ForwardedFields::remove(std::string_view name) noexcept {
  remove_if([name](std::string_view each) { return iequals(each, name); });
}

}  // namespace ron::http
