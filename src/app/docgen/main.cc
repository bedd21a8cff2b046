// docgen PAGE: prints one reference page. `make docs` writes all of them to docs/generated.
#include <cstdio>
#include <string>

#include "app/reference.h"
#include "cli/exit.h"

int main(int argc, char** argv) {
  const std::string wanted = argc == 2 ? argv[1] : "";
  std::string known;
  for (const ron::app::Page& page : ron::app::reference_pages()) {
    if (page.name == wanted) return ron::cli::print_result(page.text);
    known += " " + std::string(page.name);
  }
  std::fprintf(stderr, "usage: docgen PAGE, one of%s\n", known.c_str());
  return ron::cli::kExitBadUsage;
}
