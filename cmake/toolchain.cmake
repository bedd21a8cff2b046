# Compiler flags shared by every target: warnings are errors, release builds are hardened.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR "RON builds with clang 19 (GCC 12 miscompiles coroutines): use `make build`.")
endif()

find_program(RON_CCACHE ccache)
if(RON_CCACHE)
  # Precompiled headers are cached by content, so their time stamps must not count.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${RON_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

find_package(Threads REQUIRED)

add_library(ron_flags INTERFACE)
target_compile_options(ron_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
                            -Woverloaded-virtual -Wimplicit-fallthrough -Werror -Xclang -fno-pch-timestamp>
  -fno-omit-frame-pointer -fstack-protector-strong -fPIE)
target_compile_definitions(ron_flags INTERFACE _GLIBCXX_ASSERTIONS)
target_link_options(ron_flags INTERFACE -fuse-ld=lld-19 -pie -Wl,-z,relro,-z,now)
target_include_directories(ron_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(ron_flags INTERFACE Threads::Threads)

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(ron_flags INTERFACE -g1)
  target_compile_definitions(ron_flags INTERFACE _FORTIFY_SOURCE=2)
else()
  target_compile_definitions(ron_flags INTERFACE RON_DEBUG_CHECKS=1)
endif()

if(RON_ASAN)
  target_compile_options(ron_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_link_options(ron_flags INTERFACE -fsanitize=address,undefined)
endif()
if(RON_TSAN)
  target_compile_options(ron_flags INTERFACE -fsanitize=thread)
  target_link_options(ron_flags INTERFACE -fsanitize=thread)
endif()
if(RON_FUZZ)
  target_compile_options(ron_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  target_link_options(ron_flags INTERFACE -fsanitize=address,undefined)
endif()
