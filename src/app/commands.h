// The command line of `ron`.
#pragma once

namespace ron::app {

// Parses the arguments, runs the command and returns the exit code.
int run(int argc, char** argv);

}  // namespace ron::app
