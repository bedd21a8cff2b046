// How a command ends: exit codes of the contract, and one way to speak to people.
#pragma once

#include <string_view>

namespace ron::cli {

inline constexpr int kExitClean = 0;
inline constexpr int kExitFailed = 1;    // could not start, could not do it
inline constexpr int kExitBadUsage = 2;  // the command line is wrong
// As a shell shows the signals that end other programs then.
inline constexpr int kExitInterrupted = 130;
inline constexpr int kExitUnread = 141;  // whoever read the output has gone

// Results go to standard output, unchanged. Nothing is said when nobody reads them any more.
int print_result(std::string_view text);
// `ron: what` on standard error, one such line per line of `what`; the exit code.
int failed(std::string_view what);
int bad_usage(std::string_view what);

}  // namespace ron::cli
