#include "http/accept.h"

#include <algorithm>
#include <optional>

#include "http/field_list.h"

namespace ron::http {

int weight_in(std::string_view parameters) noexcept {
  while (!parameters.empty()) {
    const std::size_t end = std::min(parameters.find(';'), parameters.size());
    std::string_view one = trim_ows(parameters.substr(0, end));
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
    if (!one.starts_with("q=") && !one.starts_with("Q=")) continue;
    one.remove_prefix(2);
    if (one.starts_with("1")) return 1000;
    if (!one.starts_with("0")) return 0;
    int weight = 0;
    int unit = 100;
    for (const char digit : one.substr(std::min<std::size_t>(2, one.size()), 3)) {
      if (digit < '0' || digit > '9') return 0;
      weight += unit * (digit - '0');
      unit /= 10;
    }
    return weight;
  }
  return 1000;
}

int coding_weight(const FieldTable& fields, Coding coding) noexcept {
  std::optional<int> named;
  std::optional<int> any;
  const std::string_view name = coding == Coding::Identity ? "identity" : coding_name(coding);
  fields.for_each(KnownField::AcceptEncoding, [&](std::string_view list) {
    ListReader reader(list);
    while (const auto element = reader.next()) {
      const std::size_t semicolon = std::min(element->find(';'), element->size());
      const std::string_view given = trim_ows(element->substr(0, semicolon));
      const int weight = weight_in(element->substr(std::min(semicolon + 1, element->size())));
      const bool is_it =
          iequals(given, name) || (coding == Coding::Gzip && iequals(given, "x-gzip"));
      if (is_it) named = weight;
      if (given == "*") any = weight;
    }
  });
  if (named) return *named;
  if (coding != Coding::Identity) return any.value_or(0);
  return any == 0 ? 0 : 1;
}

}  // namespace ron::http
