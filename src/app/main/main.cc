#include "app/commands.h"

int main(int argc, char** argv) { return ron::app::run(argc, argv); }
