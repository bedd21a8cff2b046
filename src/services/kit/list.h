// ListDecl: what bounds the answer of a route that lists things.
//
// Declared once, in the service's lists.h, as wires and metrics are. The route takes its pattern
// and its handler the numbers from there, and docs/generated/lists.md is made of it; tests/golden
// fails for a GET route that is neither declared as a list nor known to answer one thing.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ron::kit {

struct ListDecl {
  std::string_view pattern;  // `/names`
  std::string_view query{};  // how pages are asked for: `after`, `limit`; empty: it has one page
  std::string_view entries;  // what is listed: `names and common prefixes`
  std::uint64_t usual = 0;   // entries, unless the client asks for another number
  std::uint64_t most = 0;    // entries of one answer, whatever it asks for; 0: as `bounded_by` says
  std::string_view bounded_by;  // what makes that hold, and what bounds the bytes of an entry
};

// On the admin listener of every service: as much as the code declares, and no client can add to
// it.
inline constexpr ListDecl kMetricsList{
    .pattern = "/metrics",
    .entries = "series",
    .bounded_by =
        "the declared metrics; every label has a closed set of values or a bound of its "
        "own, beyond which the rest is one series"};
inline constexpr ListDecl kTopologyList{.pattern = "/debug/topology",
                                        .entries = "tasks, channels and locks",
                                        .bounded_by = "what wires.h of the services declares"};
inline constexpr ListDecl kConfigList{.pattern = "/debug/config",
                                      .entries = "configuration keys",
                                      .bounded_by =
                                          "the declared keys; lists of values are as long "
                                          "as their keys allow"};
inline constexpr std::array kAdminLists = {&kMetricsList, &kTopologyList, &kConfigList};

}  // namespace ron::kit
